#include "train/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "core/error.hpp"
#include "io/hdf5.hpp"

namespace ridgeline {
namespace {

constexpr std::int64_t format_version = 1;

hdf5::Shape shape_of_entry(const std::vector<int>& shape) { return {shape.begin(), shape.end()}; }

/// One array of a flat buffer for every parameter, below a group.
template <class Scalar>
void write_buffer(hdf5::File& file, const std::string& group, const Parameters<Scalar>& parameters,
                  const Kokkos::View<Scalar*, Memory>& buffer) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), buffer);
  for (const auto& entry : parameters.entries())
    file.write(group + "/" + entry.name, host_pointer(host) + entry.offset, shape_of_entry(entry.shape));
}

void refuse(const std::filesystem::path& path, const std::string& complaint) {
  throw Error(Exit::file, path.string() + ": " + complaint);
}

}  // namespace

template <class Scalar>
void write_checkpoint(const std::filesystem::path& path, const Parameters<Scalar>& parameters,
                      const Adam<Scalar>& optimiser, const TrainingState& state) {
  hdf5::AtomicOptions options;
  options.keep_previous_as = path.parent_path() / (path.stem().string() + ".previous" + path.extension().string());
  hdf5::write_atomically(
      path,
      [&](hdf5::File& file) {
        write_buffer(file, "parameters", parameters, parameters.values());
        write_buffer(file, "optimizer/first_moment", parameters, optimiser.first_moment());
        write_buffer(file, "optimizer/second_moment", parameters, optimiser.second_moment());
        file.write_attribute("/", "format", format_version);
        file.write_attribute("/", "step", state.step);
        file.write_attribute("/", "epoch", state.epoch);
        file.write_attribute("/", "seed", static_cast<std::int64_t>(state.seed));
        file.write_attribute("/", "precision", std::string(std::is_same_v<Scalar, float> ? "single" : "double"));
        file.write_attribute("/", "deck", state.deck);
      },
      options);
}

template <class Scalar>
void read_parameters(const std::filesystem::path& path, Parameters<Scalar>& parameters) {
  const hdf5::File file = hdf5::File::open(path);
  if (!file.is_group("parameters")) refuse(path, "it has no group /parameters, so it is no checkpoint of Ridgeline.");
  if (file.has_attribute("/", "format") && file.attribute_integer("/", "format") > format_version)
    refuse(path, fmt::format("it has format {}, newer than {}, the newest that this version reads.",
                             file.attribute_integer("/", "format"), format_version));
  for (const std::string& name : file.datasets_below("parameters"))
    if (!parameters.find(name)) refuse(path, "it is of another model: the deck's model has no parameter " + name + ".");
  for (const auto& entry : parameters.entries()) {
    const std::string name = "parameters/" + entry.name;
    if (!file.exists(name)) refuse(path, "it is of another model: it has no parameter " + entry.name + ".");
    const hdf5::Shape expected = shape_of_entry(entry.shape), shape = file.shape(name);
    if (shape != expected)
      refuse(path, fmt::format("it is of another model: its parameter {} is {}, the deck's is {}.", entry.name,
                               hdf5::to_string(shape), hdf5::to_string(expected)));
    const std::vector<double> values = file.read<double>(name);
    if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(static_cast<Scalar>(v)); }))
      refuse(path, "its parameter " + entry.name + " holds a value that is not finite" +
                       (std::is_same_v<Scalar, float> ? " in single precision." : "."));
    parameters.set(entry, values);
  }
}

template void write_checkpoint(const std::filesystem::path&, const Parameters<float>&, const Adam<float>&,
                               const TrainingState&);
template void write_checkpoint(const std::filesystem::path&, const Parameters<double>&, const Adam<double>&,
                               const TrainingState&);
template void read_parameters(const std::filesystem::path&, Parameters<float>&);
template void read_parameters(const std::filesystem::path&, Parameters<double>&);

}  // namespace ridgeline

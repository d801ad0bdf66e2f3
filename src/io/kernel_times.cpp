#include "io/kernel_times.hpp"

#include <fmt/format.h>

#include "core/error.hpp"

namespace ridgeline {
namespace {

const std::string group = "time/kernels";

/// One figure of every kernel.
template <class Figure>
std::vector<Figure> column(const KernelTimes& times, Figure KernelTime::*figure) {
  std::vector<Figure> values;
  for (const KernelTime& kernel : times.kernels) values.push_back(kernel.*figure);
  return values;
}

double real_attribute(const hdf5::File& file, const std::string& name) {
  const auto attributes = file.attributes(group);
  const auto found = attributes.find(name);
  const double* value = found != attributes.end() ? std::get_if<double>(&found->second) : nullptr;
  if (value == nullptr)
    throw Error(Exit::file,
                fmt::format("{}: the attribute {} of /{} is missing or no number.", file.path().string(), name, group));
  return *value;
}

}  // namespace

void write_kernel_times(hdf5::File& file, const KernelTimes& times) {
  const hdf5::Shape shape{static_cast<std::int64_t>(times.kernels.size())};
  file.make_group(group);
  file.write_attribute(group, "seconds", times.seconds);
  file.write_attribute(group, "operations_per_second", times.operations_per_second);
  file.write_strings(group + "/names", column(times, &KernelTime::name));
  file.write_strings(group + "/places", column(times, &KernelTime::place));
  file.write(group + "/calls", column(times, &KernelTime::calls), shape);
  file.write(group + "/seconds", column(times, &KernelTime::seconds), shape);
  file.write(group + "/operations", column(times, &KernelTime::operations), shape);
}

KernelTimes read_kernel_times(const hdf5::File& file) {
  KernelTimes times;
  if (!file.is_group(group)) return times;
  times.seconds = real_attribute(file, "seconds");
  times.operations_per_second = real_attribute(file, "operations_per_second");
  const std::vector<std::string> names = file.read_strings(group + "/names"),
                                 places = file.read_strings(group + "/places");
  const hdf5::Shape shape{static_cast<std::int64_t>(names.size())};
  const std::vector<std::int64_t> calls = file.read<std::int64_t>(group + "/calls", shape);
  const std::vector<double> seconds = file.read<double>(group + "/seconds", shape);
  const std::vector<double> operations = file.read<double>(group + "/operations", shape);
  if (places.size() != names.size())
    throw Error(Exit::file, fmt::format("{}: /{}/places has {} entries, and {} are needed.", file.path().string(),
                                        group, places.size(), names.size()));
  for (std::size_t i = 0; i < names.size(); ++i)
    times.kernels.push_back({names[i], places[i], calls[i], seconds[i], operations[i]});
  return times;
}

}  // namespace ridgeline

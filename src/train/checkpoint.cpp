#include "train/checkpoint.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "config/text.hpp"
#include "core/error.hpp"
#include "io/hdf5.hpp"
#include "io/metrics.hpp"

namespace ridgeline {
namespace {

constexpr std::int64_t format_version = 1;
constexpr const char* first_moment_group = "optimizer/first_moment";
constexpr const char* second_moment_group = "optimizer/second_moment";

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& complaint) {
  throw Error(Exit::file, path.string() + ": " + complaint);
}

hdf5::Shape shape_of_entry(const std::vector<int>& shape) { return {shape.begin(), shape.end()}; }

/// One array of a flat buffer for every parameter, below a group.
template <class Scalar>
void write_buffer(hdf5::File& file, const std::string& group, const Parameters<Scalar>& parameters,
                  const Kokkos::View<Scalar*, Memory>& buffer) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), buffer);
  for (const auto& entry : parameters.entries())
    file.write(group + "/" + entry.name, host_pointer(host) + entry.offset, shape_of_entry(entry.shape));
}

/// One column of the history.
template <class Value>
std::vector<Value> column(const History& history, Value HistoryRow::*field) {
  std::vector<Value> values;
  for (const HistoryRow& row : history.rows) values.push_back(row.*field);
  return values;
}

void write_history(hdf5::File& file, const History& history) {
  const auto rows = static_cast<std::int64_t>(history.rows.size()),
             sets = static_cast<std::int64_t>(history.sets.size());
  file.write("history/epoch", column(history, &HistoryRow::epoch), {rows});
  file.write("history/step", column(history, &HistoryRow::step), {rows});
  file.write("history/loss", column(history, &HistoryRow::loss), {rows});
  file.write("history/learning_rate", column(history, &HistoryRow::learning_rate), {rows});
  file.write("history/seconds", column(history, &HistoryRow::seconds), {rows});
  file.write("history/tokens_per_second", column(history, &HistoryRow::tokens_per_second), {rows});
  std::vector<double> values;
  for (const HistoryRow& row : history.rows)
    for (const std::optional<double>& value : row.set_values)
      values.push_back(value.value_or(std::numeric_limits<double>::quiet_NaN()));
  file.write("history/set_" + history.metric, values, {rows, sets});
  file.write_attribute("history", "sets", history.sets);
}

History read_history(const hdf5::File& file) {
  History history;
  const hdf5::Value sets = file.attribute("history", "sets");
  if (const auto* names = std::get_if<std::vector<std::string>>(&sets))
    history.sets = *names;
  else
    refuse(file.path(), "its attribute sets of /history is no list of names.");
  for (const MetricKind& kind : metric_kinds())
    if (file.exists(std::string("history/set_") + kind.name)) history.metric = kind.name;
  const std::vector<std::int32_t> epoch = file.read<std::int32_t>("history/epoch", {-1});
  const auto rows = static_cast<std::int64_t>(epoch.size()), width = static_cast<std::int64_t>(history.sets.size());
  const std::vector<std::int64_t> step = file.read<std::int64_t>("history/step", {rows});
  const auto numbers = [&](const std::string& name) { return file.read<double>("history/" + name, {rows}); };
  const std::vector<double> loss = numbers("loss"), rate = numbers("learning_rate"), seconds = numbers("seconds"),
                            speed = numbers("tokens_per_second"),
                            values = file.read<double>("history/set_" + history.metric, {rows, width});
  for (std::size_t i = 0; i < epoch.size(); ++i) {
    HistoryRow row{epoch[i], step[i], loss[i], rate[i], seconds[i], speed[i], {}};
    for (std::size_t set = 0; set < history.sets.size(); ++set) {
      const double value = values[i * history.sets.size() + set];
      row.set_values.push_back(std::isnan(value) ? std::nullopt : std::optional<double>(value));
    }
    history.rows.push_back(std::move(row));
  }
  return history;
}

void write_state(hdf5::File& file, const TrainingState& state) {
  write_history(file, state.history);
  file.make_group("progress");
  file.write_attribute("progress", "loss", state.progress.loss);
  file.write_attribute("progress", "steps", state.progress.steps);
  file.write_attribute("progress", "tokens", state.progress.tokens);
  file.write_attribute("progress", "seconds", state.progress.seconds);
  file.write_attribute("/", "format", format_version);
  file.write_attribute("/", "step", state.step);
  file.write_attribute("/", "epoch", state.epoch);
  file.write_attribute("/", "seed", static_cast<std::int64_t>(state.seed));
  file.write_attribute("/", "precision", std::string(state.single_precision ? "single" : "double"));
  file.write_attribute("/", "threads", static_cast<std::int64_t>(state.threads));
  file.write_attribute("/", "resumed", state.resumed);
  file.write_attribute("/", "seconds", state.seconds);
  file.write_attribute("/", "deck", state.deck);
}

/// A file that another program changed may tell of two moments.
void check_state(const std::filesystem::path& path, const TrainingState& state) {
  if (state.step < 0 || state.epoch < 0 || state.progress.steps < 0 || state.progress.steps > state.step)
    refuse(path, fmt::format("its step {}, epoch {} and {} of that epoch are no moment of a run.", state.step,
                             state.epoch, count_text(state.progress.steps, "step")));
  std::int64_t last_step = 0;
  int last_epoch = 0;
  for (const HistoryRow& row : state.history.rows) {
    if (row.epoch != last_epoch + 1 || row.step <= last_step || row.step > state.step)
      refuse(path, fmt::format("its history has epoch {} at step {}, which does not fit epoch {} at step {} and the "
                               "checkpoint at step {}.",
                               row.epoch, row.step, last_epoch, last_step, state.step));
    last_epoch = row.epoch;
    last_step = row.step;
  }
  const std::int64_t of_epoch = state.step - last_step;
  if (of_epoch != 0 && of_epoch != state.progress.steps)
    refuse(path, fmt::format("its history ends at step {} and the epoch in course has {}, which does not fit the "
                             "checkpoint at step {}.",
                             last_step, count_text(state.progress.steps, "step"), state.step));
}

TrainingState read_state(const hdf5::File& file) {
  TrainingState state;
  state.step = file.attribute_integer("/", "step");
  state.epoch = file.attribute_integer("/", "epoch");
  state.seed = static_cast<std::uint64_t>(file.attribute_integer("/", "seed"));
  state.single_precision = file.attribute_string("/", "precision") == "single";
  state.threads = static_cast<int>(file.attribute_integer("/", "threads"));
  state.resumed = file.attribute_integer("/", "resumed");
  state.seconds = file.attribute_number("/", "seconds");
  state.deck = file.attribute_string("/", "deck");
  state.progress = {file.attribute_number("progress", "loss"), file.attribute_integer("progress", "steps"),
                    file.attribute_integer("progress", "tokens"), file.attribute_number("progress", "seconds")};
  state.history = read_history(file);
  check_state(file.path(), state);
  return state;
}

hdf5::File open_checkpoint(const std::filesystem::path& path,
                           const std::function<void(const CheckpointOrigin&)>& look) {
  hdf5::File file = hdf5::File::open(path);
  if (!file.is_group("parameters")) refuse(path, "it has no group /parameters, so it is no checkpoint of Ridgeline.");
  if (file.has_attribute("/", "format") && file.attribute_integer("/", "format") > format_version)
    refuse(path, fmt::format("it has format {}, newer than {}, the newest that this version reads.",
                             file.attribute_integer("/", "format"), format_version));
  CheckpointOrigin origin;
  origin.is_sealed = file.is_sealed();
  if (file.has_attribute("/", "deck")) origin.deck = file.attribute_string("/", "deck");
  constexpr const char* of_head = "parameters/head.bias";
  if (file.is_dataset(of_head) && file.shape(of_head).size() == 1) origin.outputs = file.shape(of_head).front();
  if (look) look(origin);
  return file;
}

template <class Scalar>
void check_names(const hdf5::File& file, const Parameters<Scalar>& parameters) {
  for (const std::string& name : file.datasets_below("parameters"))
    if (!parameters.find(name))
      refuse(file.path(), "it is of another model: the deck's model has no parameter " + excerpt(name, 200) + ".");
}

/// One parameter's array of a group, in double: a checkpoint may have the other precision.
template <class Scalar>
std::vector<double> read_array(const hdf5::File& file, const std::string& group,
                               const typename Parameters<Scalar>::Entry& entry) {
  const std::string name = group + "/" + entry.name;
  if (!file.exists(name)) refuse(file.path(), "it is of another model: it has no " + name + ".");
  const hdf5::Shape expected = shape_of_entry(entry.shape), shape = file.shape(name);
  if (shape != expected)
    refuse(file.path(), fmt::format("it is of another model: its {} is {}, the deck's is {}.", name,
                                    hdf5::to_string(shape), hdf5::to_string(expected)));
  std::vector<double> values = file.read<double>(name);
  if (!std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(static_cast<Scalar>(v)); }))
    refuse(file.path(), "its " + name + " holds a value that is not finite" +
                            (std::is_same_v<Scalar, float> ? " in single precision." : "."));
  return values;
}

/// The arrays of a group, as the flat buffer has them.
template <class Scalar>
std::vector<Scalar> read_buffer(const hdf5::File& file, const std::string& group,
                                const Parameters<Scalar>& parameters) {
  std::vector<Scalar> buffer(parameters.length(), Scalar(0));
  for (const auto& entry : parameters.entries()) {
    const std::vector<double> values = read_array<Scalar>(file, group, entry);
    std::transform(values.begin(), values.end(), buffer.begin() + static_cast<std::ptrdiff_t>(entry.offset),
                   [](double value) { return static_cast<Scalar>(value); });
  }
  return buffer;
}

template <class Scalar>
void copy_to(const Kokkos::View<Scalar*, Memory>& buffer, const std::vector<Scalar>& values) {
  Kokkos::deep_copy(
      buffer, Kokkos::View<const Scalar*, Kokkos::HostSpace, Kokkos::MemoryUnmanaged>(values.data(), values.size()));
}

}  // namespace

std::filesystem::path previous_checkpoint(const std::filesystem::path& path) {
  return path.parent_path() / (path.stem().string() + ".previous" + path.extension().string());
}

template <class Scalar>
void write_checkpoint(const std::filesystem::path& path, const Parameters<Scalar>& parameters,
                      const Adam<Scalar>& optimiser, const TrainingState& state) {
  hdf5::write_atomically(
      path,
      [&](hdf5::File& file) {
        write_buffer(file, "parameters", parameters, parameters.values());
        write_buffer(file, first_moment_group, parameters, optimiser.first_moment());
        write_buffer(file, second_moment_group, parameters, optimiser.second_moment());
        write_state(file, state);
      },
      previous_checkpoint(path));
}

template <class Scalar>
void read_parameters(const std::filesystem::path& path, Parameters<Scalar>& parameters,
                     const std::function<void(const CheckpointOrigin&)>& look) {
  const hdf5::File file = open_checkpoint(path, look);
  check_names(file, parameters);
  copy_to(parameters.values(), read_buffer<Scalar>(file, "parameters", parameters));
}

template <class Scalar>
Checkpoint<Scalar> read_checkpoint(const std::filesystem::path& path, const Parameters<Scalar>& parameters,
                                   const std::function<void(const CheckpointOrigin&)>& look) {
  const hdf5::File file = open_checkpoint(path, look);
  Checkpoint<Scalar> checkpoint;
  checkpoint.state = read_state(file);
  check_names(file, parameters);
  checkpoint.values = read_buffer<Scalar>(file, "parameters", parameters);
  checkpoint.first_moment = read_buffer<Scalar>(file, first_moment_group, parameters);
  checkpoint.second_moment = read_buffer<Scalar>(file, second_moment_group, parameters);
  return checkpoint;
}

template <class Scalar>
void restore(const Checkpoint<Scalar>& checkpoint, const Parameters<Scalar>& parameters,
             const Adam<Scalar>& optimiser) {
  copy_to(parameters.values(), checkpoint.values);
  copy_to(optimiser.first_moment(), checkpoint.first_moment);
  copy_to(optimiser.second_moment(), checkpoint.second_moment);
}

// NOLINTBEGIN(bugprone-macro-parentheses): Scalar is a type
#define RIDGELINE_INSTANTIATE(Scalar)                                                                          \
  template void write_checkpoint(const std::filesystem::path&, const Parameters<Scalar>&, const Adam<Scalar>&, \
                                 const TrainingState&);                                                        \
  template void read_parameters(const std::filesystem::path&, Parameters<Scalar>&,                             \
                                const std::function<void(const CheckpointOrigin&)>&);                          \
  template Checkpoint<Scalar> read_checkpoint(const std::filesystem::path&, const Parameters<Scalar>&,         \
                                              const std::function<void(const CheckpointOrigin&)>&);            \
  template void restore(const Checkpoint<Scalar>&, const Parameters<Scalar>&, const Adam<Scalar>&);

RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace ridgeline

#include "io/results.hpp"

#include <algorithm>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "config/text.hpp"
#include "core/error.hpp"

namespace ridgeline {

namespace {

constexpr std::int64_t newest_format = 2;

/// Root attributes that are no facts.
const std::set<std::string>& own_attributes() {
  static const std::set<std::string> names{"format"};
  return names;
}

[[noreturn]] void fail(const hdf5::File& file, const std::string& what) {
  throw Error(Exit::file, fmt::format("{}: {}.", file.path().string(), what));
}

void write_set_metrics(hdf5::File& file, const std::string& set, const std::string& prefix, const Metrics& metrics) {
  for (const auto& [name, value] : metrics.entries()) {
    file.write_attribute(set, prefix + name, value);
  }
}

Metrics read_set_metrics(const hdf5::File& file, const std::string& set, const std::string& prefix) {
  Metrics metrics;
  for (const MetricKind& kind : metric_kinds()) {
    if (file.has_attribute(set, prefix + kind.name)) {
      metrics.add(kind.name, file.attribute_number(set, prefix + kind.name));
    }
  }
  return metrics;
}

void write_names(hdf5::File& file, const std::string& dataset, const std::vector<std::string>& names) {
  if (!names.empty()) {
    file.write_attribute(dataset, "channels", names);
  }
}

/// Names of the last extent's entries; none where they are not stored or of another number.
std::vector<std::string> read_names(const hdf5::File& file, const std::string& dataset, std::int64_t count) {
  if (!file.has_attribute(dataset, "channels")) {
    return {};
  }
  const hdf5::Value value = file.attribute(dataset, "channels");
  const auto* names = std::get_if<std::vector<std::string>>(&value);
  return names != nullptr && static_cast<std::int64_t>(names->size()) == count ? *names : std::vector<std::string>{};
}

void check_shape(const hdf5::File& file, const std::string& dataset, const hdf5::Shape& needed) {
  const hdf5::Shape found = file.shape(dataset);
  if (found != needed) {
    fail(file, fmt::format("dataset \"{}\" has shape {}, and {} is needed", dataset, hdf5::to_string(found),
                           hdf5::to_string(needed)));
  }
}

/// Extents of a set, from its two datasets that must be there.
template <class Scalar>
void read_extents(const hdf5::File& file, ResultSet<Scalar>& set) {
  const hdf5::Shape inputs = file.shape(set.name + "/inputs");
  const hdf5::Shape targets = file.shape(set.name + "/targets");
  if (inputs.size() != 3 || targets.size() != 3) {
    fail(file, fmt::format("set \"{}\" has inputs of shape {} and targets of shape {}, and three extents are needed: "
                           "samples, tokens, channels",
                           set.name, hdf5::to_string(inputs), hdf5::to_string(targets)));
  }
  set.samples = inputs[0];
  set.tokens = inputs[1];
  set.channels = inputs[2];
  set.targets = targets[2];
  const hdf5::Shape outputs = file.shape(set.name + "/predictions");
  set.outputs = outputs.size() == 3 ? outputs[2] : 0;
  const bool is_logits = set.outputs > set.targets && set.targets > 0 && set.outputs % set.targets == 0;
  if (!is_logits) {
    set.outputs = set.targets;
  }
  if (file.has_attribute(set.name, "rows") && file.has_attribute(set.name, "columns")) {
    const std::int64_t rows = file.attribute_integer(set.name, "rows");
    const std::int64_t columns = file.attribute_integer(set.name, "columns");
    if (rows < 1 || columns < 1 || set.tokens % rows != 0 || columns != set.tokens / rows) {
      fail(file,
           fmt::format("set \"{}\" has {} tokens, which are no {} rows of {}", set.name, set.tokens, rows, columns));
    }
    set.grid = {static_cast<int>(rows), static_cast<int>(columns)};
  }
}

}  // namespace

std::string why_not_a_set_name(const std::string& name) {
  if (name.empty()) {
    return "a set's name may not be empty";
  }
  if (name == "time" || name == "set_names" || name == generated_group || name == bias_group || name == "." ||
      name == "..") {
    return fmt::format("a set may not be called \"{}\": the name is taken", name);
  }
  const auto is_refused = [](char letter) {
    return static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f || letter == '/' || letter == ',' ||
           letter == '"';
  };
  if (std::any_of(name.begin(), name.end(), is_refused)) {
    return "a set's name may hold no slash, comma, quote or control character";
  }
  return "";
}

template <class Scalar>
void write_result_set(hdf5::File& file, const ResultSet<Scalar>& set) {
  if (const std::string why = why_not_a_set_name(set.name); !why.empty()) {
    fail(file, why);
  }
  const hdf5::Shape target_shape{set.samples, set.tokens, set.targets};
  file.make_group(set.name);
  file.write(set.name + "/inputs", set.inputs, {set.samples, set.tokens, set.channels});
  file.write(set.name + "/targets", set.truth, target_shape);
  const std::int64_t outputs = set.outputs > 0 ? set.outputs : set.targets;
  const hdf5::Shape output_shape{set.samples, set.tokens, outputs};
  file.write(set.name + "/predictions", set.predictions, output_shape);
  if (!set.untrained_predictions.empty()) {
    file.write(set.name + "/untrained_predictions", set.untrained_predictions, output_shape);
  }
  const auto points = static_cast<std::size_t>(set.samples * set.tokens);
  file.write(set.name + "/shown", set.shown.empty() ? std::vector<std::uint8_t>(points, 0) : set.shown,
             {set.samples, set.tokens});
  write_names(file, set.name + "/inputs", set.channel_names);
  for (const char* dataset : {"/targets", "/predictions", "/untrained_predictions"}) {
    const bool is_of_targets = outputs == set.targets || dataset == std::string("/targets");
    if (is_of_targets && file.exists(set.name + dataset)) {
      write_names(file, set.name + dataset, set.target_names);
    }
  }
  if (set.grid.rows > 0) {
    file.write_attribute(set.name, "rows", std::int64_t{set.grid.rows});
    file.write_attribute(set.name, "columns", std::int64_t{set.grid.columns});
  }
  write_set_metrics(file, set.name, "", set.trained);
  write_set_metrics(file, set.name, "untrained_", set.untrained);
}

void write_time(hdf5::File& file, const std::vector<RegionTime>& time) {
  std::vector<std::string> names;
  std::vector<double> seconds;
  std::vector<std::int64_t> calls;
  for (const RegionTime& region : time) {
    names.push_back(region.name);
    seconds.push_back(region.seconds);
    calls.push_back(region.calls);
  }
  const hdf5::Shape shape{static_cast<std::int64_t>(time.size())};
  file.make_group("time");
  file.write_strings("time/names", names);
  file.write("time/seconds", seconds, shape);
  file.write("time/calls", calls, shape);
}

void write_facts(hdf5::File& file, const Facts& facts, const std::vector<std::string>& set_names) {
  for (const auto& [name, value] : facts) {
    if (name.empty() || own_attributes().count(name) > 0) {
      fail(file, fmt::format("a fact may not be called \"{}\": the name is taken", name));
    }
    file.write_attribute("/", name, value);
  }
  file.write_strings("set_names", set_names);  // no attribute: that would have to fit in 64 KiB
  file.write_attribute("/", "format", newest_format);
}

template <class Scalar>
void write_results(const std::filesystem::path& path, const Results<Scalar>& results) {
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    std::vector<std::string> names;
    for (const ResultSet<Scalar>& set : results.sets) {
      write_result_set(file, set);
      names.push_back(set.name);
    }
    write_time(file, results.time);
    write_facts(file, results.facts, names);
  });
}

std::vector<std::string> read_set_names(const hdf5::File& file) {
  const std::int64_t format = file.attribute_integer("/", "format");
  if (format != newest_format) {
    fail(file, fmt::format("the results are of format {}, and this program reads format {}", format, newest_format));
  }
  std::vector<std::string> names = file.read_strings("set_names");
  for (const std::string& name : names) {
    if (const std::string why = why_not_a_set_name(name); !why.empty()) {
      fail(file, why);
    }
  }
  return names;
}

std::vector<std::int64_t> spread_samples(std::int64_t samples, std::int64_t most) {
  const std::int64_t count = std::min(samples, most);
  std::vector<std::int64_t> which;
  for (std::int64_t index = 0; index < count; ++index) {
    which.push_back(index * samples / count);
  }
  return which;
}

namespace {

/// Everything about a set but its arrays.
template <class Scalar>
ResultSet<Scalar> read_set_without_arrays(const hdf5::File& file, const std::string& name) {
  ResultSet<Scalar> set;
  set.name = name;
  read_extents(file, set);
  const hdf5::Shape target_shape{set.samples, set.tokens, set.targets};
  check_shape(file, name + "/targets", target_shape);
  const hdf5::Shape output_shape{set.samples, set.tokens, set.outputs};
  check_shape(file, name + "/predictions", output_shape);
  check_shape(file, name + "/shown", {set.samples, set.tokens});
  if (file.exists(name + "/untrained_predictions")) {
    check_shape(file, name + "/untrained_predictions", output_shape);
  }
  set.channel_names = read_names(file, name + "/inputs", set.channels);
  set.target_names = read_names(file, name + "/targets", set.targets);
  set.trained = read_set_metrics(file, name, "");
  set.untrained = read_set_metrics(file, name, "untrained_");
  return set;
}

/// Fills the arrays by `read(dataset, array)`.
template <class Scalar, class Read>
void read_arrays(const hdf5::File& file, ResultSet<Scalar>& set, const Read& read) {
  read(set.name + "/inputs", set.inputs);
  read(set.name + "/targets", set.truth);
  read(set.name + "/predictions", set.predictions);
  read(set.name + "/shown", set.shown);
  if (file.exists(set.name + "/untrained_predictions")) {
    read(set.name + "/untrained_predictions", set.untrained_predictions);
  }
}

}  // namespace

template <class Scalar>
ResultSet<Scalar> read_result_set(const hdf5::File& file, const std::string& name) {
  ResultSet<Scalar> set = read_set_without_arrays<Scalar>(file, name);
  read_arrays(file, set, [&](const std::string& dataset, auto& array) {
    using Element = typename std::decay_t<decltype(array)>::value_type;
    array = file.read<Element>(dataset);
  });
  return set;
}

template <class Scalar>
ResultSet<Scalar> read_result_set(const hdf5::File& file, const std::string& name,
                                  const std::vector<std::int64_t>& which) {
  ResultSet<Scalar> set = read_set_without_arrays<Scalar>(file, name);
  read_arrays(file, set, [&](const std::string& dataset, auto& array) {
    using Element = typename std::decay_t<decltype(array)>::value_type;
    for (const std::int64_t sample : which) {
      const std::vector<Element> row = file.read_rows<Element>(dataset, sample, 1);
      array.insert(array.end(), row.begin(), row.end());
    }
  });
  set.samples = static_cast<std::int64_t>(which.size());
  return set;
}

std::vector<RegionTime> read_time(const hdf5::File& file) {
  std::vector<RegionTime> time;
  if (!file.is_group("time")) {
    return time;
  }
  const std::vector<std::string> names = file.read_strings("time/names");
  const hdf5::Shape shape{static_cast<std::int64_t>(names.size())};
  const std::vector<double> seconds = file.read<double>("time/seconds", shape);
  const std::vector<std::int64_t> calls = file.read<std::int64_t>("time/calls", shape);
  for (std::size_t region = 0; region < names.size(); ++region) {
    time.push_back({names[region], seconds[region], calls[region]});
  }
  return time;
}

Facts read_facts(const hdf5::File& file) {
  Facts facts;
  for (const auto& [name, value] : file.attributes("/")) {
    const auto* text = std::get_if<std::string>(&value);
    if (text != nullptr && own_attributes().count(name) == 0) {
      facts.emplace(name, *text);
    }
  }
  return facts;
}

template <class Scalar>
Results<Scalar> read_results(const std::filesystem::path& path) {
  const hdf5::File file = hdf5::File::open(path);
  Results<Scalar> results;
  for (const std::string& name : read_set_names(file)) {
    results.sets.push_back(read_result_set<Scalar>(file, name));
  }
  results.time = read_time(file);
  results.facts = read_facts(file);
  return results;
}

#define RIDGELINE_INSTANTIATE(Scalar)                                                        \
  template void write_result_set<Scalar>(hdf5::File&, const ResultSet<Scalar>&);             \
  template void write_results<Scalar>(const std::filesystem::path&, const Results<Scalar>&); \
  template ResultSet<Scalar> read_result_set<Scalar>(const hdf5::File&, const std::string&); \
  template ResultSet<Scalar> read_result_set<Scalar>(const hdf5::File&, const std::string&,  \
                                                     const std::vector<std::int64_t>&);      \
  template Results<Scalar> read_results<Scalar>(const std::filesystem::path&);

RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline

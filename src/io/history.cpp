#include "io/history.hpp"

#include <cmath>
#include <limits>
#include <string_view>

#include <fmt/format.h>

#include "config/text.hpp"
#include "core/error.hpp"
#include "io/files.hpp"
#include "io/metrics.hpp"

namespace ridgeline {

namespace {

constexpr std::string_view fixed_header = "epoch,step,loss,learning_rate,seconds,tokens_per_second";
constexpr std::size_t fixed_fields = 6;

/// Where a field stands, for the sentence when it cannot be understood.
struct Place {
  const std::filesystem::path& path;
  std::size_t line;  // 1 is the header

  [[noreturn]] void fail(const std::string& what) const {
    throw Error(Exit::file, fmt::format("{}, line {}: {}.", path.string(), line, what));
  }
};

/// The shortest decimal that reads back to the same bits; the sign of a NaN means nothing.
std::string field(double value) { return std::isnan(value) ? "nan" : fmt::format("{}", value); }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (std::size_t begin = 0;;) {
    const std::size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) {
      return parts;
    }
    begin = end + 1;
  }
}

double number(std::string_view text, std::string_view column, const Place& place) {
  double value = 0;
  if (read_number(text, value) == NumberError::none) {
    return value;
  }
  if (text == "nan") {
    return std::numeric_limits<double>::quiet_NaN();
  }
  if (text == "inf" || text == "-inf") {
    return text.front() == '-' ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  }
  place.fail(fmt::format("{} is \"{}\", and a number is needed", excerpt(column), excerpt(text)));
}

std::int64_t whole_number(std::string_view text, std::string_view column, std::int64_t most, const Place& place) {
  std::int64_t value = 0;
  if (read_number(text, value) != NumberError::none || value < 0 || value > most) {
    place.fail(fmt::format("{} is \"{}\", and a whole number from 0 to {} is needed", column, excerpt(text), most));
  }
  return value;
}

/// Whether a column is of this metric and names a set.
bool is_of(std::string_view column, const std::string& metric) {
  const std::string suffix = "_" + metric;
  return column.size() > suffix.size() && column.substr(column.size() - suffix.size()) == suffix;
}

/// Sets and metric, from the columns.
void read_header(std::string_view line, const Place& place, History& history) {
  const std::vector<std::string_view> columns = split(line, ',');
  const bool begins_well = line.substr(0, fixed_header.size()) == fixed_header &&
                           (line.size() == fixed_header.size() || line[fixed_header.size()] == ',');
  if (!begins_well) {
    place.fail(fmt::format(R"(the header is "{}", and "{},SET_mse,..." is needed)", excerpt(line), fixed_header));
  }
  for (const MetricKind& kind : metric_kinds()) {
    if (columns.size() > fixed_fields && is_of(columns[fixed_fields], kind.name)) {
      history.metric = kind.name;
    }
  }
  for (std::size_t column = fixed_fields; column < columns.size(); ++column) {
    const std::string_view name = columns[column];
    if (!is_of(name, history.metric)) {
      place.fail(fmt::format("the header's column {} is \"{}\", and SET_{} is needed", column + 1, excerpt(name),
                             history.metric));
    }
    history.sets.emplace_back(name.substr(0, name.size() - history.metric.size() - 1));
  }
}

HistoryRow read_row(std::string_view line, const History& history, const Place& place) {
  const std::vector<std::string>& sets = history.sets;
  const std::vector<std::string_view> fields = split(line, ',');
  if (fields.size() != fixed_fields + sets.size()) {
    place.fail(fmt::format("there {} {}, and the header has {}", fields.size() == 1 ? "is" : "are",
                           count_text(static_cast<std::int64_t>(fields.size()), "field"), fixed_fields + sets.size()));
  }
  HistoryRow row;
  row.epoch = static_cast<int>(whole_number(fields[0], "epoch", std::numeric_limits<int>::max(), place));
  row.step = whole_number(fields[1], "step", std::numeric_limits<std::int64_t>::max(), place);
  row.loss = number(fields[2], "loss", place);
  row.learning_rate = number(fields[3], "learning_rate", place);
  row.seconds = number(fields[4], "seconds", place);
  row.tokens_per_second = number(fields[5], "tokens_per_second", place);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    const std::string_view text = fields[fixed_fields + set];
    const std::string column = fmt::format("{}_{}", sets[set], history.metric);
    row.set_values.push_back(text.empty() ? std::nullopt : std::optional<double>(number(text, column, place)));
  }
  return row;
}

}  // namespace

void History::write(const std::filesystem::path& path) const {
  std::string text(fixed_header);
  for (const std::string& set : sets) {
    if (set.empty() || set.find_first_of(",\"\r\n") != std::string::npos) {
      throw Error(Exit::file, fmt::format("cannot write {}: \"{}\" cannot name a column (no comma, quote or line break)"
                                          ".",
                                          path.string(), excerpt(set)));
    }
    text += fmt::format(",{}_{}", set, metric);
  }
  text += '\n';
  for (const HistoryRow& row : rows) {
    if (row.set_values.size() != sets.size()) {
      throw Error(Exit::file, fmt::format("cannot write {}: epoch {} has {} sets, and the history has {}.",
                                          path.string(), row.epoch, row.set_values.size(), sets.size()));
    }
    text += fmt::format("{},{},{},{},{},{}", row.epoch, row.step, field(row.loss), field(row.learning_rate),
                        field(row.seconds), field(row.tokens_per_second));
    for (const std::optional<double>& value : row.set_values) {
      text += fmt::format(",{}", value ? field(*value) : "");
    }
    text += '\n';
  }
  write_atomically(path, text);
}

History History::read(const std::filesystem::path& path) {
  const std::string text = read_text(path);
  std::vector<std::string_view> lines = split(text, '\n');
  if (lines.back().empty()) {
    lines.pop_back();
  }
  History history;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const Place place{path, index + 1};
    std::string_view line = lines[index];
    if (!line.empty() && line.back() == '\r') {
      line.remove_suffix(1);
    }
    if (index == 0) {
      read_header(line, place, history);
    } else {
      history.rows.push_back(read_row(line, history, place));
    }
  }
  if (lines.empty()) {
    Place{path, 1}.fail(fmt::format("the file is empty, and \"{},SET_mse,...\" is needed", fixed_header));
  }
  return history;
}

}  // namespace ridgeline

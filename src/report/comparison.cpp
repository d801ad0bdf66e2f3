#include "report/comparison.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "config/deck.hpp"
#include "config/text.hpp"
#include "core/error.hpp"
#include "io/files.hpp"
#include "report/painter.hpp"

namespace ridgeline {

namespace fs = std::filesystem;

namespace report {

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

std::int64_t ComparedRun::steps() const { return history.rows.empty() ? 0 : history.rows.back().step; }

double ComparedRun::seconds() const {
  double sum = 0;
  for (const HistoryRow& row : history.rows) sum += row.seconds;
  return sum;
}

double ComparedRun::steps_per_second() const {
  return seconds() > 0 ? static_cast<double>(steps()) / seconds() : not_a_number;
}

double ComparedRun::loss() const { return history.rows.empty() ? not_a_number : history.rows.back().loss; }

const SetMetrics* ComparedRun::find_set(const std::string& set) const {
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const SetMetrics& own) { return own.set == set; });
  return found == sets.end() ? nullptr : &*found;
}

ComparedRun read_compared_run(const fs::path& folder) {
  ComparedRun run;
  run.name = folder.filename().string();
  run.deck = read_text(folder / "deck.ini");
  run.history = History::read(folder / "history.csv");
  const hdf5::File file = hdf5::File::open(folder / "results.h5");
  run.facts = read_facts(file);
  for (const std::string& name : read_set_names(file)) {
    const ResultSet<double> set = read_result_set<double>(file, name, {});
    run.sets.push_back({name, set.untrained, set.trained});
  }
  return run;
}

std::vector<MetricKind> kinds_of(const std::vector<ComparedRun>& runs) {
  std::vector<SetMetrics> all;
  for (const ComparedRun& run : runs) all.insert(all.end(), run.sets.begin(), run.sets.end());
  return ridgeline::kinds_of(all);
}

const MetricKind& compared_metric(const std::vector<ComparedRun>& runs) {
  const std::vector<MetricKind> kinds = kinds_of(runs);
  return *find_metric(kinds.empty() ? "mse" : kinds.front().name);
}

std::vector<std::string> sets_of(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> names;
  for (const ComparedRun& run : runs)
    for (const SetMetrics& set : run.sets)
      if (std::find(names.begin(), names.end(), set.set) == names.end()) names.push_back(set.set);
  return names;
}

namespace {

/// As RFC 4180 has it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? std::string("\"\"") : std::string(1, letter);
  return quoted + "\"";
}

/// Every bit of the number; nothing where there is none, as of a mean over no points.
std::string csv_number(double number) { return std::isnan(number) ? "" : fmt::format("{}", number); }

/// The same in short, for the screen.
std::string short_text(double number, int digits) {
  return std::isnan(number) ? "-" : fmt::format("{:.{}g}", number, digits);
}

std::string fact(const ComparedRun& run, const std::string& name) {
  const auto found = run.facts.find(name);
  return found == run.facts.end() ? "" : found->second;
}

}  // namespace

std::string comparison_csv(const std::vector<ComparedRun>& runs) {
  const std::vector<std::string> sets = sets_of(runs);
  std::string csv = "deck,parameters,steps,seconds,steps_per_second,loss";
  std::vector<MetricKind> columns = kinds_of(runs);
  for (const std::string& set : sets)
    for (const MetricKind& column : columns) csv += "," + csv_field(set + "_" + column.name);
  csv += "\n";
  for (const ComparedRun& run : runs) {
    csv += fmt::format("{},{},{},{},{},{}", csv_field(run.name), csv_field(fact(run, "parameters")), run.steps(),
                       csv_number(run.seconds()), csv_number(run.steps_per_second()), csv_number(run.loss()));
    for (const std::string& name : sets) {
      const SetMetrics* set = run.find_set(name);
      for (const MetricKind& column : columns) csv += "," + (set ? csv_number(set->trained[column.name]) : "");
    }
    csv += "\n";
  }
  return csv;
}

namespace {

/// The fields of one line, which ends at `place` afterwards. A quoted field may hold line breaks.
std::vector<std::string> csv_record(const std::string& csv, std::size_t& place) {
  std::vector<std::string> fields(1);
  bool is_quoted = false;
  for (; place < csv.size(); ++place) {
    const char letter = csv[place];
    if (is_quoted && letter == '"' && place + 1 < csv.size() && csv[place + 1] == '"') {
      fields.back() += csv[++place];
    } else if (letter == '"') {
      is_quoted = !is_quoted;
    } else if (!is_quoted && letter == ',') {
      fields.emplace_back();
    } else if (!is_quoted && letter == '\n') {
      ++place;
      return fields;
    } else {
      fields.back() += letter;
    }
  }
  return fields;
}

}  // namespace

std::vector<std::string> names_in_comparison(const std::string& csv, const fs::path& path) {
  std::size_t place = 0;
  const std::size_t columns = csv_record(csv, place).size();
  std::vector<std::string> names;
  while (place < csv.size()) {
    const std::vector<std::string> fields = csv_record(csv, place);
    if (fields.size() != columns || fields.front().empty())
      throw Error(Exit::file, fmt::format("{} is no comparison: a row has {}, and its header has {}.", path.string(),
                                          count_text(static_cast<std::int64_t>(fields.size()), "field"), columns));
    names.push_back(fields.front());
  }
  if (csv.rfind("deck,", 0) != 0 || names.empty())
    throw Error(Exit::file, path.string() + " is no comparison: it has no column `deck` with a name in it.");
  return names;
}

namespace {

/// A column of the table on the screen: the first figure of a set, of which there is another for every kind of task.
struct Column {
  std::string set;
  MetricKind metric;
  std::string title() const { return set + " " + metric.label; }
  std::size_t width() const { return std::max<std::size_t>(11, character_count(title())); }
  std::string text_of(const ComparedRun& run) const {
    const SetMetrics* own = run.find_set(set);
    return own != nullptr ? short_text(own->trained[metric.name], 5) : "-";
  }
};

std::vector<Column> columns_of(const std::vector<ComparedRun>& runs) {
  std::vector<Column> columns;
  for (const std::string& name : sets_of(runs))
    for (const ComparedRun& run : runs) {
      const SetMetrics* set = run.find_set(name);
      const std::vector<MetricKind> kinds = set != nullptr ? ridgeline::kinds_of({*set}) : std::vector<MetricKind>();
      const auto is_there = [&](const Column& column) {
        return column.set == name && std::string(column.metric.name) == kinds.front().name;
      };
      if (!kinds.empty() && std::none_of(columns.begin(), columns.end(), is_there))
        columns.push_back({name, kinds.front()});
    }
  return columns;
}

}  // namespace

std::string comparison_table(const std::vector<ComparedRun>& runs) {
  const std::vector<Column> columns = columns_of(runs);
  std::size_t width = 4;
  for (const ComparedRun& run : runs) width = std::max(width, character_count(run.name));
  const auto padded = [&](const std::string& name) { return name + std::string(width - character_count(name), ' '); };
  std::string text = padded("deck") + fmt::format("  {:>10}  {:>9}  {:>9}", "parameters", "seconds", "steps/s");
  for (const Column& column : columns)
    text += std::string(2 + column.width() - character_count(column.title()), ' ') + column.title();
  for (const ComparedRun& run : runs) {
    text += fmt::format("\n{}  {:>10}  {:>9}  {:>9}", padded(run.name), fact(run, "parameters"),
                        short_text(run.seconds(), 4), short_text(run.steps_per_second(), 4));
    for (const Column& column : columns) text += fmt::format("  {:>{}}", column.text_of(run), column.width());
  }
  return text;
}

std::vector<DeckDifference> deck_differences(const std::vector<ComparedRun>& runs) {
  std::vector<DeckDifference> keys;  // all there are, sections of later decks after those of earlier ones
  for (std::size_t i = 0; i < runs.size(); ++i) {
    auto place = keys.begin();  // behind the key before, so that a key of one deck alone stands where it belongs
    for (const Deck::Section& section : Deck::parse(runs[i].deck, runs[i].name + "/deck.ini").sections)
      for (const Deck::Entry& entry : section.entries) {
        auto key = std::find_if(keys.begin(), keys.end(), [&](const DeckDifference& other) {
          return other.section == section.name && other.key == entry.key;
        });
        if (key == keys.end())
          key = keys.insert(place, {section.name, entry.key, std::vector<std::optional<std::string>>(runs.size())});
        key->values[i] = entry.value;
        place = key + 1;
      }
  }
  keys.erase(std::remove_if(keys.begin(), keys.end(),
                            [](const DeckDifference& key) {
                              return std::all_of(key.values.begin(), key.values.end(),
                                                 [&](const auto& value) { return value == key.values.front(); });
                            }),
             keys.end());
  return keys;
}

}  // namespace report

bool holds_comparison(const fs::path& folder) {
  std::error_code ignored;
  return fs::exists(folder / "comparison.csv", ignored);
}

namespace {

std::vector<report::ComparedRun> read_runs(const fs::path& folder, const std::vector<std::string>& names) {
  std::vector<report::ComparedRun> runs;
  for (const std::string& name : names) {
    try {
      runs.push_back(report::read_compared_run(folder / name));
    } catch (const Error& error) {
      throw Error(error.status(),
                  fmt::format("the run {} is not as it was when it was compared: {}; `ridgeline run` of the same decks "
                              "with --resume makes up for what is missing.",
                              (folder / name).string(), clause(error.what())));
    }
  }
  return runs;
}

}  // namespace

Comparison draw_comparison(const fs::path& folder, const std::vector<std::string>& names) {
  const std::vector<report::ComparedRun> runs = read_runs(folder, names);
  Comparison comparison;
  comparison.table = report::comparison_table(runs);
  write_atomically(folder / "comparison.csv", report::comparison_csv(runs));
  Report& drawn = comparison.report;
  report::Painter painter(folder / "figures", drawn);
  const report::Picture picture{
      painter.draw(report::comparison_figure(runs)),
      fmt::format(
          "Left: the mean training loss of each epoch. Right: the {} over all points of every set after training; "
          "further left is better.",
          report::compared_metric(runs).title)};
  const std::string notice = drawn.without_pictures.empty() ? "" : "No pictures: " + drawn.without_pictures + ".";
  drawn.html = folder / "comparison.html";
  write_atomically(drawn.html, report::comparison_html(report::title_of(folder), runs, picture, notice));
  return comparison;
}

Comparison draw_comparison(const fs::path& folder) {
  const fs::path csv = folder / "comparison.csv";
  return draw_comparison(folder, report::names_in_comparison(read_text(csv), csv));
}

}  // namespace ridgeline

#include "report/report.hpp"

#include <cctype>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "io/files.hpp"
#include "io/history.hpp"
#include "io/results.hpp"
#include "report/figures.hpp"
#include "report/html.hpp"
#include "report/painter.hpp"
#include "report/time_summary.hpp"
#include "report/time_tree.hpp"

namespace ridgeline {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t functions_shown = 6;

/// A metric's name as a sentence begins.
std::string name_of(const std::string& metric) {
  const MetricKind* kind = find_metric(metric);
  std::string name = kind != nullptr ? kind->title : metric;
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

void add_history(const fs::path& path, report::Painter& painter, report::Page& page) {
  const History history = History::read(path);
  page.loss = {painter.draw(report::loss_figure(history)),
               fmt::format("{} against the epoch: the mean training loss of each epoch, and every set where it was "
                           "evaluated.",
                           name_of(history.metric))};
}

report::SetSection set_section(const hdf5::File& file, const std::string& name, const std::string& figure_name,
                               report::Painter& painter) {
  report::SetSection section;
  section.name = name;
  section.inputs = file.shape(name + "/inputs");
  const std::vector<std::int64_t> numbers =
      spread_samples(section.inputs.empty() ? 0 : section.inputs[0], functions_shown);
  const ResultSet<double> set = read_result_set<double>(file, name, numbers);
  section.trained = set.trained;
  section.untrained = set.untrained;
  section.is_of_images = set.grid.rows > 0;
  if (section.is_of_images) {
    return section;
  }
  const std::string target =
      set.targets > 1 ? fmt::format(" The first of {} targets is drawn.", set.targets) : std::string();
  section.picture = {painter.draw(report::predictions_figure(set, numbers, figure_name)),
                     fmt::format("Functions of the set, evenly spaced and numbered as in results.h5: truth, the "
                                 "points shown to the model, and the model's prediction before and after training.{}",
                                 target)};
  return section;
}

void add_results(const fs::path& path, report::Painter& painter, report::Page& page) {
  const hdf5::File file = hdf5::File::open(path);
  const std::vector<std::string> names = read_set_names(file);
  page.facts = read_facts(file);
  const std::vector<std::string> figure_names = report::prediction_names(names);
  std::vector<SetMetrics> metrics;
  for (std::size_t index = 0; index < names.size(); ++index) {
    page.sets.push_back(set_section(file, names[index], figure_names[index], painter));
    metrics.push_back({names[index], page.sets.back().untrained, page.sets.back().trained});
  }
  page.metrics = {painter.draw(report::metrics_figure(metrics)),
                  fmt::format("{} over all points of every set, before and after training.",
                              metrics.empty() ? "" : name_of(kinds_of(metrics).front().name))};
  const std::vector<RegionTime> times = read_time(file);
  page.nodes = report::time_tree(times);
  page.kernels = read_kernel_times(file);
  page.time = {painter.draw(report::time_figure(report::time_summary(times))),
               "Where the time of the run went. Evaluation is of all sets, during training and at its end."};
}

/// Whether the file is there. Throws Error(Exit::file) where that cannot be found out.
bool is_there(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::none) {
    throw Error(Exit::file, fmt::format("cannot read {}: {}.", path.string(), error.message()));
  }
  return fs::exists(status);
}

/// Removes the predictions_*.svg and predictions_*.png that were not drawn this time: their sets may be gone. Where
/// pictures could not be drawn, those of `page`'s sets stay.
void remove_old_predictions(const fs::path& folder, const report::Page& page, const Report& report) {
  std::set<std::string> kept;
  for (const fs::path& figure : report.figures) {
    kept.insert(figure.filename().string());
  }
  if (!report.without_pictures.empty()) {
    std::vector<std::string> names;
    for (const report::SetSection& section : page.sets) {
      names.push_back(section.name);
    }
    for (const std::string& name : report::prediction_names(names)) {
      kept.insert({name + ".svg", name + ".png"});
    }
  }
  std::vector<fs::path> old;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path name = entry->path().filename();
    const bool is_of_a_set =
        name.string().rfind("predictions_", 0) == 0 && (name.extension() == ".svg" || name.extension() == ".png");
    std::error_code ignored;
    if (is_of_a_set && kept.count(name.string()) == 0 && entry->is_regular_file(ignored)) {
      old.push_back(entry->path());
    }
  }
  for (const fs::path& path : old) {
    std::error_code ignored;
    fs::remove(path, ignored);
  }
}

}  // namespace

Report draw_report(const fs::path& run_directory) {
  const fs::path history = run_directory / "history.csv";
  const fs::path results = run_directory / "results.h5";
  const fs::path deck = run_directory / "deck.ini";
  std::error_code ignored;
  if (!is_there(run_directory) || !fs::is_directory(run_directory, ignored)) {
    throw Error(Exit::file, fmt::format("{} is not a folder, and a run's folder is needed.", run_directory.string()));
  }
  const bool has_history = is_there(history);
  const bool has_results = is_there(results);
  if (!has_history && !has_results) {
    throw Error(Exit::file,
                fmt::format("{} holds no run: neither history.csv nor results.h5 is there.", run_directory.string()));
  }
  Report report;
  report::Page page;
  report::Painter painter(run_directory / "figures", report);
  if (has_history) {
    add_history(history, painter, page);
  }
  if (has_results) {
    add_results(results, painter, page);
  }
  if (is_there(deck)) {
    page.deck = read_text(deck);
  }
  page.title = page.facts.count("title") > 0 ? page.facts.at("title") : report::title_of(run_directory);
  page.notice = report.without_pictures.empty() ? "" : "No pictures: " + report.without_pictures + ".";
  report.html = run_directory / "report.html";
  write_atomically(report.html, report::page_html(page));
  remove_old_predictions(run_directory / "figures", page, report);
  return report;
}

}  // namespace ridgeline

#include "report/report.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "config/deck.hpp"
#include "core/error.hpp"
#include "io/files.hpp"
#include "io/history.hpp"
#include "io/results.hpp"
#include "report/figures.hpp"
#include "report/gnuplot.hpp"
#include "report/html.hpp"
#include "report/image_figures.hpp"
#include "report/painter.hpp"
#include "report/report_options.hpp"
#include "report/time_summary.hpp"
#include "report/time_tree.hpp"

namespace ridgeline {

namespace {

namespace fs = std::filesystem;

constexpr std::int64_t functions_shown = 6;
constexpr std::int64_t images_shown = 12;

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
  section.is_of_images = file.has_attribute(name, "rows");
  const std::vector<std::int64_t> numbers = spread_samples(section.inputs.empty() ? 0 : section.inputs[0],
                                                           section.is_of_images ? images_shown : functions_shown);
  const ResultSet<double> set = read_result_set<double>(file, name, numbers);
  section.trained = set.trained;
  section.untrained = set.untrained;
  if (section.is_of_images) {
    section.picture = {
        painter.draw(report::rows_figure(figure_name, report::tiles_of(set))),
        "Images of the set, evenly spaced; what the trained model holds for most probable at each pixel, "
        "given all those before it; and how much of a surprise the pixel's own level is to it."};
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

Images read_generated(const hdf5::File& file) {
  try {
    return read_images(file, generated_group, false);
  } catch (const Error& error) {
    throw Error(Exit::file, error.what());  // no mistake of the user's
  }
}

/// Images that the model made, beside as many of the training set.
void add_generated(const hdf5::File& file, const std::string& training_set, report::Painter& painter,
                   report::Page& page) {
  if (!holds_images(file, generated_group) || !file.has_attribute(training_set, "rows")) {
    return;
  }
  const Images made = read_generated(file);
  const ResultSet<double> real = read_result_set<double>(
      file, training_set, spread_samples(file.shape(training_set + "/inputs").at(0), made.count));
  if (real.grid.rows != made.rows || real.grid.columns != made.columns || real.targets != made.channels) {
    return;
  }
  const std::int64_t levels = real.outputs / std::max<std::int64_t>(1, real.targets);
  report::Tiles own = report::tiles_of(made, static_cast<double>(levels - 1));
  report::Tiles others = report::tiles_of(real).front();
  own.title = "made by the trained model";
  others.title = "of the training set";
  page.generated = {
      painter.draw(report::groups_figure("generated", {own, others}, 6)),
      "Left: images that the trained model made, pixel by pixel, each drawn from what the model holds for "
      "probable. Right: images of the training set, evenly spaced."};
}

/// The keys of [report] in a run's resolved deck; defaults where it has none.
OptionValues options_in(const std::string& deck) {
  std::map<std::string, std::string> texts;
  if (const Deck parsed = Deck::parse(deck, "deck.ini"); const Deck::Section* section = parsed.find("report")) {
    for (const Deck::Entry& entry : section->entries) {
      texts[entry.key] = entry.value;
    }
  }
  return OptionValues::from(report_options(), texts, "report");
}

/// The part of a block's bias that is to be drawn.
report::BiasCurves curves_of(const hdf5::File& file, const std::string& block, const OptionValues& options) {
  const std::string name = std::string(bias_group) + "/" + block;
  const hdf5::Shape shape = file.shape(name);
  if (shape.size() != 2 || shape[1] % 2 != 1) {
    throw Error(Exit::file, fmt::format("{}: dataset \"{}\" has shape {}, and [heads, 2 tokens - 1] is needed.",
                                        file.path().string(), name, hdf5::to_string(shape)));
  }
  const std::vector<double> values = file.read<double>(name);
  const std::int64_t furthest = (shape[1] - 1) / 2;
  const std::int64_t asked = options.integer("tisa_distance");
  const std::int64_t reach = asked == 0 ? furthest : std::min(asked, furthest);
  const std::int64_t last =
      file.has_attribute(name, "causal") && file.attribute_integer(name, "causal") != 0 ? 0 : reach;
  const std::vector<std::string>& heads = options.texts("tisa_heads");
  report::BiasCurves curves;
  curves.title = block;
  curves.first = -reach;
  for (std::int64_t head = 0; head < shape[0]; ++head) {
    const bool is_asked = std::find(heads.begin(), heads.end(), std::to_string(head)) != heads.end();
    if (heads.front() != "all" && !is_asked) {
      continue;
    }
    const auto begin = values.begin() + head * shape[1] + furthest;  // of distance 0
    curves.heads.push_back(static_cast<int>(head));
    curves.values.emplace_back(begin - reach, begin + last + 1);
  }
  return curves;
}

void add_biases(const hdf5::File& file, const std::string& deck, report::Painter& painter, report::Page& page) {
  if (!file.is_group(bias_group)) {
    return;
  }
  const OptionValues options = options_in(deck);
  std::vector<report::BiasCurves> blocks;
  for (const std::string& block : file.members(bias_group)) {
    blocks.push_back(curves_of(file, block, options));
    if (blocks.back().values.empty()) {
      blocks.pop_back();
    }
  }
  page.biases = {painter.draw(report::bias_figure("score_biases", blocks)),
                 "What each head's attention adds to the score of a key for how far it stands from the query, after "
                 "training: f(key − query). A causal head looks at keys before the query alone."};
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
  if (!names.empty()) {
    add_generated(file, names.front(), painter, page);
  }
  add_biases(file, page.deck, painter, page);
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
  if (is_there(deck)) {
    page.deck = read_text(deck);
  }
  if (has_history) {
    add_history(history, painter, page);
  }
  if (has_results) {
    add_results(results, painter, page);
  }
  page.title = page.facts.count("title") > 0 ? page.facts.at("title") : report::title_of(run_directory);
  page.notice = report.without_pictures.empty() ? "" : "No pictures: " + report.without_pictures + ".";
  report.html = run_directory / "report.html";
  write_atomically(report.html, report::page_html(page));
  remove_old_predictions(run_directory / "figures", page, report);
  return report;
}

DrawnImages draw_images(const fs::path& file, const Images& images, int levels) {
  DrawnImages drawn;
  const std::optional<fs::path> gnuplot = report::find_program("gnuplot");
  if (!gnuplot) {
    drawn.complaint = "there is no picture: that needs gnuplot, which is not on PATH";
    return drawn;
  }
  report::Tiles tiles = report::tiles_of(images, levels - 1);
  // A little wider than high, its rows as full as can be.
  const int most_across = std::max(1, static_cast<int>(std::ceil(std::sqrt(1.6 * images.count))));
  const int rows = (images.count + most_across - 1) / most_across;
  const int across = (images.count + rows - 1) / rows;
  const report::Rendered rendered = report::render(report::groups_figure("images", {tiles}, across), *gnuplot);
  if (!rendered.complaint.empty()) {
    drawn.complaint = fmt::format("there is no picture: {}", rendered.complaint);
    return drawn;
  }
  drawn.png = file;
  drawn.png.replace_extension(".png");
  write_atomically(drawn.png, rendered.png);
  return drawn;
}

}  // namespace ridgeline

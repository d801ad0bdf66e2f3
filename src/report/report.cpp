#include "report/report.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "config/deck.hpp"
#include "config/settings.hpp"
#include "config/text.hpp"
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

constexpr const char* generated_figure = "generated";
constexpr const char* biases_figure = "score_biases";

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
  report::Tiles own = report::tiles_of(made, static_cast<double>(levels - 1), made.count);
  report::Tiles others = report::tiles_of(real).front();
  own.title = "made by the trained model";
  others.title = "of the training set";
  page.generated = {
      painter.draw(report::groups_figure(generated_figure, {own, others}, 6)),
      "Left: images that the trained model made, pixel by pixel, each drawn from what the model holds for "
      "probable. Right: images of the training set, evenly spaced."};
}

/// What of attention's bias by distance is to be drawn, as [report] says.
struct BiasChoice {
  std::vector<std::int64_t> heads = {};  // empty: all
  std::int64_t distance = 0;             // 0: all
};

/// That of the run's resolved deck; all of it where there is none. Throws Error(Exit::file), naming `path`.
BiasChoice choice_in(const std::string& deck, const fs::path& path) {
  if (trim(deck).empty()) {
    return {};
  }
  try {
    const OptionValues options = Settings(Deck::parse(deck, path.string())).bind("report", report_options());
    return {asked_heads(options), options.integer("tisa_distance")};
  } catch (const Error& error) {
    throw Error(Exit::file, error.what());  // no mistake of the user's
  }
}

/// The part of a block's bias that is to be drawn.
report::BiasCurves curves_of(const hdf5::File& file, const std::string& block, const BiasChoice& choice) {
  const std::string name = std::string(bias_group) + "/" + block;
  const hdf5::Shape shape = file.shape(name);
  if (shape.size() != 2 || shape[1] % 2 != 1) {
    throw Error(Exit::file, fmt::format("{}: dataset \"{}\" has shape {}, and [heads, 2 tokens - 1] is needed.",
                                        file.path().string(), name, hdf5::to_string(shape)));
  }
  const std::vector<double> values = file.read<double>(name);
  const std::int64_t furthest = (shape[1] - 1) / 2;
  const std::int64_t reach = choice.distance == 0 ? furthest : std::min(choice.distance, furthest);
  const std::int64_t last =
      file.has_attribute(name, "causal") && file.attribute_integer(name, "causal") != 0 ? 0 : reach;
  report::BiasCurves curves;
  curves.title = block;
  curves.first = -reach;
  for (std::int64_t head = 0; head < shape[0]; ++head) {
    const bool is_asked = std::find(choice.heads.begin(), choice.heads.end(), head) != choice.heads.end();
    if (!choice.heads.empty() && !is_asked) {
      continue;
    }
    const auto begin = values.begin() + head * shape[1] + furthest;  // of distance 0
    curves.heads.push_back(static_cast<int>(head));
    curves.values.emplace_back(begin - reach, begin + last + 1);
  }
  return curves;
}

/// Names of blocks by their numbers: "block 2" before "block 10".
std::vector<std::string> blocks_in_order(std::vector<std::string> names) {
  std::sort(names.begin(), names.end(), [](const std::string& one, const std::string& other) {
    return std::make_pair(one.size(), one) < std::make_pair(other.size(), other);
  });
  return names;
}

void add_biases(const hdf5::File& file, report::Painter& painter, report::Page& page) {
  if (!file.is_group(bias_group)) {
    return;
  }
  const BiasChoice choice = choice_in(page.deck, file.path().parent_path() / "deck.ini");
  std::vector<report::BiasCurves> blocks;
  for (const std::string& block : blocks_in_order(file.members(bias_group))) {
    blocks.push_back(curves_of(file, block, choice));
    if (blocks.back().values.empty()) {
      blocks.pop_back();
    }
  }
  page.biases = {painter.draw(report::bias_figure(biases_figure, blocks)),
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
  add_biases(file, painter, page);
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

/// The pictures that a report of this page has, without their endings.
std::set<std::string> pictures_of(const report::Page& page) {
  std::vector<std::string> sets;
  for (const report::SetSection& section : page.sets) {
    sets.push_back(section.name);
  }
  const std::vector<std::string> of_sets = report::prediction_names(sets);
  std::set<std::string> names(of_sets.begin(), of_sets.end());
  if (!page.generated.caption.empty()) {
    names.insert(generated_figure);
  }
  if (!page.biases.caption.empty()) {
    names.insert(biases_figure);
  }
  return names;
}

/// Removes pictures of an earlier report that were not drawn this time: of sets that are gone, of images and biases that
/// were not made. Where pictures could not be drawn, those that belong to `page` stay.
void remove_old_pictures(const fs::path& folder, const report::Page& page, const Report& report) {
  std::set<std::string> kept;
  if (!report.without_pictures.empty()) {
    kept = pictures_of(page);
  }
  for (const fs::path& figure : report.figures) {
    kept.insert(figure.stem().string());
  }
  std::vector<fs::path> old;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const fs::path file = entry->path();
    const std::string name = file.stem().string();
    const bool may_go = name == generated_figure || name == biases_figure || name.rfind("predictions_", 0) == 0;
    const bool is_picture = file.extension() == ".svg" || file.extension() == ".png";
    std::error_code ignored;
    if (may_go && is_picture && kept.count(name) == 0 && entry->is_regular_file(ignored)) {
      old.push_back(file);
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
  remove_old_pictures(run_directory / "figures", page, report);
  return report;
}

fs::path picture_beside(const fs::path& file) { return fs::path(file).replace_extension(".png"); }

DrawnImages draw_images(const fs::path& file, const Images& images, int levels) {
  DrawnImages drawn;
  const std::optional<fs::path> gnuplot = report::find_program("gnuplot");
  if (!gnuplot) {
    drawn.complaint = "there is no picture: that needs gnuplot, which is not on PATH";
    return drawn;
  }
  drawn.count = std::min(images.count, most_drawn);
  report::Tiles tiles = report::tiles_of(images, levels - 1, drawn.count);
  // A little wider than high, its rows as full as can be.
  const int most_across = std::max(1, static_cast<int>(std::ceil(std::sqrt(1.6 * drawn.count))));
  const int rows = (drawn.count + most_across - 1) / most_across;
  const int across = (drawn.count + rows - 1) / rows;
  const report::Rendered rendered =
      report::render(report::groups_figure("images", {tiles}, across), *gnuplot, report::Forms::png);
  if (!rendered.complaint.empty()) {
    drawn.complaint = fmt::format("there is no picture: {}", rendered.complaint);
    return drawn;
  }
  drawn.png = picture_beside(file);
  write_atomically(drawn.png, rendered.png);
  return drawn;
}

}  // namespace ridgeline

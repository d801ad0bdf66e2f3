// `ridgeline sample`.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "config/text.hpp"
#include "core/region.hpp"
#include "driver/commands.hpp"
#include "driver/console.hpp"
#include "driver/continuation.hpp"
#include "driver/plugins.hpp"
#include "driver/session.hpp"
#include "io/image_file.hpp"
#include "io/results.hpp"
#include "report/report.hpp"
#include "train/sampler.hpp"

namespace ridgeline {
namespace {

/// Sequences that are made at a time: enough to keep threads busy, few enough for any cache of keys and values.
constexpr int most_at_once = 64;

const Task& task_of(const Experiment& experiment) { return *experiment.sets.front().task; }

/// Whether `sample` wrote the file, and nothing was added to it. A run's results.h5 has a group of generated images too.
bool is_made_by_sample(const std::filesystem::path& path) {
  try {
    const hdf5::File file = hdf5::File::open(path);
    const auto has = [&](const char* attribute) { return file.has_attribute("/", attribute); };
    return file.members() == std::vector<std::string>{generated_group} && has("seed") && has("temperature") &&
           has("kept_rows");
  } catch (const Error&) {
    return false;  // no HDF5 file
  }
}

/// Throws Error(Exit::mistake) where --output, or the picture beside it, would replace anything but images that were
/// made before: a checkpoint, a run's results, the task's data, or what --given names.
void check_output(const CommandLine& line) {
  namespace fs = std::filesystem;
  std::error_code none;
  const fs::path picture = picture_beside(line.output);
  if (picture == line.output)
    throw Error(Exit::mistake, fmt::format("--output {} is an HDF5 file, and .png the ending of the picture beside it; "
                                           "name another, such as {}.",
                                           line.output, fs::path(line.output).replace_extension(".h5").string()));
  if (!line.given.empty() && fs::equivalent(line.output, line.given, none))
    throw Error(Exit::mistake, fmt::format("--output {} is the file of --given; name another.", line.output));
  const bool is_there = fs::is_regular_file(line.output, none);
  if (is_there && !is_made_by_sample(line.output))
    throw Error(Exit::mistake, fmt::format("--output {} is there already, and `ridgeline sample` did not make it; name "
                                           "another file.",
                                           line.output));
  if (!is_there && fs::exists(fs::symlink_status(picture, none)))
    throw Error(Exit::mistake, fmt::format("--output {} has its picture beside it, and {} is there already, of no "
                                           "images that were made; name another file.",
                                           line.output, picture.string()));
}

/// Throws Error(Exit::mistake) where the checkpoint is of a model that makes no images.
void check_model(const CommandLine& line, const Experiment& experiment) {
  if (!task_of(experiment).is_autoregressive())
    throw Error(Exit::mistake,
                fmt::format("{} is of the task {}, whose model gives a whole sample at once; sample takes "
                            "one that goes from token to token, as that of images does.",
                            line.checkpoint, experiment.task));
}

std::vector<int> labels_of(const CommandLine& line, const Experiment& experiment) {
  if (experiment.extra != Extra::class_label) {
    if (line.label)
      throw Error(Exit::mistake,
                  fmt::format("--class {} chooses what a model with `extra = class` is told, and {} is of "
                              "one without.",
                              *line.label, line.checkpoint));
    return {};
  }
  if (!line.label) return classes_in_turn(task_of(experiment), line.count);
  const std::vector<int> classes = task_of(experiment).labels();
  if (std::find(classes.begin(), classes.end(), *line.label) == classes.end()) {
    std::vector<std::string> names;
    for (const int label : classes) names.push_back(std::to_string(label));
    throw Error(Exit::mistake, fmt::format("--class {} is none that {} was trained on; it takes {}.", *line.label,
                                           line.checkpoint, phrase(names, "or")));
  }
  return std::vector<int>(static_cast<std::size_t>(line.count), *line.label);
}

/// The kept beginnings of the given images, in turn.
void read_given(const CommandLine& line, const Experiment& experiment, SamplingPlan& plan) {
  if (line.given.empty()) return;
  const Task& task = task_of(experiment);
  const Images images = read_images(hdf5::File::open(line.given), line.part, false);
  const Grid grid = task.grid();
  const auto refuse = [&](const std::string& what) {
    throw Error(Exit::mistake, fmt::format("--given {} {}.", line.given, what));
  };
  if (images.rows != grid.rows || images.columns != grid.columns || images.channels != task.targets())
    refuse(fmt::format("has images of {} x {} pixels in {}, and the model makes {} x {} in {}", images.rows,
                       images.columns, count_text(images.channels, "channel"), grid.rows, grid.columns,
                       task.targets()));
  if (images.largest_level >= task.levels())
    refuse(
        fmt::format("has levels up to {}, and the model's are from 0 to {}", images.largest_level, task.levels() - 1));
  if (*line.keep > grid.rows)
    throw Error(Exit::mistake,
                fmt::format("--keep {} is more than an image has: {}.", *line.keep, count_text(grid.rows, "row")));
  plan.kept = *line.keep * grid.columns;
  for (int i = 0; i < plan.count; ++i) {
    const std::uint16_t* image = images.image(i % images.count);
    plan.given.insert(plan.given.end(), image, image + plan.kept * images.channels);
  }
}

/// Throws Error(Exit::mistake) where so many images need more memory than there is.
template <class Scalar>
void check_memory_of(const Experiment& experiment, const SamplingPlan& plan, Model<Scalar>& model, int at_once) {
  const Task& task = task_of(experiment);
  MemoryNeed need;
  need.parameters = 2.0 * sizeof(Scalar) * static_cast<double>(model.parameters().length());
  need.activations = Sampler<Scalar>::bytes(model, task, experiment.extra, at_once);
  // Levels as they are drawn, as images, and in the file before it is on disk.
  need.results =
      static_cast<double>(plan.count) * task.tokens() * task.targets() * (sizeof(double) + 2 * sizeof(std::uint16_t));
  check_memory(need, fmt::format("--count {} needs", plan.count), "fewer images need less");
}

template <class Scalar>
Images make(const CommandLine& line, const Experiment& experiment, const SamplingPlan& plan, Console& console) {
  const int at_once = std::min(plan.count, most_at_once);
  Model<Scalar> model(experiment.model);
  check_memory_of(experiment, plan, model, at_once);
  model.allocate();
  load_parameters(experiment, line.checkpoint, model.parameters(), console);
  Sampler<Scalar> sampler(model, task_of(experiment), experiment.extra, at_once);
  return images_of(task_of(experiment), sampler.sample(plan), plan);
}

void write(const CommandLine& line, const Experiment& experiment, const Images& images) {
  hdf5::write_atomically(line.output, [&](hdf5::File& file) {
    write_images(file, generated_group, images);
    file.write_attribute("/", "format", std::int64_t{1});
    file.write_attribute("/", "levels", std::int64_t{task_of(experiment).levels()});
    file.write_attribute("/", "seed", static_cast<std::int64_t>(line.seed));
    file.write_attribute("/", "temperature", line.temperature);
    file.write_attribute("/", "kept_rows", std::int64_t{line.keep.value_or(0)});
  });
}

}  // namespace

Exit sample_command(const CommandLine& line) {
  Console console(false);
  check_output(line);
  const Deck deck = deck_of_checkpoint(line.checkpoint);
  load_plugins_of(line, &deck);
  const Experiment experiment = experiment_of_checkpoint(line.checkpoint, line.overrides);
  check_model(line, experiment);
  SamplingPlan plan;
  plan.count = line.count;
  plan.seed = line.seed;
  plan.temperature = line.temperature;
  plan.labels = labels_of(line, experiment);
  read_given(line, experiment, plan);
  const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
  const double began = wall_time();
  const Images images = experiment.single_precision ? make<float>(line, experiment, plan, console)
                                                    : make<double>(line, experiment, plan, console);
  write(line, experiment, images);
  console.line(fmt::format("{} of {} x {} pixels in {}: {}", count_text(images.count, "image"), images.rows,
                           images.columns, duration_text(wall_time() - began), line.output));
  const DrawnImages drawn = draw_images(line.output, images, task_of(experiment).levels());
  if (!drawn.complaint.empty())
    console.line(drawn.complaint);
  else
    console.line(fmt::format("picture{}: {}",
                             drawn.count < images.count ? fmt::format(" of the first {}", drawn.count) : "",
                             drawn.png.string()));
  return Exit::done;
}

}  // namespace ridgeline

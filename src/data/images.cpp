// task = images: what level does the next pixel have? Tokens are the pixels of an image row by row. A token's input is
// the level of the pixel before in every channel, one hot (nothing for the first); its target the levels of its own.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "config/text.hpp"
#include "data/task.hpp"
#include "io/image_file.hpp"

namespace ridgeline {
namespace {

/// Channels of a token's input that results.h5 can name.
constexpr int most_inputs = 3000;

const std::string& file_of(const OptionValues& set) { return set.texts("file").front(); }

/// The images that a section names. Throws Error with the section's place.
Images read(const OptionValues& set) {
  const std::string& part = set.text("part");
  const auto of_file = [&](const auto& call) {
    try {
      return call();
    } catch (const Error& error) {
      throw Error(error.status(), set.mistake("file", "cannot be used: ").what() + std::string(error.what()));
    }
  };
  const hdf5::File file = of_file([&] { return hdf5::File::open(file_of(set)); });
  const std::vector<std::string> parts = of_file([&] { return parts_with_images(file); });
  if (!parts.empty() && !holds_images(file, part))
    throw set.mistake("part", fmt::format("is no group of {} that holds a dataset images; {} would be.", file_of(set),
                                          phrase(parts, "or")));
  return of_file([&] { return read_images(file, part, true); });
}

/// Those of the images that show what `classes` names.
void choose(const OptionValues& set, Images& images) {
  const std::vector<std::string>& words = set.texts("classes");
  if (words == std::vector<std::string>{"all"}) return;
  std::vector<bool> is_chosen(static_cast<std::size_t>(images.largest_label) + 1);
  for (const std::string& word : words) {
    std::int64_t label = 0;
    if (read_number(word, label) != NumberError::none || label < 0)
      throw set.mistake("classes",
                        fmt::format("has {}; it takes all, or labels: whole numbers from 0 up.", excerpt(word)));
    if (std::find(images.labels.begin(), images.labels.end(), label) == images.labels.end())
      throw set.mistake("classes", fmt::format("has {}, which no image of the part {} shows; their labels reach {}.",
                                               label, excerpt(set.text("part")), images.largest_label));
    is_chosen[static_cast<std::size_t>(label)] = true;
  }
  const std::size_t size = static_cast<std::size_t>(images.tokens()) * images.channels;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < images.labels.size(); ++i) {
    if (!is_chosen[static_cast<std::size_t>(images.labels[i])]) continue;
    std::copy_n(images.levels.begin() + static_cast<std::ptrdiff_t>(i * size), size,
                images.levels.begin() + static_cast<std::ptrdiff_t>(kept * size));
    images.labels[kept++] = images.labels[i];
  }
  images.levels.resize(kept * size);
  images.labels.resize(kept);
  images.count = static_cast<int>(kept);
}

class ImageTask final : public Task {
 public:
  ImageTask(const OptionValues& data, const OptionValues& set) : images_(read(set)) {
    const bool is_training_part = file_of(data) == file_of(set) && data.text("part") == set.text("part");
    const Images trained = is_training_part ? Images() : read(data);
    learn_from(is_training_part ? images_ : trained, data);
    if (!is_training_part) compare(trained, set);
    choose(set, images_);
  }

  int samples() const override { return images_.count; }
  int tokens() const override { return images_.tokens(); }
  int shown_tokens() const override { return 0; }
  LossKind loss() const override { return LossKind::cross_entropy; }
  int levels() const override { return levels_; }
  bool is_autoregressive() const override { return true; }
  Grid grid() const override { return {images_.rows, images_.columns}; }

  std::vector<std::string> channel_names() const override {
    std::vector<std::string> names;
    for (int channel = 0; channel < images_.channels; ++channel)
      for (int level = 0; level < levels_; ++level)
        names.push_back(images_.channels == 1 ? fmt::format("before: {}", level)
                                              : fmt::format("before, channel {}: {}", channel, level));
    return names;
  }
  std::vector<std::string> target_names() const override {
    std::vector<std::string> names;
    for (int channel = 0; channel < images_.channels; ++channel)
      names.push_back(images_.channels == 1 ? "level" : fmt::format("level in channel {}", channel));
    return names;
  }

  int extra_channels(Extra extra) const override {
    return extra == Extra::class_label ? classes_ : extra == Extra::image ? images_.channels * levels_ : 0;
  }

  std::vector<int> labels() const override {
    std::vector<int> found(images_.labels.begin(), images_.labels.end());
    std::sort(found.begin(), found.end());
    found.erase(std::unique(found.begin(), found.end()), found.end());
    return found;
  }

  void make(std::uint64_t index, double* inputs, double* targets, std::uint8_t* shown) const override {
    const std::size_t of_an_input = static_cast<std::size_t>(images_.channels) * levels_;
    std::copy_n(images_.image(number_of(index)), images_.tokens() * images_.channels, targets);
    std::fill_n(shown, images_.tokens(), std::uint8_t{0});
    for (int token = 0; token < images_.tokens(); ++token)
      encode(token > 0 ? targets + (token - 1) * images_.channels : nullptr, inputs + token * of_an_input);
  }

  void make_extra(std::uint64_t index, Extra extra, double* channels) const override {
    const int number = number_of(index), of_a_token = extra_channels(extra);
    const std::uint16_t* image = images_.image(number);
    const std::vector<double> targets(image, image + images_.tokens() * images_.channels);
    for (int token = 0; token < images_.tokens(); ++token)
      encode_extra(extra, images_.labels[static_cast<std::size_t>(number)], targets.data() + token * images_.channels,
                   channels + static_cast<std::size_t>(token) * of_a_token);
  }

  void encode(const double* before, double* input) const override {
    std::fill_n(input, static_cast<std::size_t>(images_.channels) * levels_, 0.0);
    if (before != nullptr) mark(before, input);
  }

  void encode_extra(Extra extra, int label, const double* targets, double* channels) const override {
    std::fill_n(channels, extra_channels(extra), 0.0);
    if (extra == Extra::class_label)
      channels[label] = 1;
    else
      mark(targets, channels);
  }

 private:
  int number_of(std::uint64_t index) const {
    return static_cast<int>(index % static_cast<std::uint64_t>(images_.count));
  }

  /// 1 at the level of every channel of a pixel.
  void mark(const double* levels, double* one_hot) const {
    for (int channel = 0; channel < images_.channels; ++channel)
      one_hot[channel * levels_ + static_cast<int>(levels[channel])] = 1;
  }

  /// How many levels and classes there are, from the training part, whatever classes of it are chosen.
  void learn_from(const Images& trained, const OptionValues& data) {
    levels_ = static_cast<int>(data.integer("levels"));
    classes_ = trained.largest_label + 1;
    if (levels_ == 0) levels_ = trained.largest_level + 1;
    if (trained.largest_level >= levels_)
      throw data.mistake("levels", fmt::format("is too few: the images of the part {} have levels up to {}.",
                                               excerpt(data.text("part")), trained.largest_level));
    if (trained.channels * levels_ > most_inputs)
      throw data.mistake(
          data.integer("levels") > 0 ? "levels" : "file",
          fmt::format("makes {} inputs of a pixel: {} levels in each of its channels, {} in all; at most "
                      "{} can be.",
                      trained.channels * levels_, levels_, trained.channels, most_inputs));
  }

  /// What a test set must have in common with the training set.
  void compare(const Images& trained, const OptionValues& set) const {
    if (images_.channels != trained.channels)
      throw set.mistake("file", fmt::format("has images of {} channels, and those of the training set have {}.",
                                            images_.channels, trained.channels));
    if (images_.largest_level >= levels_)
      throw set.mistake("file", fmt::format("has levels up to {} in its part {}, and the training set's are from 0 to "
                                            "{}; `levels` in [data] makes room for more.",
                                            images_.largest_level, excerpt(set.text("part")), levels_ - 1));
  }

  Images images_;
  int levels_ = 0, classes_ = 0;
};

TaskEntry images() {
  TaskEntry entry;
  entry.name = "images";
  entry.summary = "the level of every pixel of an image from those before it";
  OptionSet& set = entry.set_options;
  set.paths("file", "HDF5 file of images and labels; relative to the deck's folder").count(1).required();
  set.text("part", "train", "group of the file whose images these are");
  set.texts("classes", {"all"}, "labels of the images that are taken, or all").count(1, 100000);
  entry.options.include(set);
  entry.options.integer("levels", 0, "levels that a pixel may have; 0: one more than the largest in the training part")
      .at_least(0)
      .at_most(most_inputs);
  entry.make = [](const OptionValues& data, const OptionValues& values, std::uint64_t, const std::string&) {
    return std::make_unique<ImageTask>(data, values);
  };
  return entry;
}

const bool registered = (TaskRegistry::instance().add(images()), true);

}  // namespace
}  // namespace ridgeline

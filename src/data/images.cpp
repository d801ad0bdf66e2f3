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
  const hdf5::File file = of_file([&] { return hdf5::File::open(set.text("file")); });
  const std::vector<std::string> parts = of_file([&] { return parts_with_images(file); });
  if (!parts.empty() && !holds_images(file, part))
    throw set.mistake("part", fmt::format("is no group of {} that holds a dataset images; {} would be.",
                                          set.text("file"), phrase(parts, "or")));
  return of_file([&] { return read_images(file, part, true); });
}

/// Of every label of the images, whether `classes` names it.
std::vector<bool> chosen_labels(const OptionValues& set, const Images& images) {
  const std::vector<std::string>& words = set.texts("classes");
  std::vector<bool> is_chosen(static_cast<std::size_t>(images.largest_label) + 1,
                              words == std::vector<std::string>{"all"});
  if (is_chosen.front()) return is_chosen;
  for (const std::string& word : words) {
    std::int64_t label = 0;
    if (read_number(word, label) != NumberError::none || label < 0)
      throw set.mistake("classes",
                        fmt::format("has {}; it takes all, or labels: whole numbers from 0 up.", excerpt(word)));
    if (std::find(images.labels.begin(), images.labels.end(), label) == images.labels.end())
      throw set.mistake("classes", fmt::format("has {}, which no image of the part {} shows; their labels reach {}.",
                                               label, excerpt(set.text("part")), images.largest_label));
    if (is_chosen[static_cast<std::size_t>(label)])
      throw set.mistake("classes", fmt::format("has {} twice; once is enough.", label));
    is_chosen[static_cast<std::size_t>(label)] = true;
  }
  return is_chosen;
}

/// Those of the images that show what `classes` names, and the largest level of those.
void choose(const OptionValues& set, Images& images) {
  const std::vector<bool> is_chosen = chosen_labels(set, images);
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
  images.largest_level = *std::max_element(images.levels.begin(), images.levels.end());
}

class ImageTask final : public Task {
 public:
  /// The training set, or a test set beside `train`.
  ImageTask(const OptionValues& set, const ImageTask* train) : images_(read(set)) {
    if (train == nullptr) learn(set);
    choose(set, images_);
    if (train != nullptr) follow(*train, set);
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
    for (int token = 0; token < images_.tokens(); ++token)
      encode_extra_of(extra, images_.labels[static_cast<std::size_t>(number)], image + token * images_.channels,
                      channels + static_cast<std::size_t>(token) * of_a_token);
  }

  void encode(const double* before, double* input) const override {
    std::fill_n(input, static_cast<std::size_t>(images_.channels) * levels_, 0.0);
    if (before != nullptr) mark(before, input);
  }

  void encode_extra(Extra extra, int label, const double* targets, double* channels) const override {
    encode_extra_of(extra, label, targets, channels);
  }

  bool is_same_set(const Task& other) const override {
    const auto* images = dynamic_cast<const ImageTask*>(&other);
    return images != nullptr && images->images_.levels == images_.levels && images->images_.labels == images_.labels;
  }

 private:
  int number_of(std::uint64_t index) const {
    return static_cast<int>(index % static_cast<std::uint64_t>(images_.count));
  }

  /// 1 at the level of every channel of a pixel.
  template <class Level>
  void mark(const Level* levels, double* one_hot) const {
    for (int channel = 0; channel < images_.channels; ++channel)
      one_hot[channel * levels_ + static_cast<int>(levels[channel])] = 1;
  }

  template <class Level>
  void encode_extra_of(Extra extra, int label, const Level* levels, double* channels) const {
    std::fill_n(channels, extra_channels(extra), 0.0);
    if (extra == Extra::class_label)
      channels[label] = 1;
    else
      mark(levels, channels);
  }

  /// How many levels and classes there are, from the training part, whatever classes of it are chosen.
  void learn(const OptionValues& data) {
    levels_ = static_cast<int>(data.integer("levels"));
    classes_ = images_.largest_label + 1;
    if (levels_ == 0) levels_ = images_.largest_level + 1;
    if (images_.largest_level >= levels_)
      throw data.mistake("levels", fmt::format("is too few: the images of the part {} have levels up to {}.",
                                               excerpt(data.text("part")), images_.largest_level));
    // Any file may ask for more than an int holds.
    if (const std::int64_t inputs = std::int64_t{images_.channels} * levels_; inputs > most_inputs)
      throw data.mistake(
          data.integer("levels") > 0 ? "levels" : "file",
          fmt::format("makes {} inputs of a pixel: {} levels in each of its channels, {} in all; at most {} can be.",
                      inputs, levels_, images_.channels, most_inputs));
  }

  /// Takes levels and classes over from the training set, which must have room for this one.
  void follow(const ImageTask& train, const OptionValues& set) {
    levels_ = train.levels_;
    classes_ = train.classes_;
    if (images_.channels != train.images_.channels)
      throw set.mistake("file", fmt::format("has images of {}, and those of the training set have {}.",
                                            count_text(images_.channels, "channel"), train.images_.channels));
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
  set.path("file", "HDF5 file of images and labels; relative to the deck's folder").required();
  set.text("part", "train", "group of the file whose images these are");
  set.texts("classes", {"all"}, "labels of the images that are taken, or all").count(1, 100000);
  entry.options.include(set);
  entry.options.integer("levels", 0, "levels that a pixel may have; 0: one more than the largest in the training part")
      .at_least(0)
      .at_most(most_inputs);
  entry.make = [](const OptionValues&, const OptionValues& values, std::uint64_t, const std::string&,
                  const Task* train) {
    return std::make_unique<ImageTask>(values, dynamic_cast<const ImageTask*>(train));
  };
  return entry;
}

const bool registered = (TaskRegistry::instance().add(images()), true);

}  // namespace
}  // namespace ridgeline

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/data_set.hpp"
#include "io/image_file.hpp"
#include "support/mistake.hpp"
#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

using test::expect_contains;
using test::TemporaryFolder;

using Texts = std::map<std::string, std::string>;

/// `count` images whose levels, in the order of their indices, count up modulo `levels`; image i shows i modulo 3.
Images counting(int count, int rows, int columns, int channels, int levels) {
  Images images;
  images.count = count;
  images.rows = rows;
  images.columns = columns;
  images.channels = channels;
  images.has_channel_extent = channels > 1;
  images.levels.resize(static_cast<std::size_t>(count) * rows * columns * channels);
  for (std::size_t i = 0; i < images.levels.size(); ++i)
    images.levels[i] = static_cast<std::uint16_t>(i % static_cast<std::size_t>(levels));
  images.largest_level = levels - 1;
  for (int i = 0; i < count; ++i) images.labels.push_back(i % 3);
  return images;
}

/// A folder with a file of images: parts train and test.
struct Place {
  explicit Place(const Images& train = counting(7, 2, 3, 1, 5), const Images& test = counting(4, 2, 3, 1, 4)) {
    hdf5::write_atomically(file(), [&](hdf5::File& out) {
      write_images(out, "train", train);
      write_images(out, "test", test);
    });
  }
  std::filesystem::path file() const { return folder / "images.h5"; }

  std::unique_ptr<Task> task(const Texts& data = {}, const Texts& set = {}) const {
    const TaskEntry& entry = TaskRegistry::instance().get("images");
    Texts texts = data;
    texts.emplace("file", file().string());
    const OptionValues values = OptionValues::from(entry.options, texts, "data");
    std::unique_ptr<Task> train = entry.make(values, values, 1, "data/train", nullptr);
    if (set.empty()) return train;
    return entry.make(values, OptionValues::from(entry.set_options.with_defaults(values), set, "eval.id"), 1, "eval",
                      train.get());
  }
  std::string refused(const Texts& data, const Texts& set = {}) const {
    return support::mistake_of([&] { task(data, set); });
  }

  TemporaryFolder folder;
};

struct Sample {
  std::vector<double> inputs, targets, extra;
};

Sample sample_of(const Task& task, std::uint64_t index, Extra extra = Extra::none) {
  const auto tokens = static_cast<std::size_t>(task.tokens());
  Sample sample;
  sample.inputs.resize(tokens * static_cast<std::size_t>(task.channels()));
  sample.targets.resize(tokens * static_cast<std::size_t>(task.targets()));
  sample.extra.resize(tokens * static_cast<std::size_t>(task.extra_channels(extra)));
  std::vector<std::uint8_t> shown(tokens, 9);
  task.make(index, sample.inputs.data(), sample.targets.data(), shown.data());
  if (!sample.extra.empty()) task.make_extra(index, extra, sample.extra.data());
  EXPECT_EQ(shown, std::vector<std::uint8_t>(tokens));
  return sample;
}

TEST(ImageTask, ATokenIsToldThePixelBefore) {
  const Place place;
  const auto task = place.task();
  EXPECT_EQ(task->samples(), 7);
  EXPECT_EQ(task->tokens(), 6);
  EXPECT_EQ(task->channels(), 5);
  EXPECT_EQ(task->targets(), 1);
  EXPECT_EQ(task->outputs(), 5);
  EXPECT_EQ(task->grid().rows, 2);
  EXPECT_EQ(task->grid().columns, 3);
  EXPECT_TRUE(task->is_autoregressive());
  for (const std::uint64_t index : {0U, 3U, 6U}) {
    const Sample sample = sample_of(*task, index);
    for (std::size_t i = 0; i < 6; ++i) {
      EXPECT_EQ(sample.targets[i], static_cast<double>((6 * index + i) % 5));
      for (std::size_t level = 0; level < 5; ++level)
        EXPECT_EQ(sample.inputs[5 * i + level], i > 0 && level == (6 * index + i - 1) % 5 ? 1 : 0) << i;
    }
  }
}

TEST(ImageTask, EveryChannelHasLevelsOfItsOwn) {
  const Place place(counting(5, 2, 2, 3, 4), counting(5, 2, 2, 3, 4));
  const auto task = place.task();
  EXPECT_EQ(task->tokens(), 4);
  EXPECT_EQ(task->channels(), 12);
  EXPECT_EQ(task->targets(), 3);
  EXPECT_EQ(task->outputs(), 12);
  const Sample sample = sample_of(*task, 1);
  for (std::size_t pixel = 0; pixel < 4; ++pixel)
    for (std::size_t channel = 0; channel < 3; ++channel) {
      EXPECT_EQ(sample.targets[3 * pixel + channel], static_cast<double>((12 + 3 * pixel + channel) % 4));
      for (std::size_t level = 0; level < 4; ++level)
        EXPECT_EQ(sample.inputs[12 * pixel + 4 * channel + level],
                  pixel > 0 && level == (12 + 3 * (pixel - 1) + channel) % 4 ? 1 : 0);
    }
}

TEST(ImageTask, ExtraChannelsAreTheClassOrTheImage) {
  const Place place;
  const auto task = place.task();
  EXPECT_EQ(task->extra_channels(Extra::none), 0);
  ASSERT_EQ(task->extra_channels(Extra::class_label), 3);
  ASSERT_EQ(task->extra_channels(Extra::image), 5);
  const Sample of_class = sample_of(*task, 5, Extra::class_label), of_image = sample_of(*task, 5, Extra::image);
  for (std::size_t i = 0; i < 6; ++i) {
    for (std::size_t label = 0; label < 3; ++label) EXPECT_EQ(of_class.extra[3 * i + label], label == 2 ? 1 : 0);
    for (std::size_t level = 0; level < 5; ++level)
      EXPECT_EQ(of_image.extra[5 * i + level], static_cast<double>(level) == of_image.targets[i] ? 1 : 0);
  }
  DataSet<float> set("train", *task, Extra::class_label);
  set.fill(*task, 0);
  EXPECT_EQ(set.extra_channels(), 3);
  Batch<float> batch(set, 2);
  const Kokkos::View<int*, Memory> order("order", 2);
  const auto host_order = Kokkos::create_mirror_view(order);
  host_pointer(host_order)[0] = 4;
  host_pointer(host_order)[1] = 5;
  Kokkos::deep_copy(order, host_order);
  batch.gather(set, order, 0, 2);
  const Kokkos::View<float*, Memory> copy("copy", 2 * 6 * 3);
  Kokkos::deep_copy(copy,
                    Kokkos::View<float*, Memory, Kokkos::MemoryTraits<Kokkos::Unmanaged>>(batch.extra().data(), 36));
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), copy);
  for (std::size_t i = 0; i < 36; ++i) EXPECT_EQ(host_pointer(host)[i], i % 3 == (i < 18 ? 1 : 2) ? 1 : 0) << i;
}

TEST(ImageTask, TakesTheClassesAsked) {
  const Place place;
  const auto task = place.task({{"classes", "2 0"}});
  ASSERT_EQ(task->samples(), 5);  // images 0, 2, 3, 5, 6
  const std::vector<std::uint64_t> which{0, 2, 3, 5, 6};
  for (std::size_t i = 0; i < 5; ++i)
    EXPECT_EQ(sample_of(*task, i).targets[0], static_cast<double>(6 * which[i] % 5)) << i;
  EXPECT_EQ(task->extra_channels(Extra::class_label), 3);  // whatever is chosen
  EXPECT_EQ(sample_of(*task, 1, Extra::class_label).extra[2], 1);
}

TEST(ImageTask, ATestSetHasTheLevelsOfTheTrainingPart) {
  const Place place;
  const auto task = place.task({{"classes", "0 1"}}, {{"part", "test"}, {"classes", "all"}});
  EXPECT_EQ(task->samples(), 4);
  EXPECT_EQ(task->channels(), 5);
  EXPECT_EQ(task->levels(), 5);
  EXPECT_EQ(place.task({{"classes", "0 1"}}, {{"part", "test"}})->samples(), 3);  // the data's classes stay
  EXPECT_EQ(place.task({{"levels", "9"}})->channels(), 9);
}

TEST(ImageTask, OnlyTheLevelsOfWhatATestSetTakesMatter) {
  Images images = counting(4, 2, 3, 1, 4);  // they show 0, 1, 2, 0
  std::fill_n(images.levels.begin() + 6, 6, std::uint16_t{8});
  images.largest_level = 8;
  const Place place(counting(7, 2, 3, 1, 5), images);
  expect_contains(place.refused({}, {{"part", "test"}}), "has levels up to 8 in its part test");
  expect_contains(place.refused({}, {{"part", "test"}, {"classes", "1"}}), "has levels up to 8 in its part test");
  EXPECT_EQ(place.task({}, {{"part", "test"}, {"classes", "0 2"}})->samples(), 3);
}

TEST(ImageTask, TheTrainingPartIsReadOnce) {
  const Place place, other(counting(4, 2, 3, 1, 4));
  const TaskEntry& entry = TaskRegistry::instance().get("images");
  const OptionValues data = OptionValues::from(entry.options, {{"file", place.file().string()}}, "data");
  const OptionValues set = OptionValues::from(entry.set_options, {{"file", other.file().string()}}, "eval.id");
  const std::unique_ptr<Task> train = entry.make(data, data, 1, "data/train", nullptr);
  std::filesystem::remove(place.file());
  const std::unique_ptr<Task> test = entry.make(data, set, 1, "data/eval/id", train.get());
  EXPECT_EQ(test->samples(), 4);
  EXPECT_EQ(test->levels(), 5);
  EXPECT_FALSE(test->is_same_set(*train));
}

TEST(ImageTask, KnowsTheSameImagesAgain) {
  const Place place;
  const auto train = place.task(), same = place.task({}, {{"part", "train"}});
  EXPECT_TRUE(same->is_same_set(*train));
  EXPECT_FALSE(place.task({}, {{"classes", "0 1"}})->is_same_set(*train));
  EXPECT_FALSE(place.task({}, {{"part", "test"}})->is_same_set(*train));
}

TEST(ImageTask, ReadsAFileWithBlanksInItsName) {
  const Place place;
  const std::filesystem::path file = place.folder / "my own  images.h5";
  std::filesystem::copy_file(place.file(), file);
  EXPECT_EQ(place.task({{"file", file.string()}})->samples(), 7);
}

TEST(ImageTask, RefusesLevelsAndClassesThatTheTrainingPartLacks) {
  const Place more_levels(counting(7, 2, 3, 1, 5), counting(4, 2, 3, 1, 6));
  expect_contains(more_levels.refused({}, {{"part", "test"}}), "has levels up to 5 in its part test");
  EXPECT_EQ(more_levels.task({{"levels", "6"}}, {{"part", "test"}})->levels(), 6);
  Images other_labels = counting(4, 2, 3, 1, 4);
  other_labels.labels = {0, 1, 9, 2};
  const Place more_labels(counting(7, 2, 3, 1, 5), other_labels);
  EXPECT_EQ(more_labels.task({}, {{"part", "test"}})->labels().back(), 9);  // only a model that is told classes minds
  const Place colours(counting(7, 2, 3, 1, 5), counting(4, 2, 3, 3, 4));
  expect_contains(colours.refused({}, {{"part", "test"}}), "has images of 3 channels");
  const Place place;
  expect_contains(place.refused({{"levels", "4"}}), "[data] levels = 4 is too few: the images of the part train have");
  expect_contains(place.refused({{"classes", "0 7"}}), "has 7, which no image of the part train shows");
  expect_contains(place.refused({{"classes", "2 0 2"}}), "[data] classes = 2 0 2 has 2 twice; once is enough.");
  expect_contains(place.refused({{"classes", "0 cat"}}), "has cat; it takes all, or labels");
  expect_contains(place.refused({{"classes", "-1"}}), "has -1; it takes all, or labels");
  expect_contains(place.refused({{"part", "valid"}}), "that holds a dataset images; test or train would be.");
}

/// What is said of a file whose part train was written by `write`.
std::string refused(const std::function<void(hdf5::File&)>& write) {
  const Place place;
  hdf5::write_atomically(place.file(), write);
  return place.refused({});
}

TEST(ImageFile, IsRefusedInOneSentence) {
  using File = hdf5::File;
  using Bytes = std::vector<std::uint8_t>;
  const auto labels = [](File& file, std::int64_t count) {
    file.write("train/labels", Bytes(static_cast<std::size_t>(count)), {count});
  };
  expect_contains(refused([](File& file) { file.make_group("train"); }), "no group train that holds a dataset images");
  expect_contains(refused([&](File& file) {
                    file.write("train/images", Bytes(12), {3, 4});
                    labels(file, 3);
                  }),
                  "train/images has shape [3, 4], and images are [n, height, width]");
  expect_contains(refused([&](File& file) {
                    file.write("train/images", Bytes(24), {2, 3, 2, 2, 1});
                    labels(file, 2);
                  }),
                  "has shape [2, 3, 2, 2, 1]");
  expect_contains(refused([&](File& file) {
                    file.write("train/images", Bytes(), {0, 4, 4});
                    labels(file, 0);
                  }),
                  "train/images has no images");
  expect_contains(refused([&](File& file) {
                    file.write("train/images", Bytes(), {3, 0, 4});
                    labels(file, 3);
                  }),
                  "have no pixels");
  expect_contains(refused([&](File& file) {
                    file.write("train/images", std::vector<float>(12), {3, 2, 2});
                    labels(file, 3);
                  }),
                  "train/images does not hold integers");
  expect_contains(refused([&](File& file) {
                    file.write("train/images", std::vector<std::int32_t>{0, 0, 0, 0, 0, -2, 0, 0}, {2, 2, 2});
                    labels(file, 2);
                  }),
                  "image 1 of the dataset train/images has a level of -2");
  expect_contains(refused([&](File& file) {
                    file.write("train/images", std::vector<std::int32_t>{70000, 0, 0, 0}, {1, 2, 2});
                    labels(file, 1);
                  }),
                  "image 0 of the dataset train/images has a level of 70000");
  expect_contains(refused([&](File& file) {
                    file.write("train/images", std::vector<std::int32_t>{5000, 0, 0, 0}, {1, 2, 2});
                    labels(file, 1);
                  }),
                  "makes 5001 inputs of a pixel");
  // More than an int holds: 32768 channels of 65536 levels.
  expect_contains(refused([&](File& file) {
                    std::vector<std::int32_t> levels(4 * 32768);
                    levels.back() = 65535;
                    file.write("train/images", levels, {2, 1, 2, 32768});
                    labels(file, 2);
                  }),
                  "makes 2147483648 inputs of a pixel: 65536 levels in each of its channels, 32768 in all");
  expect_contains(refused([](File& file) {
                    file.write("train/images", Bytes(12), {3, 2, 2});
                  }),
                  "no dataset train/labels");
  expect_contains(refused([&](File& file) {
                    file.write("train/images", Bytes(12), {3, 2, 2});
                    labels(file, 4);
                  }),
                  "train/labels has shape [4], and there are 3 images");
  expect_contains(refused([](File& file) {
                    file.write("train/images", Bytes(12), {3, 2, 2});
                    file.write("train/labels", std::vector<float>(3), {3});
                  }),
                  "train/labels does not hold integers");
  expect_contains(refused([](File& file) {
                    file.write("train/images", Bytes(12), {3, 2, 2});
                    file.write("train/labels", std::vector<std::int32_t>{0, -1, 0}, {3});
                  }),
                  "entry 1 of the dataset train/labels is -1");
}

TEST(ImageFile, OneImageIsASet) {
  const Place place(counting(1, 2, 2, 1, 2), counting(1, 2, 2, 1, 2));
  EXPECT_EQ(place.task()->samples(), 1);
}

TEST(ImageFile, ComesBackAsItWas) {
  const Place place(counting(5, 2, 3, 2, 300), counting(2, 1, 1, 1, 2));
  const Images read = read_images(hdf5::File::open(place.file()), "train", true), written = counting(5, 2, 3, 2, 300);
  EXPECT_EQ(read.levels, written.levels);
  EXPECT_EQ(read.labels, written.labels);
  EXPECT_EQ(read.rows, 2);
  EXPECT_EQ(read.columns, 3);
  EXPECT_EQ(read.channels, 2);
  EXPECT_TRUE(read.has_channel_extent);
  EXPECT_FALSE(read_images(hdf5::File::open(place.file()), "test", true).has_channel_extent);
  EXPECT_EQ(read.largest_level, *std::max_element(read.levels.begin(), read.levels.end()));
}

TEST(ImageFile, TheDigitsThatComeWithTheProgram) {
  const std::filesystem::path file = std::filesystem::path(RIDGELINE_SOURCE_DIR) / "inputs/data/digits.h5";
  const Images train = read_images(hdf5::File::open(file), "train", true),
               test = read_images(hdf5::File::open(file), "test", true);
  EXPECT_EQ(train.count, 1437);
  EXPECT_EQ(test.count, 360);
  EXPECT_EQ(train.largest_level, 16);
  EXPECT_EQ(train.largest_label, 9);
  EXPECT_EQ(train.tokens(), 64);
}

}  // namespace
}  // namespace ridgeline

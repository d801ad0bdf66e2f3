#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "io/results.hpp"
#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

using test::expect_contains;
using test::file_error;
using test::TemporaryFolder;

template <class Scalar>
ResultSet<Scalar> example_set(const std::string& name, std::int64_t samples, std::int64_t tokens) {
  ResultSet<Scalar> set;
  set.name = name;
  set.samples = samples;
  set.tokens = tokens;
  set.channels = 2;
  set.targets = 1;
  set.channel_names = {"x", "y where shown"};
  set.target_names = {"y"};
  const auto points = static_cast<std::size_t>(samples * tokens);
  set.inputs.resize(points * 2);
  std::iota(set.inputs.begin(), set.inputs.end(), Scalar{1} / 3);
  for (auto* values : {&set.truth, &set.predictions, &set.untrained_predictions}) {
    values->assign(points, Scalar(values == &set.truth ? 1.5 : 2.5));
  }
  set.shown.assign(points, 0);
  if (points > 0) {
    set.shown[points - 1] = 1;
  }
  set.trained = {{"mse", 0.1}, {"mse_hidden", 0.2}, {"mse_shown", 0.3}, {"relative_l2", 0.4}};
  set.untrained = {{"mse", 1.1}, {"mse_hidden", 1.2}, {"mse_shown", std::nan("")}, {"relative_l2", 1.4}};
  return set;
}

template <class Scalar>
Results<Scalar> example() {
  Results<Scalar> results;
  results.sets = {example_set<Scalar>("train", 3, 4), example_set<Scalar>("ood x", 2, 1),
                  example_set<Scalar>("a", 0, 5)};
  results.time = {{"train/forward/block 0/attention", 1.5, 10}, {"data", 0.25, 1}};
  results.facts = {{"task", "sine"}, {"host", "laptop"}};
  return results;
}

template <class Scalar>
class ResultsFile : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ResultsFile, Scalars);

TYPED_TEST(ResultsFile, ComesBackAsItWas) {
  const TemporaryFolder folder;
  const Results<TypeParam> written = example<TypeParam>();
  write_results(folder / "results.h5", written);
  const Results<TypeParam> read = read_results<TypeParam>(folder / "results.h5");
  ASSERT_EQ(read.sets.size(), 3U);
  for (std::size_t index = 0; index < 3; ++index) {
    const ResultSet<TypeParam>& expected = written.sets[index];
    const ResultSet<TypeParam>& set = read.sets[index];
    EXPECT_EQ(set.name, expected.name);
    EXPECT_EQ(set.samples, expected.samples);
    EXPECT_EQ(set.tokens, expected.tokens);
    EXPECT_EQ(set.channels, expected.channels);
    EXPECT_EQ(set.targets, expected.targets);
    EXPECT_EQ(set.channel_names, expected.channel_names);
    EXPECT_EQ(set.target_names, expected.target_names);
    EXPECT_EQ(set.inputs, expected.inputs);
    EXPECT_EQ(set.truth, expected.truth);
    EXPECT_EQ(set.predictions, expected.predictions);
    EXPECT_EQ(set.untrained_predictions, expected.untrained_predictions);
    EXPECT_EQ(set.shown, expected.shown);
    EXPECT_EQ(set.trained["relative_l2"], 0.4);
    EXPECT_EQ(set.untrained["mse_hidden"], 1.2);
    EXPECT_TRUE(std::isnan(set.untrained["mse_shown"]));
  }
  EXPECT_EQ(read.facts, written.facts);
  ASSERT_EQ(read.time.size(), 2U);
  EXPECT_EQ(read.time[0].name, "train/forward/block 0/attention");
  EXPECT_EQ(read.time[0].seconds, 1.5);
  EXPECT_EQ(read.time[0].calls, 10);
}

TYPED_TEST(ResultsFile, IsStoredInTheRunsPrecision) {
  const TemporaryFolder folder;
  write_results(folder / "results.h5", example<TypeParam>());
  const hdf5::File file = hdf5::File::open(folder / "results.h5");
  EXPECT_EQ(file.element_type("train/predictions"),
            sizeof(TypeParam) == 4 ? hdf5::ElementType::float32 : hdf5::ElementType::float64);
  EXPECT_EQ(file.shape("train/inputs"), (hdf5::Shape{3, 4, 2}));
  EXPECT_EQ(file.shape("train/shown"), (hdf5::Shape{3, 4}));
  EXPECT_EQ(file.attribute_number("train", "untrained_mse"), 1.1);
}

TEST(Results, ReadsSomeSamples) {
  const TemporaryFolder folder;
  const Results<float> written = example<float>();
  write_results(folder / "results.h5", written);
  const hdf5::File file = hdf5::File::open(folder / "results.h5");
  EXPECT_EQ(read_set_names(file), (std::vector<std::string>{"train", "ood x", "a"}));
  const ResultSet<double> set = read_result_set<double>(file, "train", {2, 0});
  EXPECT_EQ(set.samples, 2);
  EXPECT_EQ(set.inputs.size(), 16U);
  EXPECT_EQ(set.inputs[0], static_cast<double>(written.sets[0].inputs[16]));
  EXPECT_EQ(set.inputs[8], static_cast<double>(written.sets[0].inputs[0]));
  EXPECT_EQ(set.shown, (std::vector<std::uint8_t>{0, 0, 0, 1, 0, 0, 0, 0}));
  EXPECT_TRUE(read_result_set<double>(file, "a", {}).inputs.empty());
  expect_contains(file_error([&] { read_result_set<double>(file, "train", {3}); }), "no rows 3 to 3");
}

TEST(Results, SpreadsSamplesOverTheSet) {
  EXPECT_EQ(spread_samples(1000, 6), (std::vector<std::int64_t>{0, 166, 333, 500, 666, 833}));
  EXPECT_EQ(spread_samples(6, 6), (std::vector<std::int64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(spread_samples(2, 6), (std::vector<std::int64_t>{0, 1}));
  EXPECT_TRUE(spread_samples(0, 6).empty());
}

TEST(Results, MayLackUntrainedPredictionsAndShownPoints) {
  const TemporaryFolder folder;
  Results<float> results = example<float>();
  results.sets[0].untrained_predictions.clear();
  results.sets[0].shown.clear();
  write_results(folder / "results.h5", results);
  const ResultSet<float> set = read_results<float>(folder / "results.h5").sets[0];
  EXPECT_TRUE(set.untrained_predictions.empty());
  EXPECT_EQ(set.shown, std::vector<std::uint8_t>(12, 0));
}

TEST(Results, RefusesWrongShapes) {
  const TemporaryFolder folder;
  Results<float> results = example<float>();
  results.sets[0].predictions.pop_back();
  expect_contains(file_error([&] { write_results(folder / "results.h5", results); }), "train/predictions");
  EXPECT_EQ(folder.size(), 0);

  hdf5::write_atomically(folder / "results.h5", [](hdf5::File& file) {
    file.write("a/inputs", std::vector<float>(12), {2, 3, 2});
    file.write("a/targets", std::vector<float>(6), {2, 3, 1});
    file.write("a/predictions", std::vector<float>(5), {5, 1, 1});
    file.write("b/inputs", std::vector<float>(12), {12});
    file.write("b/targets", std::vector<float>(12), {12});
    write_facts(file, {}, {"a", "b", "c"});
  });
  const hdf5::File file = hdf5::File::open(folder / "results.h5");
  expect_contains(file_error([&] { read_result_set<float>(file, "a"); }), "has shape [5, 1, 1], and [2, 3, 1]");
  expect_contains(file_error([&] { read_result_set<float>(file, "b"); }), "three extents");
  expect_contains(file_error([&] { read_result_set<float>(file, "c"); }), "no dataset \"c/inputs\"");
}

TEST(Results, RefusesOtherFiles) {
  const TemporaryFolder folder;
  hdf5::write_atomically(folder / "other.h5", [](hdf5::File& file) { file.make_group("a"); });
  expect_contains(file_error([&] { read_results<float>(folder / "other.h5"); }), "no attribute \"format\"");
  hdf5::write_atomically(folder / "newer.h5",
                         [](hdf5::File& file) { file.write_attribute("/", "format", std::int64_t{99}); });
  expect_contains(file_error([&] { read_results<float>(folder / "newer.h5"); }), "format 99");
}

TEST(Results, HoldsThousandsOfSets) {
  const TemporaryFolder folder;
  std::vector<std::string> names;
  for (int index = 0; index < 5000; ++index) {
    names.push_back("set_number_" + std::to_string(index));
  }
  hdf5::write_atomically(folder / "results.h5", [&](hdf5::File& file) {
    write_facts(file, {{"task", "sine"}}, names);
  });
  const hdf5::File file = hdf5::File::open(folder / "results.h5");
  EXPECT_EQ(read_set_names(file), names);
  EXPECT_EQ(read_facts(file), (Facts{{"task", "sine"}}));
}

TEST(Results, RefusesNamesThatAreTaken) {
  EXPECT_EQ(why_not_a_set_name("ood_x"), "");
  EXPECT_EQ(why_not_a_set_name("größe 2 & <b>'s"), "");
  for (const char* name : {"", "time", "set_names", ".", "..", "a/b", "a,b", "a\"b", "a\nb"}) {
    EXPECT_NE(why_not_a_set_name(name), "") << name;
  }
  const TemporaryFolder folder;
  Results<float> results = example<float>();
  results.sets[0].name = "time";
  expect_contains(file_error([&] { write_results(folder / "results.h5", results); }), "\"time\": the name is taken");
  results = example<float>();
  results.facts["format"] = "3";
  expect_contains(file_error([&] { write_results(folder / "results.h5", results); }), "\"format\": the name is taken");
}

}  // namespace
}  // namespace ridgeline

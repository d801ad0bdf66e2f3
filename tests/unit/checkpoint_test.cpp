#include "train/checkpoint.hpp"

#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "files_support.hpp"
#include "io/hdf5.hpp"
#include "support/subject.hpp"

namespace ridgeline {
namespace {

using test::expect_contains;
using test::file_error;
using test::TemporaryFolder;

/// Two parameters with something in them.
template <class Scalar>
struct Contents {
  Contents() : adam((declare(), parameters.length())) {
    parameters.set(*parameters.find("a.weight"), {1, 2, 3, 4, 5, 6});
    parameters.set(*parameters.find("b"), {-0.1});
  }
  std::size_t declare() {
    parameters.declare(weight, "a.weight", {2, 3}, Initial::constant(0));
    parameters.declare(bias, "b", {1}, Initial::constant(0));
    parameters.allocate();
    return parameters.length();
  }
  std::vector<double> get(const std::string& name) const { return parameters.get(*parameters.find(name)); }

  Parameter<Scalar> weight, bias;
  Parameters<Scalar> parameters;
  Adam<Scalar> adam;
};

/// In the second step of the second epoch of three steps.
TrainingState state_at(std::int64_t step) {
  TrainingState state;
  state.step = step;
  state.epoch = 2;
  state.seed = 7;
  state.threads = 3;
  state.resumed = 1;
  state.seconds = 0.1;
  state.progress = {0.25, step - 3, 48, 0.125};
  state.history.sets = {"train", "id"};
  state.history.rows = {{1, 3, 1.5, 1e-4, 2, 100, {std::nullopt, 0.5}}};
  state.deck = "[run]\nseed = 7\n";
  return state;
}

template <class Scalar>
std::filesystem::path write(const TemporaryFolder& folder, const Contents<Scalar>& contents,
                            const TrainingState& state = state_at(5)) {
  write_checkpoint(folder / "checkpoint.h5", contents.parameters, contents.adam, state);
  return folder / "checkpoint.h5";
}

template <class Scalar>
void expect_round_trip() {
  const TemporaryFolder folder;
  const Contents<Scalar> written;
  Contents<Scalar> read;
  read.parameters.set(*read.parameters.find("a.weight"), std::vector<double>(6));
  read_parameters(write(folder, written), read.parameters);
  EXPECT_EQ(read.get("a.weight"), written.get("a.weight"));
  EXPECT_EQ(read.get("b"), written.get("b"));
}

TEST(Checkpoint, GivesBackTheSameBits) {
  expect_round_trip<float>();
  expect_round_trip<double>();
}

TEST(Checkpoint, HoldsWhatARunContinuesFrom) {
  const TemporaryFolder folder;
  Contents<float> contents;
  contents.adam.step(contents.parameters.values(),
                     support::to_device<float>(std::vector<double>(contents.parameters.length(), 1.0)), 1, 0.1);
  const hdf5::File file = hdf5::File::open(write(folder, contents));
  EXPECT_EQ(file.attribute_integer("/", "format"), 1);
  EXPECT_EQ(file.attribute_integer("/", "step"), 5);
  EXPECT_EQ(file.attribute_integer("/", "epoch"), 2);
  EXPECT_EQ(file.attribute_integer("/", "seed"), 7);
  EXPECT_EQ(file.attribute_string("/", "precision"), "single");
  EXPECT_EQ(file.attribute_integer("/", "threads"), 3);
  EXPECT_EQ(file.read<double>("history/loss"), std::vector<double>{1.5});
  EXPECT_EQ(file.shape("history/set_mse"), (hdf5::Shape{1, 2}));
  EXPECT_EQ(file.attribute_string("/", "deck"), "[run]\nseed = 7\n");
  EXPECT_EQ(file.shape("parameters/a.weight"), (hdf5::Shape{2, 3}));
  EXPECT_EQ(file.element_type("parameters/a.weight"), hdf5::ElementType::float32);
  EXPECT_EQ(file.read<float>("optimizer/first_moment/a.weight", {2, 3}), std::vector<float>(6, 0.1F));
  EXPECT_EQ(file.read<float>("optimizer/second_moment/b", {1}), std::vector<float>(1, 0.001F));
}

TEST(Checkpoint, KeepsThePreviousOne) {
  const TemporaryFolder folder;
  const Contents<float> contents;
  write(folder, contents, state_at(5));
  EXPECT_EQ(folder.size(), 1);
  write(folder, contents, state_at(6));
  EXPECT_EQ(folder.size(), 2);
  EXPECT_EQ(hdf5::File::open(folder / "checkpoint.h5").attribute_integer("/", "step"), 6);
  EXPECT_EQ(hdf5::File::open(folder / "checkpoint.previous.h5").attribute_integer("/", "step"), 5);
}

template <class Scalar>
void expect_restored() {
  const TemporaryFolder folder;
  Contents<Scalar> written, read;
  written.adam.step(written.parameters.values(),
                    support::to_device<Scalar>(std::vector<double>(written.parameters.length(), 0.3)), 1, 0.1);
  const Checkpoint<Scalar> checkpoint = read_checkpoint(write(folder, written), read.parameters);
  restore(checkpoint, read.parameters, read.adam);
  EXPECT_EQ(read.get("a.weight"), written.get("a.weight"));
  for (const char* name : {"a.weight", "b"}) {
    const auto& entry = *read.parameters.find(name);
    for (const auto& [one, other] : {std::pair{read.adam.first_moment(), written.adam.first_moment()},
                                     std::pair{read.adam.second_moment(), written.adam.second_moment()}}) {
      const std::vector<double> found = support::to_host<Scalar>(one), expected = support::to_host<Scalar>(other);
      for (std::size_t i = entry.offset; i < entry.offset + entry.size; ++i) {
        EXPECT_NE(found[i], 0);
        EXPECT_EQ(found[i], expected[i]);
      }
    }
  }
}

TEST(Checkpoint, RestoresParametersAndMoments) {
  expect_restored<float>();
  expect_restored<double>();
}

TEST(Checkpoint, GivesBackTheWholeState) {
  const TemporaryFolder folder;
  const Contents<float> contents;
  const TrainingState state = read_checkpoint(write(folder, contents), contents.parameters).state;
  EXPECT_EQ(state.step, 5);
  EXPECT_EQ(state.epoch, 2);
  EXPECT_EQ(state.seed, 7U);
  EXPECT_TRUE(state.single_precision);
  EXPECT_EQ(state.threads, 3);
  EXPECT_EQ(state.resumed, 1);
  EXPECT_EQ(state.seconds, 0.1);
  EXPECT_EQ(state.progress.loss, 0.25);
  EXPECT_EQ(state.progress.steps, 2);
  EXPECT_EQ(state.progress.tokens, 48);
  EXPECT_EQ(state.progress.seconds, 0.125);
  EXPECT_EQ(state.deck, "[run]\nseed = 7\n");
  EXPECT_EQ(state.history.sets, (std::vector<std::string>{"train", "id"}));
  ASSERT_EQ(state.history.rows.size(), 1U);
  const HistoryRow& row = state.history.rows[0];
  EXPECT_EQ(row.epoch, 1);
  EXPECT_EQ(row.step, 3);
  EXPECT_EQ(row.loss, 1.5);
  EXPECT_EQ(row.learning_rate, 1e-4);
  EXPECT_EQ(row.seconds, 2);
  EXPECT_EQ(row.tokens_per_second, 100);
  EXPECT_EQ(row.set_values, (std::vector<std::optional<double>>{std::nullopt, 0.5}));
}

TEST(Checkpoint, BeforeTheFirstEpochHasNoHistory) {
  const TemporaryFolder folder;
  const Contents<double> contents;
  TrainingState state;
  state.history.sets = {"train"};
  const TrainingState read = read_checkpoint(write(folder, contents, state), contents.parameters).state;
  EXPECT_EQ(read.step, 0);
  EXPECT_TRUE(read.history.rows.empty());
  EXPECT_EQ(read.history.sets, std::vector<std::string>{"train"});
}

TEST(Checkpoint, OfTwoMomentsIsRefused) {
  const TemporaryFolder folder;
  const Contents<float> contents;
  std::vector<TrainingState> broken(6, state_at(5));
  broken[0].step = -1;
  broken[1].history.rows[0].step = 6;   // beyond the checkpoint
  broken[2].progress.steps = 1;         // a step is missing between history and checkpoint
  broken[3].history.rows[0].epoch = 2;  // the first epoch is missing
  broken[4].history.rows.push_back(broken[4].history.rows[0]);
  broken[5].progress.steps = 9;  // more than the run has
  for (const TrainingState& state : broken) {
    const std::filesystem::path path = write(folder, contents, state);
    expect_contains(file_error([&] { read_checkpoint(path, contents.parameters); }), "checkpoint.h5");
  }
}

TEST(Checkpoint, IsLookedAtBeforeItsArraysAre) {
  const TemporaryFolder folder;
  Contents<float> contents;
  const std::filesystem::path path = write(folder, contents);
  std::string deck;
  read_parameters(path, contents.parameters, [&](const CheckpointOrigin& origin) {
    EXPECT_TRUE(origin.is_sealed);
    deck = origin.deck;
  });
  EXPECT_EQ(deck, "[run]\nseed = 7\n");
  const auto refuse = [](const CheckpointOrigin&) { throw Error(Exit::mistake, "not this one."); };
  EXPECT_THROW(read_parameters(path, contents.parameters, refuse), Error);
}

TEST(Checkpoint, OfTheOtherPrecisionIsRounded) {
  const TemporaryFolder folder;
  Contents<double> written;
  written.parameters.set(*written.parameters.find("b"), {0.1});
  Contents<float> read;
  read_parameters(write(folder, written), read.parameters);
  EXPECT_EQ(read.get("b"), std::vector<double>{static_cast<double>(0.1F)});
}

TEST(Checkpoint, BeyondThePrecisionOfTheModelIsRefused) {
  const TemporaryFolder folder;
  Contents<double> written;
  written.parameters.set(*written.parameters.find("b"), {1e300});
  Contents<float> read;
  const std::filesystem::path path = write(folder, written);
  expect_contains(file_error([&] { read_parameters(path, read.parameters); }), "parameters/b");
}

TEST(Checkpoint, WithANaNIsRefused) {
  const TemporaryFolder folder;
  Contents<double> written;
  written.parameters.set(*written.parameters.find("a.weight"),
                         {1, 2, std::numeric_limits<double>::quiet_NaN(), 4, 5, 6});
  Contents<double> read;
  const std::filesystem::path path = write(folder, written);
  const std::string sentence = file_error([&] { read_parameters(path, read.parameters); });
  expect_contains(sentence, "a.weight");
  expect_contains(sentence, path.string());
}

TEST(Checkpoint, OfANameThatIsNoTextIsRefusedInWords) {
  const TemporaryFolder folder;
  Contents<float> contents;
  const std::filesystem::path path = folder / "checkpoint.h5";
  hdf5::write_atomically(path, [](hdf5::File& file) {
    file.write("parameters/\x1b\xff" + std::string(5000, 'x'), std::vector<float>{1}, {1});
  });
  const std::string sentence = file_error([&] { read_parameters(path, contents.parameters); });
  expect_contains(sentence, "no parameter ??xxx");
  EXPECT_LT(sentence.size(), 1000U);
}

TEST(Checkpoint, IntoAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  const Contents<float> contents;
  expect_contains(
      file_error([&] { write_checkpoint(folder / "no" / "checkpoint.h5", contents.parameters, contents.adam, {}); }),
      "checkpoint.h5");
}

}  // namespace
}  // namespace ridgeline

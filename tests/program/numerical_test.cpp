// Runs that diverge or whose solve breaks down: status 3, a sentence that says where, the last good checkpoint kept.
#include <cmath>

#include "io/hdf5.hpp"
#include "io/history.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_contains;

std::string expect_breakdown(const Place& place, const std::vector<std::string>& settings) {
  std::string sentence = expect_sentence(place.run(with_settings({"run", "tiny.ini", "-o", "out"}, settings)), 3);
  const fs::path run = place / "out";
  EXPECT_EQ(files_below(run).front(), "checkpoint.h5");
  EXPECT_FALSE(fs::exists(run / "metrics.json"));
  EXPECT_FALSE(fs::exists(run / "results.h5"));
  expect_contains(content_of(run / "log.txt"), "failed: " + lines_of(sentence).at(0));
  for (const auto& [name, array] : read_arrays(run / "checkpoint.h5", "parameters"))
    for (const double value : array.values) EXPECT_TRUE(std::isfinite(value)) << name;
  // The history ends where the checkpoint does.
  const History history = History::read(run / "history.csv");
  EXPECT_EQ(hdf5::File::open(run / "checkpoint.h5").attribute_integer("/", "step"),
            history.rows.empty() ? 0 : history.rows.back().step);
  return sentence;
}

TEST(Numerical, LearningRateThatDiverges) {
  for (const char* rate : {"1e6", "1e30", "1e300"}) {
    for (const char* clip : {"0", "1"}) {
      const Place place;
      const std::string sentence = expect_breakdown(
          place,
          {std::string("train.learning_rate=") + rate, std::string("train.gradient_clip=") + clip, "train.epochs=20"});
      expect_contains(sentence, "step ");
      expect_contains(sentence, "checkpoint.h5");
      expect_success(place.run({"eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5"}));
    }
  }
}

TEST(Numerical, ADivergenceInTheLastStepOfAnEpochIsNotSaved) {
  // An epoch of one step: what breaks in its update shows in the next step's loss only.
  const Place place;
  expect_breakdown(place, {"train.learning_rate=1e300", "train.batch=10", "train.epochs=5"});
  expect_success(place.run({"eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5"}));
}

TEST(Numerical, ADivergenceInTheLastStepOfTheRunIsNoSuccess) {
  const Place place;
  expect_breakdown(place, {"train.learning_rate=1e300", "train.batch=10", "train.epochs=1"});
}

TEST(Numerical, SolveThatBreaksDownSaysWhereAndWhatToTry) {
  const Place place;
  // More basis functions than a grid of 12 points can tell apart, and no ridge to speak of.
  const std::string sentence = expect_sentence(
      place.run(with_settings({"run", "tiny.ini", "-o", "out"},
                              {"attention.functional.basis=8", "attention.functional.ridge=1e-300", "data.context=0",
                               "model.width=16", "data.x=0 2 1", "eval.far.x=0 3 1"})),
      3);
  for (const char* part : {"blocks.0.attention", "sample ", "head ", "pivot", "larger `ridge`"})
    expect_contains(sentence, part);
}

TEST(Numerical, DataThatTheModelCannotStandAreNamed) {
  // Within single precision, their squares are not.
  const Place place;
  const std::string sentence =
      expect_sentence(place.run(with_settings({"run", "tiny.ini", "-o", "out"}, {"data.amplitude=1e37 1e38"})), 3);
  expect_contains(sentence, "train");
}

}  // namespace
}  // namespace ridgeline::program

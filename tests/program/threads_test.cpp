// One deck on one and on two threads.
#include <cmath>

#include "io/history.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;

fs::path run_sine(const Place& place, const std::string& threads, const std::vector<std::string>& settings) {
  const std::string deck = std::string(RIDGELINE_SOURCE_DIR) + "/inputs/sine.ini";
  Surroundings surroundings;
  surroundings.environment = {{"OMP_NUM_THREADS", threads}};
  expect_success(place.run(with_settings({"run", deck, "-o", threads, "--quiet"}, settings), surroundings));
  return place / threads;
}

TEST(Threads, DataAndInitialParametersAreTheSameBits) {
  const Place place;
  const std::vector<std::string> settings = {"data.functions=37", "train.epochs=0"};
  const fs::path one = run_sine(place, "1", settings), two = run_sine(place, "2", settings);
  EXPECT_EQ(read_arrays(one / "checkpoint.h5", "parameters"), read_arrays(two / "checkpoint.h5", "parameters"));
  for (const char* set : {"train", "id", "ood_amplitude", "ood_x"}) {
    const SetArrays first = read_set(one / "results.h5", set), second = read_set(two / "results.h5", set);
    EXPECT_EQ(first.inputs, second.inputs) << set;
    EXPECT_EQ(first.targets, second.targets) << set;
    EXPECT_EQ(first.shown, second.shown) << set;
  }
}

TEST(Threads, LossesOfTwentyStepsAreNearlyTheSame) {
  const Place place;
  // A step an epoch, each with new functions: the history holds the loss of every step.
  const std::vector<std::string> settings = {"data.functions=8", "data.resample=yes", "train.steps=20",
                                             "train.eval_every=0"};
  const History one = History::read(run_sine(place, "1", settings) / "history.csv"),
                two = History::read(run_sine(place, "2", settings) / "history.csv");
  ASSERT_EQ(one.rows.size(), 20U);
  ASSERT_EQ(two.rows.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_NEAR(two.rows[i].loss, one.rows[i].loss, 1e-5 * std::abs(one.rows[i].loss)) << "step " << i + 1;
  EXPECT_NE(one.rows[0].loss, one.rows[1].loss);
}

}  // namespace
}  // namespace ridgeline::program

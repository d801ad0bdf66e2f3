#include "driver/session.hpp"

#include <gtest/gtest.h>

#include "files_support.hpp"

namespace ridgeline {
namespace {

constexpr const char* deck =
    "[data]\nfunctions = 9\nx = -2 2 0.5\ncontext = 2\n[model]\nwidth = 8\nblocks = 1\n[encoder.mlp]\nlayers = 1\n"
    "[attention.functional]\nheads = 2\nbasis = 3\n[ffn.mlp]\nhidden = 16\n[train]\nbatch = 4\nepochs = 2\n[eval.id]\n";

Experiment experiment_of(const std::string& content, const std::vector<std::string>& settings = {}) {
  std::vector<Override> overrides;
  for (const std::string& setting : settings) overrides.push_back(Override::parse(setting));
  return read_experiment(Deck::parse(content, "some/trial.ini"), overrides);
}

TEST(Experiment, IsWhatTheDeckSays) {
  const Experiment experiment = experiment_of(deck, {"run.seed=5", "train.schedule=one_cycle"});
  EXPECT_EQ(experiment.name, "trial");
  EXPECT_EQ(experiment.seed, 5U);
  EXPECT_TRUE(experiment.single_precision);
  ASSERT_EQ(experiment.sets.size(), 2U);
  EXPECT_EQ(experiment.sets[0].name, "train");
  EXPECT_EQ(experiment.sets[1].name, "id");
  EXPECT_EQ(experiment.sets[1].task->tokens(), 8);
  EXPECT_EQ(experiment.training.batch, 4);
  EXPECT_EQ(experiment.training.steps, 6);
  EXPECT_EQ(experiment.epochs, 2);
  EXPECT_EQ(experiment.training.schedule, Schedule::one_cycle);
  EXPECT_EQ(experiment.model.width, 8);
  EXPECT_EQ(experiment.model.attention.size(), 1U);
}

TEST(Experiment, ResolvedDeckIsAFixedPoint) {
  const Experiment once = experiment_of(deck, {"eval.far.x=0 9 1", "data.amplitude=0.3 1"});
  const Experiment twice = experiment_of(once.resolved);
  EXPECT_EQ(twice.resolved, once.resolved);
}

TEST(Experiment, StepsGiveTheEpochs) {
  EXPECT_EQ(experiment_of(deck, {"train.steps=7"}).epochs, 3);
  EXPECT_EQ(experiment_of(deck, {"train.steps=6"}).epochs, 2);
  EXPECT_EQ(experiment_of(deck, {"train.steps=0"}).epochs, 0);
}

TEST(Session, EvaluatesWithTheParametersAsTheyAre) {
  const Experiment experiment = experiment_of(deck);
  Session<float> session(experiment);
  const std::vector<Metrics> before = session.evaluate();
  ASSERT_EQ(before.size(), 2U);
  session.evaluate(Session<float>::As::untrained);
  while (!session.trainer().finished()) session.trainer().step();
  EXPECT_NE(session.evaluate()[0]["mse"], before[0]["mse"]);
  session.evaluate(Session<float>::As::trained);
  const std::vector<SetMetrics> kept = session.metrics();
  ASSERT_EQ(kept.size(), 2U);
  EXPECT_EQ(kept[1].set, "id");
  EXPECT_EQ(kept[0].untrained["mse"], before[0]["mse"]);
  EXPECT_EQ(kept[1].untrained["relative_l2"], before[1]["relative_l2"]);
  EXPECT_EQ(kept[0].trained["mse"], session.evaluate()[0]["mse"]);
}

TEST(Session, ReportsOnTheFirstEpochsSamplesWhereEveryEpochHasNewOnes) {
  const Experiment experiment = experiment_of(deck, {"data.resample=yes", "train.learning_rate=1e-300"});
  Session<double> session(experiment);
  const double before = session.evaluate()[0]["mse"];
  while (!session.trainer().finished()) session.trainer().step();
  EXPECT_EQ(session.evaluate()[0]["mse"], before);
}

TEST(Session, MoreMemoryThanThereIsIsAMistakeWithBothFigures) {
  MemoryNeed need;
  need.data = 1e18;
  try {
    check_memory(need);
    if (host_reads_memory) FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    test::expect_contains(error.what(), "needs 9.31e+08 GiB");
    test::expect_contains(error.what(), "GiB are free");
  }
  check_memory({});
}

}  // namespace
}  // namespace ridgeline

#include "train/trainer.hpp"

#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "core/tools.hpp"
#include "support/subject.hpp"
#include "train/evaluate.hpp"

namespace ridgeline {
namespace {

/// A small model on the sine task, and what trains it.
struct Training {
  explicit Training(const TrainingPlan& training, const std::map<std::string, std::string>& data = {})
      : plan(training) {
    std::map<std::string, std::string> texts = {{"functions", "10"}, {"x", "-3 3 0.5"}, {"context", "3"}};
    for (const auto& [key, value] : data) texts[key] = value;
    const TaskEntry& entry = TaskRegistry::instance().get("sine");
    const OptionValues values = OptionValues::from(entry.options, texts, "data");
    task = entry.make(values, values, 1, "data/train", nullptr);
    model = std::make_unique<Model<double>>(model_plan());
    model->allocate();
    model->parameters().initialise(1);
    set = std::make_unique<DataSet<double>>("train", *task);
    set->fill(*task, 0);
    trainer = std::make_unique<Trainer<double>>(*model, *set, *task, plan);
    evaluator = std::make_unique<Evaluator<double>>(std::vector<const DataSet<double>*>{set.get()}, *task, 48);
    std::vector<Shape> shapes = trainer->shapes();
    for (const Shape& shape : evaluator->shapes(*set)) shapes.push_back(shape);
    model->prepare(shapes);
  }

  ModelPlan model_plan() const {
    const auto choice = [](const char* kind, const char* name, const std::map<std::string, std::string>& texts) {
      return LayerChoice{name, support::option_values({kind, name, texts})};
    };
    ModelPlan made;
    made.inputs = task->channels();
    made.targets = task->targets();
    made.width = 8;
    made.encoder = choice("encoder", "mlp", {{"layers", "1"}});
    made.attention = {choice("attention", "functional", {{"heads", "2"}, {"basis", "3"}})};
    made.ffn = choice("ffn", "mlp", {{"hidden", "16"}});
    return made;
  }

  std::vector<double> parameters() const { return support::to_host<double>(model->parameters().values()); }

  TrainingPlan plan;
  std::unique_ptr<Task> task;
  std::unique_ptr<Model<double>> model;
  std::unique_ptr<DataSet<double>> set;
  std::unique_ptr<Trainer<double>> trainer;
  std::unique_ptr<Evaluator<double>> evaluator;
};

TrainingPlan plan_of(int batch, std::int64_t steps) {
  TrainingPlan plan;
  plan.seed = 1;
  plan.batch = batch;
  plan.steps = steps;
  plan.learning_rate = 1e-2;
  return plan;
}

TEST(Trainer, CountsStepsAndEpochs) {
  Training training(plan_of(4, 7));
  EXPECT_EQ(training.trainer->epoch(), 0);
  EXPECT_EQ(training.trainer->last_learning_rate(), 0);
  const std::vector<int> tokens = {48, 48, 24, 48, 48, 24, 48};
  for (std::int64_t step = 1; step <= 7; ++step) {
    EXPECT_FALSE(training.trainer->finished());
    training.trainer->step();
    EXPECT_EQ(training.trainer->steps_taken(), step);
    EXPECT_EQ(training.trainer->epoch(), (step + 2) / 3);
    EXPECT_EQ(training.trainer->at_epoch_end(), step % 3 == 0 || step == 7);
    EXPECT_EQ(training.trainer->last_tokens(), tokens[static_cast<std::size_t>(step) - 1]);
    EXPECT_EQ(training.trainer->last_learning_rate(), 1e-2);
  }
  EXPECT_TRUE(training.trainer->finished());
}

TEST(Trainer, StepsPerEpoch) {
  EXPECT_EQ(steps_per_epoch(10, 4), 3);
  EXPECT_EQ(steps_per_epoch(8, 4), 2);
  EXPECT_EQ(steps_per_epoch(1, 4), 1);
  EXPECT_EQ(steps_per_epoch(1000, 8), 125);
}

TEST(Trainer, Learns) {
  Training training(plan_of(10, 300));
  const double first = training.trainer->step();
  double last = 0;
  while (!training.trainer->finished()) last = training.trainer->step();
  EXPECT_LT(last, 0.3 * first);
}

TEST(Trainer, FirstLossIsTheEvaluationsError) {
  Training training(plan_of(10, 1));
  const double before = training.evaluator->evaluate(*training.model, *training.set)["mse"];
  EXPECT_NEAR(training.trainer->step(), before, 1e-12 * before);
}

TEST(Trainer, HiddenLossLeavesOutWhatIsShown) {
  TrainingPlan plan = plan_of(10, 1);
  plan.hidden_only = true;
  Training training(plan);
  const double before = training.evaluator->evaluate(*training.model, *training.set)["mse_hidden"];
  EXPECT_NEAR(training.trainer->step(), before, 1e-12 * before);
}

TEST(Trainer, AnEpochShowsEverySampleOnce) {
  // With a rate that changes nothing the losses of an epoch's batches add up to the set's error.
  for (const int batch : {1, 3, 4, 10}) {
    TrainingPlan plan = plan_of(batch, 100);
    plan.learning_rate = 1e-300;
    Training training(plan);
    const double mse = training.evaluator->evaluate(*training.model, *training.set)["mse"];
    double sum = 0;
    do {
      const double loss = training.trainer->step();
      sum += loss * static_cast<double>(training.trainer->last_tokens());
    } while (!training.trainer->at_epoch_end());
    EXPECT_NEAR(sum / 120, mse, 1e-12 * mse) << "batch " << batch;
  }
}

TEST(Trainer, ResampleTakesTheNextSamplesEveryEpoch) {
  TrainingPlan plan = plan_of(10, 3);
  plan.resample = true;
  plan.learning_rate = 1e-300;
  Training training(plan);
  for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
    const double loss = training.trainer->step();
    DataSet<double> expected("train", *training.task);
    expected.fill(*training.task, epoch * 10);
    const double mse = training.evaluator->evaluate(*training.model, expected)["mse"];
    EXPECT_NEAR(loss, mse, 1e-12 * mse) << "epoch " << epoch;
  }
}

TEST(Trainer, ContinuesFromAStepAsIfItHadTakenThem) {
  // The same parameters and moments as after four steps: the next ones are the same bits.
  Training whole(plan_of(4, 9)), part(plan_of(4, 9));
  for (int i = 0; i < 4; ++i) whole.trainer->step();
  Kokkos::deep_copy(part.model->parameters().values(), whole.model->parameters().values());
  Kokkos::deep_copy(part.trainer->optimiser().first_moment(), whole.trainer->optimiser().first_moment());
  Kokkos::deep_copy(part.trainer->optimiser().second_moment(), whole.trainer->optimiser().second_moment());
  part.trainer->continue_from(4);
  while (!whole.trainer->finished()) EXPECT_EQ(whole.trainer->step(), part.trainer->step());
  EXPECT_TRUE(part.trainer->finished());
  EXPECT_EQ(whole.parameters(), part.parameters());
}

TEST(Trainer, EvaluationBetweenStepsChangesNothing) {
  Training alone(plan_of(4, 6)), watched(plan_of(4, 6));
  while (!alone.trainer->finished()) {
    watched.evaluator->evaluate(*watched.model, *watched.set);
    EXPECT_EQ(alone.trainer->step(), watched.trainer->step());
  }
  EXPECT_EQ(alone.parameters(), watched.parameters());
}

std::string failure_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::numerical);
    return error.what();
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

TEST(Trainer, ParametersThatAreNotFiniteAreNoticed) {
  Training training(plan_of(10, 5));
  training.trainer->step();
  training.trainer->check_parameters();
  const auto* entry = training.model->parameters().find("head.bias");
  training.model->parameters().set(*entry, {std::nan("")});
  const std::string sentence = failure_of([&] { training.trainer->check_parameters(); });
  EXPECT_NE(sentence.find("step 1 (epoch 1)"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("head.bias"), std::string::npos) << sentence;
  EXPECT_NE(failure_of([&] { training.trainer->step(); }).find("step 2 (epoch 2)"), std::string::npos);
}

TEST(Evaluator, RefusesAnErrorThatIsNotFinite) {
  Training training(plan_of(10, 5));
  const auto* entry = training.model->parameters().find("head.bias");
  training.model->parameters().set(*entry, {std::numeric_limits<double>::infinity()});
  const std::string sentence = failure_of([&] { training.evaluator->evaluate(*training.model, *training.set); });
  EXPECT_NE(sentence.find("set train"), std::string::npos) << sentence;
}

TEST(Evaluator, SameFiguresInAnyBatches) {
  Training training(plan_of(4, 1));
  const Metrics expected = training.evaluator->evaluate(*training.model, *training.set);
  std::vector<double> all;
  for (const int rows : {1000, 1, 12, 36}) {
    Evaluator<double> other({training.set.get()}, *training.task, rows);
    training.model->prepare(other.shapes(*training.set));
    std::vector<double> predictions;
    const Metrics metrics = other.evaluate(*training.model, *training.set, predictions);
    EXPECT_NEAR(metrics["mse"], expected["mse"], 1e-12 * expected["mse"]) << rows;
    EXPECT_NEAR(metrics["mse_hidden"], expected["mse_hidden"], 1e-12 * expected["mse_hidden"]) << rows;
    EXPECT_NEAR(metrics["relative_l2"], expected["relative_l2"], 1e-12 * expected["relative_l2"]) << rows;
    ASSERT_EQ(predictions.size(), 120U);
    if (all.empty()) all = predictions;
    for (std::size_t i = 0; i < 120; ++i) EXPECT_NEAR(predictions[i], all[i], 1e-12) << rows << " rows, " << i;
  }
}

/// Bytes of predictions that Kokkos allocates while it lives.
class PredictionBytes final : public ToolsListener {
 public:
  void allocate(const char* name, std::uint64_t bytes) override {
    if (std::string(name) == "ridgeline::evaluation/predictions") bytes_ += bytes;
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  std::uint64_t bytes_ = 0;
};

TEST(Evaluator, HoldsABatchOfPredictions) {
  const Training training(plan_of(4, 1));
  const auto bytes_with = [&](int rows) {
    const PredictionBytes listener;
    const Evaluator<double> evaluator({training.set.get()}, *training.task, rows);
    return listener.bytes();
  };
  const std::uint64_t sample = 12 * sizeof(double);
  EXPECT_EQ(bytes_with(36) - bytes_with(12), 2 * sample);
  EXPECT_EQ(bytes_with(1000) - bytes_with(12), 9 * sample);  // ten are all that there are
}

}  // namespace
}  // namespace ridgeline

// What the keys of a deck do to a run.
#include <cmath>

#include "io/history.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;

History history_of(const fs::path& run) { return History::read(run / "history.csv"); }

Array parameter(const fs::path& run, const std::string& name = "head.weight") {
  return read_arrays(run / "checkpoint.h5", "parameters").at(name);
}

TEST(Variants, StepsInsteadOfEpochs) {
  const Place place;
  const History history = history_of(place.train("out", {"train.steps=5"}));
  ASSERT_EQ(history.rows.size(), 2U);
  EXPECT_EQ(history.rows[0].step, 3);
  EXPECT_EQ(history.rows[1].step, 5);
  EXPECT_TRUE(history.rows[1].set_values[0].has_value());
}

TEST(Variants, StepsStopInTheMiddleOfTheSameRun) {
  const Place place;
  const fs::path whole = place.train("whole"), by_steps = place.train("by_steps", {"train.steps=6"});
  EXPECT_EQ(content_of(whole / "metrics.json"), content_of(by_steps / "metrics.json"));
}

TEST(Variants, EvalEveryZeroEvaluatesAtTheEndOnly) {
  const Place place;
  const History history = history_of(place.train("out", {"train.epochs=4", "train.eval_every=0"}));
  for (const HistoryRow& row : history.rows) EXPECT_EQ(row.set_values[0].has_value(), row.epoch == 4);
}

TEST(Variants, EvaluationDoesNotChangeTraining) {
  const Place place;
  const fs::path rarely = place.train("rarely", {"train.epochs=4", "train.eval_every=0"}),
                 often = place.train("often", {"train.epochs=4", "train.eval_every=1"});
  EXPECT_EQ(parameter(rarely), parameter(often));
}

TEST(Variants, NoEpochsEvaluateTheUntrainedModel) {
  const Place place;
  const fs::path run = place.train("out", {"train.epochs=0"});
  EXPECT_EQ(history_of(run).rows.size(), 0U);
  const AllFigures metrics = read_metrics(run / "metrics.json");
  EXPECT_EQ(metrics.at("trained"), metrics.at("untrained"));
  EXPECT_TRUE(fs::exists(run / "report.html"));
}

TEST(Variants, LastBatchMayBeSmaller) {
  const Place place;
  for (const int batch : {1, 3, 7, 9}) {
    const History history = history_of(
        place.train("out" + std::to_string(batch), {"train.batch=" + std::to_string(batch), "train.epochs=1"}));
    EXPECT_EQ(history.rows[0].step, (10 + batch - 1) / batch);
  }
}

TEST(Variants, BatchLargerThanTheSetIsTheSet) {
  const Place place;
  const fs::path large = place.train("large", {"train.batch=1000000000000"}),
                 all = place.train("all", {"train.batch=10"});
  EXPECT_EQ(history_of(large).rows[0].step, 1);
  EXPECT_EQ(parameter(large), parameter(all));
}

TEST(Variants, NothingShown) {
  const Place place;
  const fs::path run = place.train("out", {"data.context=0"});
  const SetArrays set = read_set(run / "results.h5", "train");
  for (std::size_t k = 0; k < set.shown.values.size(); ++k) {
    EXPECT_EQ(set.shown.values[k], 0);
    EXPECT_EQ(set.inputs.values[2 * k + 1], 0);
  }
  const Figures figures = read_metrics(run / "metrics.json").at("trained").at("train");
  EXPECT_FALSE(figures.at("mse_shown").has_value());
  EXPECT_EQ(figures.at("mse"), figures.at("mse_hidden"));
}

TEST(Variants, EverythingShown) {
  const Place place;
  const Figures figures =
      read_metrics(place.train("out", {"data.context=12"}) / "metrics.json").at("trained").at("train");
  EXPECT_FALSE(figures.at("mse_hidden").has_value());
  EXPECT_EQ(figures.at("mse"), figures.at("mse_shown"));
}

TEST(Variants, LossOverHiddenPoints) {
  // The first step's loss is that of the untrained model, whose error over hidden points is in the metrics.
  const Place place;
  const std::vector<std::string> settings = {"train.batch=10", "train.steps=1"};
  std::vector<std::string> hidden = settings;
  hidden.emplace_back("train.loss=hidden");
  const fs::path over_all = place.train("all", settings), over_hidden = place.train("hidden", hidden);
  const Figures figures = read_metrics(over_all / "metrics.json").at("untrained").at("train");
  EXPECT_NEAR(history_of(over_all).rows[0].loss, *figures.at("mse"), 1e-5 * *figures.at("mse"));
  EXPECT_NEAR(history_of(over_hidden).rows[0].loss, *figures.at("mse_hidden"), 1e-5 * *figures.at("mse_hidden"));
}

TEST(Variants, ResampleDrawsNewFunctionsEveryEpoch) {
  const Place place;
  const std::vector<std::string> settings = {"data.resample=yes", "train.batch=10", "train.epochs=3",
                                             "train.learning_rate=1e-30"};
  const fs::path run = place.train("out", settings);
  const History history = history_of(run);
  // The model stays as it is: another loss means other functions.
  EXPECT_NE(history.rows[0].loss, history.rows[1].loss);
  EXPECT_NE(history.rows[1].loss, history.rows[2].loss);
  // The training set that is reported on is the first epoch's, that of the run without.
  const fs::path once = place.train("once", {"train.batch=10", "train.epochs=0"});
  EXPECT_EQ(read_set(run / "results.h5", "train").targets, read_set(once / "results.h5", "train").targets);
  EXPECT_EQ(*read_metrics(run / "metrics.json").at("untrained").at("train").at("mse"),
            *read_metrics(once / "metrics.json").at("untrained").at("train").at("mse"));
}

TEST(Variants, ResampleIsNotDisturbedByEvaluation) {
  const Place place;
  const std::vector<std::string> settings = {"data.resample=yes", "train.epochs=4"};
  std::vector<std::string> often = settings;
  often.emplace_back("train.eval_every=1");
  EXPECT_EQ(parameter(place.train("rarely", settings)), parameter(place.train("often", often)));
}

TEST(Variants, MaskChannelSaysWhatIsShown) {
  const Place place;
  const fs::path run = place.train("out", {"data.mask_channel=yes"});
  for (const char* name : {"train", "id", "far"}) {
    const SetArrays set = read_set(run / "results.h5", name);
    ASSERT_EQ(set.inputs.shape.at(2), 3);
    for (std::size_t k = 0; k < set.shown.values.size(); ++k)
      EXPECT_EQ(set.inputs.values[3 * k + 2], set.shown.values[k]);
  }
  EXPECT_EQ(parameter(run, "encoder.0.weight").shape, (std::vector<std::int64_t>{8, 3}));
}

TEST(Variants, DoublePrecisionAgreesWithSingle) {
  const Place place;
  const History single = history_of(place.train("single")),
                twice = history_of(place.train("double", {"run.precision=double"}));
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(twice.rows[i].loss, single.rows[i].loss, 1e-3 * single.rows[i].loss);
    EXPECT_NE(twice.rows[i].loss, single.rows[i].loss);
  }
}

TEST(Variants, Schedules) {
  const Place place;
  const std::vector<std::string> settings = {"train.batch=10", "train.steps=10"};
  const auto rates = [&](const std::string& schedule) {
    std::vector<std::string> all = settings;
    all.push_back("train.schedule=" + schedule);
    std::vector<double> list;
    for (const HistoryRow& row : history_of(place.train(schedule, all)).rows) list.push_back(row.learning_rate);
    return list;
  };
  for (const double rate : rates("constant")) EXPECT_EQ(rate, 1e-3);
  const std::vector<double> cosine = rates("cosine"), cycle = rates("one_cycle");
  for (std::size_t i = 0; i < 10; ++i)
    EXPECT_NEAR(cosine[i], 0.5e-3 * (1 + std::cos(3.14159265358979 * static_cast<double>(i) / 10)), 1e-12);
  EXPECT_NEAR(cycle[0], 1e-3 / 25, 1e-15);
  EXPECT_NEAR(cycle[2], 1e-3, 1e-12);
  EXPECT_NEAR(cycle[9], 1e-3 / 25e4, 1e-15);
}

TEST(Variants, GradientClipLimitsTheGradients) {
  // Adam's first moment after one step is a tenth of the gradients.
  const Place place;
  const auto norm = [&](const std::string& name, const std::string& clip) {
    double sum = 0;
    const fs::path run = place.train(name, {"train.steps=1", "train.gradient_clip=" + clip});
    for (const auto& [parameter, moment] : read_arrays(run / "checkpoint.h5", "optimizer/first_moment"))
      for (const double value : moment.values) sum += 100 * value * value;
    return std::sqrt(sum);
  };
  const double whole = norm("whole", "0");
  EXPECT_NEAR(norm("half", std::to_string(whole / 2)), whole / 2, 1e-4 * whole);
  EXPECT_NEAR(norm("more", std::to_string(whole * 2)), whole, 1e-6 * whole);
}

TEST(Variants, ResidualNormalizationAndInnerProduct) {
  const Place place;
  const fs::path standard = place.train("standard");
  for (const std::string setting : {"model.residual=pre", "attention.functional.normalization=per_head",
                                    "attention.functional.inner_product=mean", "ffn.mlp.activation=tanh"}) {
    const fs::path run = place.train(setting, {setting});
    EXPECT_FALSE(parameter(run) == parameter(standard)) << setting;
  }
}

TEST(Variants, SpellingsOfADeckThatAreFine) {
  const Place place;
  const fs::path standard = place.train("standard");
  std::string windows = "\xEF\xBB\xBF";  // a byte order mark, and CRLF
  for (const char letter : std::string(tiny_deck)) windows += letter == '\n' ? "\r\n" : std::string(1, letter);
  place.put("windows.ini", windows);
  std::string bare(tiny_deck);
  bare.pop_back();  // no newline at the end
  bare.replace(bare.find("batch = 4"), 9, "batch = 4 # a comment");
  place.put("bare.ini", bare);
  for (const std::string name : {"windows", "bare"}) {
    expect_success(place.run({"run", name + ".ini", "-o", name}));
    EXPECT_EQ(content_of(place / name / "metrics.json"), content_of(standard / "metrics.json")) << name;
  }
}

TEST(Variants, OneFunctionOfOnePoint) {
  const Place place;
  place.train("out", {"data.functions=1", "data.x=0 1 1", "data.context=1", "eval.far.x=0 1 1"});
}

TEST(Variants, DeckWithoutTestSets) {
  const Place place;
  place.put("alone.ini", "[data]\nfunctions = 4\nx = 0 2 0.5\n[model]\nwidth = 4\nblocks = 1\n[train]\nepochs = 1\n");
  expect_success(place.run({"run", "alone.ini", "-o", "out"}));
  EXPECT_EQ(read_metrics(place / "out/metrics.json").at("trained").size(), 1U);
}

}  // namespace
}  // namespace ridgeline::program

// What `run` leaves behind, that it is reproducible, and that `eval` agrees with it.
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

const std::vector<std::string> set_names = {"train", "id", "far"};

void expect_near(const Figures& actual, const Figures& expected, const std::string& what) {
  ASSERT_EQ(actual.size(), expected.size()) << what;
  for (const auto& [name, value] : expected) {
    ASSERT_TRUE(actual.count(name)) << what << " lacks " << name;
    const std::optional<double> other = actual.at(name);
    ASSERT_EQ(other.has_value(), value.has_value()) << what << ", " << name;
    if (value) {
      EXPECT_NEAR(*other, *value, 1e-10 * std::abs(*value)) << what << ", " << name;
    }
  }
}

/// The figures in metrics.json are those of the predictions in results.h5.
void expect_metrics_of_results(const fs::path& folder, const std::vector<std::string>& sets) {
  const AllFigures metrics = read_metrics(folder / "metrics.json");
  ASSERT_EQ(metrics.size(), 2U);
  for (const char* when : {"trained", "untrained"}) ASSERT_EQ(metrics.at(when).size(), sets.size());
  for (const std::string& name : sets) {
    const SetArrays set = read_set(folder / "results.h5", name);
    expect_near(metrics.at("trained").at(name), figures_of(set, set.predictions), name + " trained");
    expect_near(metrics.at("untrained").at(name), figures_of(set, set.untrained_predictions), name + " untrained");
  }
}

TEST(Run, LeavesTheFilesThatTheManualPromises) {
  const Place place;
  const fs::path run = place.train("out");
  EXPECT_EQ(files_below(run),
            (std::vector<std::string>{"checkpoint.h5", "checkpoint.previous.h5", "deck.ini", "history.csv", "log.txt",
                                      "metrics.json", "report.html", "results.h5"}));
}

TEST(Run, DrawsPicturesWhereThereIsGnuplot) {
  if (!gnuplot_is_there()) GTEST_SKIP() << "there is no gnuplot";
  const Place place;
  Surroundings surroundings;
  surroundings.gnuplot = true;
  const Ended ended = place.run({"run", "tiny.ini", "-o", "out"}, surroundings);
  expect_success(ended);
  EXPECT_EQ(ended.out.find("gnuplot"), std::string::npos) << ended.out;
  for (const char* picture : {"loss", "predictions_train", "predictions_id", "predictions_far", "metrics", "time"}) {
    const fs::path base = place / "out" / "figures" / picture;
    expect_contains(content_of(base.string() + ".svg").substr(0, 400), "<svg");
    EXPECT_EQ(content_of(base.string() + ".png").substr(1, 3), "PNG") << picture;
  }
}

TEST(Run, WithoutGnuplotSaysInOneLineThatPicturesNeedIt) {
  const Place place;
  const Ended ended = place.run({"run", "tiny.ini", "-o", "out"});
  expect_success(ended);
  int lines = 0;
  for (const std::string& line : lines_of(ended.out)) lines += line.find("gnuplot") != std::string::npos ? 1 : 0;
  EXPECT_EQ(lines, 1) << ended.out;
  EXPECT_GT(fs::file_size(place / "out" / "report.html"), 1000U);
  EXPECT_FALSE(fs::exists(place / "out" / "figures" / "loss.svg"));
  if (!gnuplot_is_there()) GTEST_SKIP() << "there is no gnuplot to draw them later";
  Surroundings surroundings;
  surroundings.gnuplot = true;
  expect_success(place.run({"report", "out"}, surroundings));
  EXPECT_TRUE(fs::exists(place / "out" / "figures" / "loss.svg"));
  EXPECT_NE(content_of(place / "out" / "report.html").find("data:image/svg+xml"), std::string::npos);
}

TEST(Run, MetricsAreThoseOfTheStoredPredictions) {
  const Place place;
  expect_metrics_of_results(place.train("out"), set_names);
}

TEST(Run, ResultsHoldTheSetsAndTheMaskOfShownPoints) {
  const Place place;
  const fs::path run = place.train("out");
  for (const std::string& name : set_names) {
    const SetArrays set = read_set(run / "results.h5", name);
    const std::int64_t points = name == "far" ? 18 : 12;
    EXPECT_EQ(set.inputs.shape, (std::vector<std::int64_t>{10, points, 2})) << name;
    for (const Array* array : {&set.targets, &set.predictions, &set.untrained_predictions})
      EXPECT_EQ(array->shape, (std::vector<std::int64_t>{10, points, 1})) << name;
    EXPECT_EQ(set.shown.shape, (std::vector<std::int64_t>{10, points})) << name;
    for (std::size_t i = 0; i < 10; ++i) {
      double shown = 0;
      for (std::size_t j = 0; j < static_cast<std::size_t>(points); ++j) {
        const std::size_t k = i * static_cast<std::size_t>(points) + j;
        shown += set.shown.values[k];
        EXPECT_EQ(set.inputs.values[2 * k], -3 + 0.5 * static_cast<double>(j));
        EXPECT_EQ(set.inputs.values[2 * k + 1], set.shown.values[k] != 0 ? set.targets.values[k] : 0);
      }
      EXPECT_EQ(shown, 3) << name << ", function " << i;
    }
  }
}

TEST(Run, TestSetsAreNoCopiesOfTheTrainingSet) {
  const Place place;
  const fs::path run = place.train("out");
  EXPECT_FALSE(read_set(run / "results.h5", "train").targets == read_set(run / "results.h5", "id").targets);
}

TEST(Run, HistoryHasARowAnEpoch) {
  const Place place;
  const fs::path run = place.train("out", {"train.epochs=5", "train.eval_every=2"});
  EXPECT_EQ(lines_of(content_of(run / "history.csv")).at(0),
            "epoch,step,loss,learning_rate,seconds,tokens_per_second,train_mse,id_mse,far_mse");
  const History history = History::read(run / "history.csv");
  ASSERT_EQ(history.rows.size(), 5U);
  for (std::size_t i = 0; i < 5; ++i) {
    const HistoryRow& row = history.rows[i];
    EXPECT_EQ(row.epoch, static_cast<int>(i) + 1);
    EXPECT_EQ(row.step, 3 * row.epoch);
    EXPECT_EQ(row.learning_rate, 1e-3);
    EXPECT_GT(row.loss, 0);
    EXPECT_GT(row.seconds, 0);
    EXPECT_NEAR(row.tokens_per_second * row.seconds, 120, 1e-6);
    const bool evaluated = row.epoch % 2 == 0 || row.epoch == 5;
    for (const auto& mse : row.set_values) EXPECT_EQ(mse.has_value(), evaluated) << "epoch " << row.epoch;
  }
  const AllFigures metrics = read_metrics(run / "metrics.json");
  for (std::size_t i = 0; i < 3; ++i)
    EXPECT_EQ(history.rows.back().set_values[i], metrics.at("trained").at(set_names[i]).at("mse"));
}

TEST(Run, CheckpointIsAStateDict) {
  const Place place;
  const fs::path run = place.train("out");
  const Arrays parameters = read_arrays(run / "checkpoint.h5", "parameters");
  const std::map<std::string, std::vector<std::int64_t>> expected = {
      {"encoder.0.weight", {8, 2}},
      {"encoder.0.bias", {8}},
      {"blocks.0.attention.query.weight", {16, 8}},
      {"blocks.0.attention.query.bias", {16}},
      {"blocks.0.attention.key.weight", {16, 8}},
      {"blocks.0.attention.key.bias", {16}},
      {"blocks.0.attention.value.weight", {16, 8}},
      {"blocks.0.attention.value.bias", {16}},
      {"blocks.0.attention.query_basis.weight", {6, 16}},
      {"blocks.0.attention.query_basis.bias", {6}},
      {"blocks.0.attention.key_basis.weight", {6, 16}},
      {"blocks.0.attention.key_basis.bias", {6}},
      {"blocks.0.attention.output.weight", {8, 16}},
      {"blocks.0.attention.output.bias", {8}},
      {"blocks.0.norm1.weight", {8}},
      {"blocks.0.norm1.bias", {8}},
      {"blocks.0.ffn.up.weight", {16, 8}},
      {"blocks.0.ffn.up.bias", {16}},
      {"blocks.0.ffn.down.weight", {8, 16}},
      {"blocks.0.ffn.down.bias", {8}},
      {"blocks.0.norm2.weight", {8}},
      {"blocks.0.norm2.bias", {8}},
      {"head.weight", {1, 8}},
      {"head.bias", {1}},
  };
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& [name, array] : parameters) shapes[name] = array.shape;
  EXPECT_EQ(shapes, expected);
  for (const char* moment : {"optimizer/first_moment", "optimizer/second_moment"}) {
    std::map<std::string, std::vector<std::int64_t>> moments;
    for (const auto& [name, array] : read_arrays(run / "checkpoint.h5", moment)) moments[name] = array.shape;
    EXPECT_EQ(moments, expected) << moment;
  }
  const hdf5::File file = hdf5::File::open(run / "checkpoint.h5");
  EXPECT_EQ(file.attribute_integer("/", "step"), 6);
  EXPECT_EQ(file.attribute_integer("/", "epoch"), 2);
  EXPECT_EQ(file.attribute_integer("/", "seed"), 1);
  EXPECT_EQ(file.attribute_string("/", "precision"), "single");
  EXPECT_EQ(file.attribute_string("/", "deck"), content_of(run / "deck.ini"));
}

TEST(Run, TwiceGivesTheSameBits) {
  const Place place;
  const fs::path one = place.train("one"), other = place.train("other");
  expect_same_outcome(one, other);
  EXPECT_EQ(content_of(one / "deck.ini"), content_of(other / "deck.ini"));
}

TEST(Run, AnotherSeedGivesOtherDataAndParameters) {
  const Place place;
  const fs::path one = place.train("one", {"train.epochs=0"}),
                 other = place.train("other", {"train.epochs=0", "run.seed=2"});
  EXPECT_NE(read_arrays(one / "checkpoint.h5", "parameters").at("head.weight").values,
            read_arrays(other / "checkpoint.h5", "parameters").at("head.weight").values);
  EXPECT_NE(read_set(one / "results.h5", "id").targets.values, read_set(other / "results.h5", "id").targets.values);
}

TEST(Run, ResolvedDeckIsTheSameRun) {
  const Place place;
  const fs::path one = place.train(
      "one", {"train.schedule=cosine", "run.seed=7", "data.mask_channel=yes", "train.steps=5", "eval.far.context=5"});
  const Ended again = place.run({"run", "one/deck.ini", "-o", "other"});
  expect_success(again);
  expect_same_outcome(one, place / "other");
  EXPECT_EQ(content_of(one / "deck.ini"), content_of(place / "other/deck.ini"));
}

TEST(Run, ResolvedDeckSaysEveryKey) {
  const Place place;
  const std::string deck = content_of(place.train("out") / "deck.ini");
  for (const char* line : {"seed = 1", "precision = single", "task = sine", "resample = no", "mask_channel = no",
                           "residual = normed", "ridge = 1e-4", "activation = gelu", "schedule = constant",
                           "eval_every = 10", "loss = all", "gradient_clip = 0", "[eval.id]", "[eval.far]"})
    expect_contains(deck, std::string(line) + "\n");
}

TEST(Run, SetBeatsTheDeckAndTheLastOneCounts) {
  const Place place;
  const fs::path run = place.train("out", {"train.epochs=7", "train.epochs=1", "eval.more.amplitude=5 10"});
  EXPECT_EQ(History::read(run / "history.csv").rows.size(), 1U);
  expect_metrics_of_results(run, {"train", "id", "far", "more"});
}

TEST(Run, LogHasTheLinesTheMachineAndTheDeck) {
  const Place place;
  const Ended ended = place.run({"run", "tiny.ini", "-o", "out"});
  expect_success(ended);
  const std::string log = content_of(place / "out/log.txt");
  for (const char* part : {"Ridgeline ", "back end", "threads", "GEMM", "host"}) expect_contains(log, part);
  expect_contains(log, content_of(place / "out/deck.ini"));
  for (const std::string& line : lines_of(ended.out)) expect_contains(log, line);
}

TEST(Run, PrintsALineAnEpochIntoAPipe) {
  const Place place;
  const Ended ended = place.run(with_settings({"run", "tiny.ini", "-o", "out"}, {"train.epochs=4"}));
  expect_success(ended);
  int epochs = 0;
  for (const std::string& line : lines_of(ended.out)) epochs += line.rfind("epoch ", 0) == 0 ? 1 : 0;
  EXPECT_EQ(epochs, 4) << ended.out;
  EXPECT_EQ(ended.out.find('\r'), std::string::npos);
  EXPECT_EQ(ended.out.find('\033'), std::string::npos);
}

TEST(Run, RedrawsALineOnATerminal) {
  const Place place;
  Surroundings surroundings;
  surroundings.terminal = true;
  const Ended ended = place.run({"run", "tiny.ini", "-o", "out"}, surroundings);
  EXPECT_EQ(ended.status, 0) << ended.err;
  const std::string redraw = "\r\033[K";
  expect_contains(ended.out, redraw + "epoch 1 of 2");
  for (const char* part : {"loss", "steps/s", "left"}) expect_contains(ended.out, part);
  // What stays is what a pipe gets, and the log has nothing of the redrawing.
  std::string stays;
  for (const std::string& line : lines_of(ended.out)) {
    const std::size_t begin = line.rfind(redraw);
    stays += begin == std::string::npos ? line : line.substr(begin + redraw.size());
  }
  expect_contains(stays, "tiny: 1117 parameters");
  EXPECT_EQ(stays.find('\033'), std::string::npos) << stays;
  EXPECT_EQ(content_of(place / "out/log.txt").find('\033'), std::string::npos);
}

TEST(Run, TakesNoMoreThreadsThanKokkosHasRoomFor) {
  const Place place;
  Surroundings surroundings;
  surroundings.environment["OMP_NUM_THREADS"] = "600";
  expect_success(
      place.run(with_settings({"run", "tiny.ini", "-o", "out"}, {"data.functions=2", "train.epochs=0"}), surroundings));
}

TEST(Run, QuietPrintsNothing) {
  const Place place;
  const Ended ended = place.run({"run", "tiny.ini", "-o", "out", "--quiet"});
  expect_success(ended);
  EXPECT_EQ(ended.out, "");
  EXPECT_TRUE(fs::exists(place / "out/metrics.json"));
}

TEST(Run, TheLogHoldsWhatItsLevelAsksFor) {
  const Place place;
  const auto log = [&](const std::string& level, const std::vector<std::string>& settings) {
    expect_success(place.run(with_settings({"run", "tiny.ini", "-o", level, "--log-level", level}, settings)));
    return content_of(place / level / "log.txt");
  };
  EXPECT_EQ(log("warn", {}), "");
  const std::string info = log("info", {});
  expect_contains(info, "epoch 2 of 2");
  expect_contains(info, "the resolved deck:");
  EXPECT_EQ(info.find("  step "), std::string::npos);
  const std::string debug = log("debug", {"train.gradient_clip=1"});
  for (const char* line : {"epoch 2 of 2", "  step 1   loss ", "  step 6   loss ", "learning rate 0.001",
                           "norm of the gradients ", "run/epoch/step/forward/block 0"})
    expect_contains(debug, line);
  // A run that stops says why at any level.
  expect_sentence(place.run(with_settings({"run", "tiny.ini", "-o", "stopped", "--log-level", "warn"},
                                          {"train.learning_rate=1e30", "train.epochs=50"})),
                  3);
  const std::string stopped = content_of(place / "stopped/log.txt");
  EXPECT_EQ(lines_of(stopped).size(), 1U) << stopped;
  expect_contains(stopped, "  failed: step ");
}

TEST(Run, GoesToRunsAndTheDecksName) {
  const Place place;
  expect_success(place.run({"run", "tiny.ini"}));
  EXPECT_TRUE(fs::exists(place / "runs/tiny/metrics.json"));
}

TEST(Run, NeverOverwritesUnlessTold) {
  const Place place;
  const fs::path run = place.train("out");
  const std::vector<std::string> before = place.files();
  std::map<std::string, std::string> contents;
  for (const std::string& file : files_below(run)) contents[file] = content_of(run / file);
  const std::string sentence = expect_sentence(place.run({"run", "tiny.ini", "-o", "out"}), 2);
  expect_contains(sentence, "out");
  expect_contains(sentence, "--overwrite");
  EXPECT_EQ(place.files(), before);
  for (const auto& [file, content] : contents) EXPECT_EQ(content_of(run / file), content) << file;
  expect_success(place.run(with_settings({"run", "tiny.ini", "-o", "out", "--overwrite"}, {"train.epochs=1"})));
  EXPECT_EQ(History::read(run / "history.csv").rows.size(), 1U);
}

TEST(Run, KeepsWhatIsNotARuns) {
  const Place place;
  place.train("out");
  place.put("out/notes.txt", "mine");
  expect_success(place.run({"run", "tiny.ini", "-o", "out", "--overwrite"}));
  EXPECT_EQ(content_of(place / "out/notes.txt"), "mine");
}

TEST(Run, OverwriteOfAMistakenDeckLeavesTheFormerRun) {
  const Place place;
  const fs::path run = place.train("out");
  const std::string metrics = content_of(run / "metrics.json");
  const std::vector<std::string> before = place.files();
  const auto overwrite = [&](const std::vector<std::string>& settings) {
    return place.run(with_settings({"run", "tiny.ini", "-o", "out", "--overwrite"}, settings));
  };
  expect_sentence(overwrite({"train.batch=0"}), 2);
  expect_sentence(overwrite({"data.functions=100000000", "data.x=0 1e4 0.1"}), 2);  // more memory than there is
  EXPECT_EQ(place.files(), before);
  EXPECT_EQ(content_of(run / "metrics.json"), metrics);
}

TEST(Run, SameDataAndParametersOnTwoThreadsAndNearlyTheSameLosses) {
  const Place place;
  const auto train = [&](const std::string& threads, const std::string& steps) {
    const std::string name = "on" + threads + "for" + steps;
    // An epoch of one step: a loss a step in the history.
    expect_success(place.run(with_settings({"run", "tiny.ini", "-o", name, "--threads", threads},
                                           {"train.batch=10", "train.steps=" + steps, "train.eval_every=0"})));
    expect_contains(content_of(place / name / "log.txt"), "threads   " + threads + "\n");
    return place / name;
  };
  const fs::path one = train("1", "0");
  const std::string version = place.run({"--version"}).out;
  if (version.find("Serial") != std::string::npos) GTEST_SKIP() << "there is one thread only";
  const fs::path two = train("2", "0");
  EXPECT_EQ(read_arrays(one / "checkpoint.h5", "/"), read_arrays(two / "checkpoint.h5", "/"));
  for (const std::string& name : set_names) {
    const SetArrays a = read_set(one / "results.h5", name), b = read_set(two / "results.h5", name);
    EXPECT_EQ(a.inputs, b.inputs);
    EXPECT_EQ(a.targets, b.targets);
    EXPECT_EQ(a.shown, b.shown);
  }
  const History losses = History::read(train("1", "20") / "history.csv"),
                others = History::read(train("2", "20") / "history.csv");
  ASSERT_EQ(losses.rows.size(), 20U);
  ASSERT_EQ(others.rows.size(), 20U);
  for (std::size_t i = 0; i < 20; ++i)
    EXPECT_NEAR(others.rows[i].loss, losses.rows[i].loss, 1e-5 * losses.rows[i].loss) << "step " << i + 1;
}

TEST(Eval, ReproducesTheRunsMetricsToTheBit) {
  const Place place;
  const fs::path run = place.train("out");
  const Ended ended = place.run({"eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5", "-o", "again"});
  expect_success(ended);
  EXPECT_EQ(content_of(place / "again/metrics.json"), content_of(run / "metrics.json"));
  for (const std::string& name : set_names)
    EXPECT_EQ(read_arrays(run / "results.h5", name), read_arrays(place / "again/results.h5", name)) << name;
  EXPECT_EQ(files_below(place / "again"),
            (std::vector<std::string>{"deck.ini", "log.txt", "metrics.json", "report.html", "results.h5"}));
}

TEST(Eval, PrintsFiguresAndWritesNothingWithoutAFolder) {
  const Place place;
  place.train("out");
  const std::vector<std::string> before = place.files();
  const Ended ended = place.run({"eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5"});
  expect_success(ended);
  for (const std::string& name : set_names) expect_contains(ended.out, name);
  EXPECT_EQ(place.files(), before);
}

TEST(Eval, TakesOtherTestSets) {
  const Place place;
  place.train("out");
  expect_success(place.run(with_settings({"eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5", "-o", "again"},
                                         {"eval.wide.x=-9 9 0.25"})));
  EXPECT_EQ(read_metrics(place / "again/metrics.json").at("trained").count("wide"), 1U);
}

TEST(Eval, ReadsACheckpointOfTheOtherPrecision) {
  const Place place;
  const fs::path run = place.train("out");
  expect_success(place.run(with_settings({"eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5", "-o", "again"},
                                         {"run.precision=double"})));
  const double single = *read_metrics(run / "metrics.json").at("trained").at("id").at("mse");
  const double twice = *read_metrics(place / "again/metrics.json").at("trained").at("id").at("mse");
  EXPECT_NEAR(twice, single, 1e-4 * single);
  EXPECT_NE(twice, single);
}

TEST(Eval, NeverRemovesTheCheckpointThatItReads) {
  const Place place;
  const fs::path run = place.train("out");
  const std::string metrics = content_of(run / "metrics.json"), checkpoint = content_of(run / "checkpoint.h5");
  const Ended ended = place.run({"eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5", "-o", "out", "--overwrite"});
  expect_contains(expect_sentence(ended, 2), "checkpoint");
  EXPECT_EQ(content_of(run / "checkpoint.h5"), checkpoint);
  EXPECT_EQ(content_of(run / "metrics.json"), metrics);
}

}  // namespace
}  // namespace ridgeline::program

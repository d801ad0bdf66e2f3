// Runs that are interrupted and go on: to the same bits, or with a sentence that says why not.
#include <csignal>
#include <fstream>
#include <functional>

#include "io/hdf5.hpp"
#include "io/history.hpp"
#include "io/seal.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_contains;

/// The first steps of a run, and the rest of it later: a run of 3 steps an epoch, cut after any of them.
void expect_continued(const Place& place, const fs::path& whole, int steps, const std::vector<std::string>& settings) {
  const std::string name = "cut" + std::to_string(steps);
  std::vector<std::string> shorter = settings;
  shorter.push_back("train.steps=" + std::to_string(steps));
  place.train(name, shorter);
  std::vector<std::string> all = settings;
  all.emplace_back("train.steps=9");
  const Ended ended = place.run(with_settings({"run", "tiny.ini", "-o", name, "--resume"}, all));
  expect_success(ended);
  expect_contains(ended.out, "resumed after step " + std::to_string(steps));
  SCOPED_TRACE("cut after step " + std::to_string(steps));
  expect_same_outcome(place / name, whole);
}

void expect_continued_from_every_step(const std::vector<std::string>& settings) {
  const Place place;
  std::vector<std::string> all = settings;
  all.emplace_back("train.steps=9");
  const fs::path whole = place.train("whole", all);
  for (const int steps : {0, 1, 2, 3, 4, 8, 9}) expect_continued(place, whole, steps, settings);
}

// Every epoch is evaluated, as the last one of the part that was cut is.
TEST(Resume, ContinuesToTheSameBitsFromAnyStep) { expect_continued_from_every_step({"train.eval_every=1"}); }

TEST(Resume, ContinuesWhereEveryEpochHasNewSamples) {
  expect_continued_from_every_step({"data.resample=yes", "run.precision=double", "train.eval_every=1"});
}

/// Enough steps to be interrupted in, and figures of every epoch. One-cycle: the rate depends on the step.
const std::vector<std::string> long_run = {"data.functions=120",       "train.batch=2",
                                           "train.epochs=6",           "train.eval_every=1",
                                           "train.schedule=one_cycle", "train.gradient_clip=1"};

Ended run_long(const Place& place, const std::string& output, const std::vector<Interrupt>& interrupts = {},
               const Arguments& more = {}) {
  Surroundings surroundings;
  surroundings.interrupts = interrupts;
  Arguments arguments = with_settings({"run", "tiny.ini", "-o", output, "--resume"}, long_run);
  arguments.insert(arguments.end(), more.begin(), more.end());
  return place.run(arguments, surroundings);
}

fs::path whole_long_run(const Place& place) {
  expect_success(run_long(place, "whole"));
  return place / "whole";
}

/// What `run` comes to in an empty folder `out`; once more, up to ten times, where a busy machine let it end otherwise
/// before its signals came.
Ended interrupted(const Place& place, int status, const std::function<Ended()>& run) {
  Ended ended = run();
  for (int again = 0; again < 9 && ended.status != status; ++again) {
    fs::remove_all(place / "out");
    ended = run();
  }
  return ended;
}

/// A signal in an epoch of the run, which then says where it was stopped and goes on from there.
void expect_stopped_and_continued(int signal, const std::string& name, const std::string& after, int milliseconds) {
  const Place place;
  const fs::path whole = whole_long_run(place);
  const Ended ended = interrupted(place, 75, [&] { return run_long(place, "out", {{signal, after, milliseconds}}); });
  const std::string sentence = expect_sentence(ended, 75);
  expect_contains(sentence, "stopped by " + name + " after step ");
  expect_contains(sentence, "of 360 steps; out/checkpoint.h5 holds the run, and --resume continues it");
  EXPECT_LT(ended.seconds, 20);
  expect_contains(content_of(place / "out/log.txt"), "stopped by " + name);
  const std::int64_t step = hdf5::File::open(place / "out/checkpoint.h5").attribute_integer("/", "step");
  expect_contains(sentence, "after step " + std::to_string(step) + " ");
  expect_success(run_long(place, "out"));
  expect_same_outcome(place / "out", whole);
  expect_contains(content_of(place / "out/log.txt"), "resumed after step " + std::to_string(step));
}

TEST(Resume, SigtermInTheFirstEpoch) { expect_stopped_and_continued(SIGTERM, "SIGTERM", "360 steps", 10); }
TEST(Resume, SigusrInALaterEpoch) { expect_stopped_and_continued(SIGUSR1, "SIGUSR1", "epoch 3 of 6", 7); }
TEST(Resume, SigintRightAfterAnEpoch) { expect_stopped_and_continued(SIGINT, "SIGINT", "epoch 2 of 6", 0); }

TEST(Resume, SignalDuringStartUpLosesNothing) {
  const Place place;
  const Ended ended = run_long(place, "out", {{SIGTERM, "", 15}});
  if (ended.status != -1) {  // before the program listens, the signal ends it
    expect_contains(expect_sentence(ended, 75), "stopped by SIGTERM");
  }
  const Ended again = run_long(place, "out");
  EXPECT_EQ(again.status, 0) << again.err;
  expect_same_outcome(place / "out", whole_long_run(place));
}

TEST(Resume, ASecondSigintEndsTheProgramAtOnce) {
  if (is_watched) GTEST_SKIP() << "a sanitizer takes its time";
  const Place place;
  Surroundings surroundings;
  surroundings.interrupts = {{SIGINT, "epoch 1 of", 20}, {SIGINT, "", 20}};
  // One step takes long enough for a second signal in its middle.
  const Arguments arguments = with_settings(
      {"run", "tiny.ini", "-o", "out"},
      {"data.functions=1000", "data.x=-3 3 0.01", "train.batch=1000", "model.width=64", "train.epochs=9"});
  const Ended ended = interrupted(place, -1, [&] { return place.run(arguments, surroundings); });
  EXPECT_EQ(ended.status, -1) << ended.err;
  EXPECT_LT(ended.seconds, 10);
}

TEST(Resume, TheTimeLimitStopsInTime) {
  if (is_watched) GTEST_SKIP() << "a sanitizer takes its time";
  const Place place;
  std::vector<std::string> settings = long_run;
  settings.emplace_back("train.epochs=100000");
  const auto began = std::chrono::steady_clock::now();
  const Ended ended = place.run(with_settings({"run", "tiny.ini", "-o", "out", "--time-limit", "00:00:03"}, settings));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  expect_contains(expect_sentence(ended, 75), "stopped by the time limit of 3 s after step ");
  EXPECT_LT(seconds, 5);
  EXPECT_GT(seconds, 1);
}

TEST(Resume, BeginsWhereThereIsNothingYet) {
  const Place place;
  const Ended ended = place.run({"run", "tiny.ini", "-o", "out", "--resume"});
  expect_success(ended);
  EXPECT_EQ(ended.out.find("resumed"), std::string::npos);
  expect_same_outcome(place / "out", place.train("other"));
}

TEST(Resume, AFinishedRunIsEvaluatedAgain) {
  const Place place;
  const fs::path run = place.train("out"), other = place.train("other");
  fs::remove(run / "results.h5");
  fs::remove(run / "metrics.json");
  fs::remove(run / "history.csv");
  expect_success(place.run({"run", "tiny.ini", "-o", "out", "--resume"}));
  expect_same_outcome(run, other);
}

// --- decks that changed -------------------------------------------------------------------------------------------------

std::string refused(const Place& place, const std::vector<std::string>& settings, int status = 2) {
  const std::vector<std::string> before = place.files();
  const std::string checkpoint = content_of(place / "out/checkpoint.h5");
  const std::string sentence =
      expect_sentence(place.run(with_settings({"run", "tiny.ini", "-o", "out", "--resume"}, settings)), status);
  EXPECT_EQ(place.files(), before);
  EXPECT_EQ(content_of(place / "out/checkpoint.h5"), checkpoint);
  return sentence;
}

TEST(Resume, AChangedDeckIsRefusedAndTheKeysAreNamed) {
  const Place place;
  place.train("out");
  for (const auto& [setting, difference] :
       std::map<std::string, std::string>{{"model.width=16", "model.width (16, was 8)"},
                                          {"run.seed=2", "run.seed (2, was 1)"},
                                          {"run.precision=double", "run.precision (double, was single)"},
                                          {"data.functions=11", "data.functions (11, was 10)"},
                                          {"train.learning_rate=1e-2", "train.learning_rate (0.01, was 0.001)"},
                                          {"train.schedule=cosine", "train.schedule (cosine, was constant)"},
                                          {"ffn.mlp.activation=relu", "ffn.mlp.activation (relu, was gelu)"},
                                          {"train.epochs=1", "the length of the run (3 steps, was 6)"}}) {
    const std::string sentence = refused(place, {setting});
    expect_contains(sentence, "the deck tiny.ini is not that of the run in out/checkpoint.h5");
    expect_contains(sentence, difference);
    expect_contains(sentence, "with --resume only");
  }
  expect_contains(refused(place, {"model.width=16", "train.batch=5"}),
                  "model.width (16, was 8), train.batch (5, was 4) and the length of the run (4 steps, was 6)");
}

TEST(Resume, MoreEpochsOtherSetsAndCheckpointsAreWelcome) {
  const Place place;
  const fs::path run = place.train("out", {"train.eval_every=1"});
  const std::vector<std::string> settings = {"train.epochs=4", "train.eval_every=1", "eval.far.x=-4 6 0.5",
                                             "eval.more.functions=3", "run.checkpoint_every=3"};
  expect_success(place.run(with_settings({"run", "tiny.ini", "-o", "out", "--resume"}, settings)));
  const History history = History::read(run / "history.csv");
  EXPECT_EQ(history.sets, (std::vector<std::string>{"train", "id", "far", "more"}));
  ASSERT_EQ(history.rows.size(), 4U);
  // What is known of sets that stayed the same stays; a set that is new, or another under its name, has no past.
  EXPECT_TRUE(history.rows[0].set_values[1]);
  EXPECT_FALSE(history.rows[0].set_values[2]);
  EXPECT_FALSE(history.rows[1].set_values[3]);
  for (const std::optional<double>& mse : history.rows[3].set_values) EXPECT_TRUE(mse);
  std::vector<std::string> from_the_start = settings;
  const fs::path whole = place.train("whole", from_the_start);
  EXPECT_EQ(content_of(run / "metrics.json"), content_of(whole / "metrics.json"));
}

TEST(Resume, AnInterruptedLongerRunHasNoResultsOfTheShorterOne) {
  const Place place;
  expect_success(run_long(place, "out"));
  ASSERT_TRUE(fs::exists(place / "out/metrics.json"));
  const Ended ended = run_long(place, "out", {{SIGTERM, "resumed", 5}}, {"--set", "train.epochs=5000"});
  expect_sentence(ended, 75);
  for (const char* file : {"metrics.json", "results.h5", "report.html"}) EXPECT_FALSE(fs::exists(place / "out" / file));
}

// --- files of a run that are gone, damaged or of another run ------------------------------------------------------------

/// A run of two epochs that is to go on for two more; figures of every epoch, as a run's last one always has them.
class Half : public Place {
 public:
  Half()
      : whole_(train("whole", {"train.epochs=4", "train.eval_every=1"})),
        run_(train("out", {"train.epochs=2", "train.eval_every=1"})) {}
  const fs::path& run() const { return run_; }
  Ended resume(const Arguments& more = {}, const Surroundings& surroundings = {}) const {
    Arguments arguments = {"run", "tiny.ini", "-o", "out", "--resume", "--set", "train.epochs=4"};
    arguments.insert(arguments.end(), {"--set", "train.eval_every=1"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return Place::run(arguments, surroundings);
  }
  void expect_whole() const { expect_same_outcome(run_, whole_); }

 private:
  fs::path whole_, run_;
};

TEST(Resume, AnyFileButTheCheckpointMayBeGoneOrOfAnotherRun) {
  for (const char* file :
       {"deck.ini", "log.txt", "history.csv", "results.h5", "metrics.json", "report.html", "checkpoint.previous.h5"}) {
    SCOPED_TRACE(file);
    const Half half;
    fs::remove(half.run() / file);
    expect_success(half.resume());
    half.expect_whole();
  }
  const Half half;
  const fs::path other = half.train("other", {"model.width=4", "run.seed=5", "train.epochs=3"});
  for (const char* file : {"deck.ini", "history.csv", "results.h5", "metrics.json", "checkpoint.previous.h5"})
    fs::copy_file(other / file, half.run() / file, fs::copy_options::overwrite_existing);
  expect_success(half.resume());
  half.expect_whole();
}

TEST(Resume, GoesOnFromThePreviousCheckpointWhereTheLastIsGone) {
  const Half half;
  fs::remove(half.run() / "checkpoint.h5");
  const Ended ended = half.resume();
  EXPECT_EQ(ended.status, 0) << ended.err;
  expect_contains(ended.err, "ridgeline: warning: cannot read out/checkpoint.h5");
  expect_contains(ended.err, "the run goes on from out/checkpoint.previous.h5.");
  expect_contains(ended.out, "resumed after step 3 ");
  half.expect_whole();
}

TEST(Resume, GoesOnFromThePreviousCheckpointWhereTheLastIsDamaged) {
  const Half half;
  std::string bytes = content_of(half.run() / "checkpoint.h5");
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  test::put(half.run() / "checkpoint.h5", bytes);
  const Ended ended = half.resume();
  EXPECT_EQ(ended.status, 0) << ended.err;
  expect_contains(ended.err, "checksum");
  EXPECT_EQ(lines_of(ended.err).size(), 1U) << ended.err;
  half.expect_whole();
}

TEST(Resume, ADamagedCheckpointDoesNotPushOutThePreviousOne) {
  const Half half;
  test::put(half.run() / "checkpoint.h5", "not a checkpoint");
  // Refused after the previous one was found good, and before any new one is written.
  Surroundings surroundings;
  surroundings.largest_file = 4096;
  half.resume({}, surroundings);
  EXPECT_EQ(hdf5::File::open(half.run() / "checkpoint.h5").attribute_integer("/", "step"), 3);
  expect_success(half.resume());
  half.expect_whole();
}

TEST(Resume, WithoutAnyCheckpointTheRunStartsAnewAndSaysSo) {
  const Half half;
  fs::remove(half.run() / "checkpoint.h5");
  fs::remove(half.run() / "checkpoint.previous.h5");
  const Ended ended = half.resume();
  EXPECT_EQ(ended.status, 0) << ended.err;
  expect_contains(ended.err, "there is no checkpoint in out: the run starts anew");
  half.expect_whole();
}

TEST(Resume, WithoutAnyCheckpointAnotherDeckIsStillRefused) {
  const Half half;
  fs::remove(half.run() / "checkpoint.h5");
  fs::remove(half.run() / "checkpoint.previous.h5");
  const Ended ended = half.resume({"--set", "model.width=4"});
  expect_contains(expect_sentence(ended, 2), "model.width (4, was 8)");
  EXPECT_TRUE(fs::exists(half.run() / "results.h5"));
}

TEST(Resume, BothCheckpointsDamagedIsAnError) {
  const Half half;
  test::put(half.run() / "checkpoint.h5", "");
  test::put(half.run() / "checkpoint.previous.h5", "");
  const std::string sentence = expect_sentence(half.resume(), 4);
  for (const char* part : {"cannot read out/checkpoint.h5", "cannot read out/checkpoint.previous.h5"})
    expect_contains(sentence, part);
}

TEST(Resume, TheCheckpointOfAnotherRunIsRefused) {
  const Half half;
  const fs::path other = half.train("other", {"run.seed=5"});
  fs::copy_file(other / "checkpoint.h5", half.run() / "checkpoint.h5", fs::copy_options::overwrite_existing);
  expect_contains(expect_sentence(half.resume(), 2), "run.seed (1, was 5)");
}

TEST(Resume, AnEarlierCheckpointOfTheSameRunIsGoodToo) {
  const Half half;
  fs::copy_file(half.run() / "checkpoint.previous.h5", half.run() / "checkpoint.h5",
                fs::copy_options::overwrite_existing);
  expect_success(half.resume());
  half.expect_whole();
}

TEST(Resume, ACheckpointWithoutAChecksumIsNotedInTheLog) {
  const Half half;
  const fs::path checkpoint = half.run() / "checkpoint.h5";
  test::put(checkpoint, content_of(checkpoint).substr(hdf5::seal_bytes));
  expect_success(half.resume());
  half.expect_whole();
  expect_contains(content_of(half.run() / "log.txt"), "out/checkpoint.h5 bears no checksum");
}

TEST(Resume, ACheckpointOfParametersOnlyIsNotEnough) {
  const Half half;
  fs::remove(half.run() / "checkpoint.previous.h5");
  const Arrays arrays = read_arrays(half.run() / "checkpoint.h5", "parameters");
  hdf5::write_atomically(half.run() / "checkpoint.h5", [&](hdf5::File& file) {
    for (const auto& [name, array] : arrays) file.write("parameters/" + name, array.values, array.shape);
  });
  expect_contains(expect_sentence(half.resume(), 4), "does not hold the deck of its run");
}

// --- threads ------------------------------------------------------------------------------------------------------------

TEST(Resume, OnAnotherNumberOfThreadsIsWarnedOf) {
  const Half half;
  hdf5::File former = hdf5::File::open(half.run() / "checkpoint.h5");
  EXPECT_EQ(former.attribute_integer("/", "threads"), 1);
  const Ended ended = half.resume({"--threads", "2"});
  EXPECT_EQ(ended.status, 0);
  if (ended.err.empty()) GTEST_SKIP() << "this back end has no threads";
  expect_contains(ended.err, "this run had 1 thread and goes on with 2");
}

TEST(Resume, ExcludesOverwrite) {
  const Place place;
  expect_contains(expect_sentence(place.run({"run", "tiny.ini", "--resume", "--overwrite"}), 2), "only one of them");
}

TEST(Resume, TimeLimitsThatAreNone) {
  const Place place;
  for (const char* limit :
       {"1", "10:00", "1:2:3:4", "00:60:00", "00:00:60", "-1:00:00", "a:b:c", "00:00:00", "1h", " "})
    expect_contains(expect_sentence(place.run({"run", "tiny.ini", "--time-limit", limit}), 2), "--time-limit");
  EXPECT_EQ(place.files(), std::vector<std::string>{"tiny.ini"});
}

}  // namespace
}  // namespace ridgeline::program

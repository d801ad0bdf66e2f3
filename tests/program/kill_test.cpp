// A run that is killed at random moments, again and again, and always goes on.
#include <csignal>
#include <random>

#include "io/hdf5.hpp"
#include "io/history.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> settings = {"data.functions=60", "train.batch=4", "train.epochs=8", "train.eval_every=2",
                                           "train.schedule=cosine"};

Ended resume(const Place& place, const std::string& output, const std::vector<Interrupt>& interrupts) {
  Surroundings surroundings;
  surroundings.interrupts = interrupts;
  return place.run(with_settings({"run", "tiny.ini", "-o", output, "--resume"}, settings), surroundings);
}

/// Whatever stands under a file's own name is whole.
void expect_whole_files(const fs::path& run) {
  for (const char* file : {"checkpoint.h5", "checkpoint.previous.h5", "results.h5"})
    if (fs::exists(run / file)) {
      EXPECT_NO_THROW(hdf5::File::open(run / file)) << file;
    }
  if (fs::exists(run / "history.csv")) {
    EXPECT_NO_THROW(History::read(run / "history.csv"));
  }
}

TEST(KillSlow, AtAnyOfFiftyMomentsLeavesARunThatGoesOn) {
  const Place place;
  const Ended whole = resume(place, "whole", {});
  expect_success(whole);
  const int milliseconds = static_cast<int>(1000 * whole.seconds);
  std::mt19937 random(7);
  std::uniform_int_distribution<int> moment(0, milliseconds);
  int run = 0, killed = 0;
  for (int attempt = 0; killed < 50 && attempt < 500; ++attempt) {
    const std::string output = "run" + std::to_string(run);
    const Ended ended = resume(place, output, {{SIGKILL, "", moment(random)}});
    expect_whole_files(place / output);
    if (ended.status == -1) {
      ++killed;
      continue;
    }
    EXPECT_EQ(ended.status, 0) << ended.err;  // it came to its end before
    expect_same_outcome(place / output, place / "whole");
    ++run;
  }
  EXPECT_EQ(killed, 50);
  const std::string output = "run" + std::to_string(run);
  EXPECT_EQ(resume(place, output, {}).status, 0);
  expect_same_outcome(place / output, place / "whole");
  for (const std::string& file : files_below(place / output))
    EXPECT_EQ(file.find(".partial"), std::string::npos) << file;
}

}  // namespace
}  // namespace ridgeline::program

// What surrounds a run: other runs, closed or full standard streams, readers that leave, files that are not its own.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <thread>

#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_contains;

/// The exit status of a line given to the shell in the folder of the place; -1 where a signal ended it.
int shell(const Place& place, const std::string& line) {
  const std::string whole = "cd '" + (place / "").string() + "' && export OMP_NUM_THREADS=1 && " + line;
  const int status = std::system(whole.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

const std::string program = "'" RIDGELINE_PROGRAM "'";

TEST(Surroundings, AFolderInUseIsRefusedAndLeftAlone) {
  const Place place;
  const fs::path run = place.train("run");
  const std::string metrics = content_of(run / "metrics.json");
  const int folder = ::open(run.c_str(), O_RDONLY | O_DIRECTORY);
  ASSERT_EQ(::flock(folder, LOCK_EX | LOCK_NB), 0);
  expect_contains(expect_sentence(place.run({"run", "tiny.ini", "-o", "run", "--overwrite"}), 2), "another run");
  EXPECT_EQ(content_of(run / "metrics.json"), metrics);
  ::close(folder);
  expect_success(place.run({"run", "tiny.ini", "-o", "run", "--overwrite"}));
}

TEST(Surroundings, OverwritingRemovesOnlyWhatARunWrites) {
  const Place place;
  const fs::path run = place.train("run");
  fs::create_directories(run / "figures");
  place.put("run/figures/photo.png", "mine");
  place.put("run/figures/predictions_gone.svg", "an older run's");
  place.put("run/notes.txt", "mine");
  expect_success(place.run({"run", "tiny.ini", "-o", "run", "--overwrite"}));
  EXPECT_EQ(content_of(run / "figures/photo.png"), "mine");
  EXPECT_EQ(content_of(run / "notes.txt"), "mine");
  EXPECT_FALSE(fs::exists(run / "figures/predictions_gone.svg"));
}

TEST(Surroundings, ClosedOrFullStandardErrorKeepsTheStatus) {
  const Place place;
  EXPECT_EQ(shell(place, program + " nonsense 2>&-"), 2);
  EXPECT_EQ(shell(place, program + " nonsense 2>/dev/full"), 2);
  EXPECT_EQ(shell(place, program + " run missing.ini <&- >&- 2>&-"), 2);
}

TEST(Surroundings, AClosedStandardOutputDoesNotEndUpInTheLog) {
  const Place place;
  EXPECT_EQ(shell(place, program + " run tiny.ini -o run >&-"), 0);
  for (const std::string& line : lines_of(content_of(place / "run/log.txt")))
    EXPECT_NE(line.rfind("epoch ", 0), 0U) << line;
}

TEST(Surroundings, OutputThatWasAskedForAndCannotBeWrittenIsAFailure) {
  const Place place;
  for (const std::string command : {"describe", "layers", "--help", "run --help", "--version", "check tiny.ini"})
    EXPECT_EQ(shell(place, program + " " + command + " >/dev/full 2>/dev/null"), 4) << command;
}

TEST(Surroundings, AReaderThatLeavesEndsNoRun) {
  const Place place;
  shell(place, program + " run tiny.ini -o run --set train.epochs=20 | head -1 >/dev/null");
  EXPECT_TRUE(fs::exists(place / "run/metrics.json"));
}

TEST(Surroundings, MoreThreadsThanKokkosTakesAreRefused) {
  const Place place;
  expect_contains(expect_sentence(place.run({"check", "tiny.ini", "--kokkos-threads=600"}), 2), "512");
  const Ended ended = place.run({"--version"}, {{}, {{"KOKKOS_NUM_THREADS", "1000"}}});
  expect_contains(expect_sentence(ended, 2), "KOKKOS_NUM_THREADS");
}

TEST(Surroundings, TheLogSaysHowThreadsAreBoundAndNothingElseIsPrinted) {
  const Place place;
  if (place.run({"--version"}).out.find("back end  OpenMP") == std::string::npos)
    GTEST_SKIP() << "there is one thread only";
  const auto threads = [&](const std::map<std::string, std::string>& environment) {
    const Ended ended = place.run({"run", "tiny.ini", "-o", "run", "--overwrite", "--quiet"}, {{}, environment});
    expect_success(ended);
    EXPECT_EQ(ended.out, "");
    const std::string log = content_of(place / "run/log.txt");
    const std::size_t begin = log.find("threads "), end = log.find("GEMM");
    EXPECT_LT(begin, end) << log;
    return log.substr(begin, end - begin);
  };
  const unsigned cores = std::max(1U, std::thread::hardware_concurrency());
  const std::string unbound = threads({{"OMP_NUM_THREADS", "2"}, {"OMP_PROC_BIND", "false"}});
  const std::string advice = cores >= 2 ? "on a machine of your own OMP_PROC_BIND=" : "there are 1 cores, ";
  EXPECT_EQ(unbound.rfind("threads   2\nbinding   none; " + advice, 0), 0U) << unbound;
  const std::string bound = threads({{"OMP_NUM_THREADS", "2"}, {"OMP_PROC_BIND", "spread"}, {"OMP_PLACES", "cores"}});
  EXPECT_EQ(bound.rfind("threads   2\nbinding   to cores", 0), 0U) << bound;
  EXPECT_EQ(bound.find("machine of your own"), std::string::npos) << bound;
  expect_contains(threads({{"OMP_NUM_THREADS", std::to_string(cores + 1)}}), " cores, and as many threads are quicker");
  EXPECT_EQ(threads({{"OMP_NUM_THREADS", "1"}}), "threads   1\n");
  // Kokkos' own warnings, which it has where nothing is said of binding, stay out of sight.
  const std::string unset = "unset OMP_PROC_BIND; export OMP_NUM_THREADS=2; ";
  EXPECT_EQ(shell(place, unset + program + " run tiny.ini -o unset --quiet >printed 2>&1"), 0);
  EXPECT_EQ(content_of(place / "printed"), "");
}

TEST(Surroundings, ANameWithALineBreakLeavesOneLine) {
  const Place place;
  expect_success(place.run({"run", "tiny.ini", "-o", "two\nlines"}));
  expect_sentence(place.run({"run", "tiny.ini", "-o", "two\nlines"}), 2);
  expect_sentence(place.run({"eval", "tiny.ini", "--checkpoint", "no\nfile"}), 4);
}

TEST(Surroundings, ErrorsAreColouredOnATerminalOnly) {
  const std::string plain = "ridgeline: rnu is not a command; did you mean run?";
  const std::string red = "\033[1;31mridgeline:\033[0m rnu is not a command; did you mean run?";
  const auto error = [](bool terminal, const std::map<std::string, std::string>& environment) {
    Surroundings surroundings;
    surroundings.error_terminal = terminal;
    surroundings.environment = {{"TERM", "xterm"}, {"NO_COLOR", ""}};
    for (const auto& [name, value] : environment) surroundings.environment[name] = value;
    const Ended ended = run_program({"rnu"}, surroundings);
    EXPECT_EQ(ended.status, 2);
    return ended.err.substr(0, ended.err.find_first_of("\r\n"));  // a terminal ends lines in its own way
  };
  EXPECT_EQ(error(true, {}), red);
  EXPECT_EQ(error(false, {}), plain);
  EXPECT_EQ(error(true, {{"NO_COLOR", "1"}}), plain);
  EXPECT_EQ(error(true, {{"TERM", "dumb"}}), plain);
}

}  // namespace
}  // namespace ridgeline::program

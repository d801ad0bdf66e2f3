// `run --profile`: the trace, the table, what it leaves alone, and how it ends.
#include <algorithm>
#include <cctype>
#include <csignal>
#include <fstream>

#include "io/hdf5.hpp"
#include "io/kernel_times.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_contains;

/// Any JSON. A number, a word or a text is in `text`; members of an object have names, elements of an array do not.
struct Json {
  std::string text;
  std::vector<std::pair<std::string, Json>> members;

  const Json& operator[](const std::string& name) const {
    static const Json none;
    for (const auto& [member, value] : members)
      if (member == name) return value;
    ADD_FAILURE() << "there is no " << name;
    return none;
  }
  double number() const { return std::stod(text); }
};

/// Reads JSON strictly: what it cannot read fails the test.
class JsonReader {
 public:
  explicit JsonReader(std::string text) : text_(std::move(text)) {}

  Json read_all() {
    Json value = read();
    EXPECT_EQ(peek(), '\0') << "something follows at " << at_;
    return value;
  }

 private:
  char peek() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  void expect(char letter) {
    EXPECT_EQ(peek(), letter) << "at " << at_;
    ++at_;
  }

  Json read() {
    Json value;
    const char first = peek();
    if (first == '"') {
      value.text = string();
    } else if (first == '{' || first == '[') {
      ++at_;
      const char last = first == '{' ? '}' : ']';
      while (peek() != last && peek() != '\0') {
        std::string name;
        if (first == '{') {
          name = string();
          expect(':');
        }
        value.members.emplace_back(name, read());
        if (peek() != last) expect(',');
      }
      expect(last);
    } else {
      const std::size_t end = std::min(text_.find_first_of(",]} \n", at_), text_.size());
      value.text = text_.substr(at_, end - at_);
      EXPECT_FALSE(value.text.empty()) << "at " << at_;
      at_ = std::max(end, at_ + 1);
    }
    return value;
  }

  std::string string() {
    std::string value;
    expect('"');
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\') ++at_;
      value += text_.at(at_);
    }
    expect('"');
    return value;
  }

  std::string text_;
  std::size_t at_ = 0;
};

Json profile_of(const fs::path& run) { return JsonReader(content_of(run / "profile.json")).read_all(); }

int count_events(const Json& profile, const std::string& name) {
  const auto& events = profile["traceEvents"].members;
  return static_cast<int>(std::count_if(events.begin(), events.end(), [&](const auto& event) {
    return event.second["ph"].text == "X" && event.second["name"].text == name;
  }));
}

KernelTime kernel_of(const KernelTimes& times, const std::string& name, const std::string& place) {
  for (const KernelTime& kernel : times.kernels)
    if (kernel.name == name && kernel.place == place) return kernel;
  ADD_FAILURE() << "no " << name << " in " << place;
  return {};
}

KernelTimes kernel_times_of(const fs::path& run) { return read_kernel_times(hdf5::File::open(run / "results.h5")); }

Ended run_profiled(const Place& place, const std::string& output, Arguments more = {},
                   const Surroundings& surroundings = {}) {
  Arguments arguments = {"run", "tiny.ini", "-o", output, "--profile"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return place.run(arguments, surroundings);
}

TEST(Profile, ChangesNoBitOfARun) {
  const Place place;
  const fs::path plain = place.train("plain");
  expect_success(run_profiled(place, "profiled"));
  expect_same_outcome(place / "profiled", plain);
  EXPECT_FALSE(fs::exists(plain / "profile.json"));
  EXPECT_TRUE(kernel_times_of(plain).kernels.empty());
  EXPECT_EQ(content_of(plain / "report.html").find("<h2>Kernels</h2>"), std::string::npos);
}

TEST(Profile, TraceHoldsTheFirstStepsEventInsideEvent) {
  const Place place;
  expect_success(run_profiled(place, "run", {"--profile-steps", "2"}));
  const Json profile = profile_of(place / "run");
  EXPECT_EQ(count_events(profile, "step"), 2);
  EXPECT_EQ(count_events(profile, "epoch"), 1);
  EXPECT_EQ(count_events(profile, "backward"), 2);
  EXPECT_EQ(count_events(profile, "ridgeline::adam/step"), 2);
  EXPECT_EQ(count_events(profile, "deep copy to ridgeline::status"), 2);
  EXPECT_GT(count_events(profile, "ridgeline::gemm"), 10);
  std::vector<double> ends;  // of the events that are open
  double last = 0;
  for (const auto& [unnamed, event] : profile["traceEvents"].members) {
    if (event["ph"].text != "X") continue;
    const double begin = event["ts"].number(), end = begin + event["dur"].number();
    EXPECT_GE(begin, last) << event["name"].text;
    last = begin;
    while (!ends.empty() && ends.back() <= begin + 1e-4) ends.pop_back();
    if (!ends.empty()) {
      EXPECT_LE(end, ends.back() + 2e-3) << event["name"].text << " ends after what it is in";
    }
    ends.push_back(end);
  }
  expect_success(run_profiled(place, "none", {"--profile-steps=0"}));
  EXPECT_EQ(count_events(profile_of(place / "none"), "step"), 0);
  EXPECT_EQ(kernel_of(kernel_times_of(place / "none"), "ridgeline::adam/step", "optimiser").calls, 6);
  expect_success(run_profiled(place, "all"));
  EXPECT_EQ(count_events(profile_of(place / "all"), "step"), 6);
}

TEST(Profile, TableIsOfTheWholeRunOnScreenInTheFilesAndInTheReport) {
  const Place place;
  const Ended ended = run_profiled(place, "run", {"--profile-steps", "1"});
  expect_success(ended);
  const KernelTimes times = kernel_times_of(place / "run");
  const KernelTime adam = kernel_of(times, "ridgeline::adam/step", "optimiser");
  EXPECT_EQ(adam.calls, 6);
  // 2 epochs of 10 functions of 12 points, 8 channels to 1, a multiply-add as two operations; backward twice as many.
  EXPECT_EQ(kernel_of(times, "ridgeline::gemm", "forward/head").operations, 2 * 10 * 12 * 8 * 2);
  EXPECT_EQ(kernel_of(times, "ridgeline::gemm", "backward/head").operations, 2 * 2 * 10 * 12 * 8 * 2);
  EXPECT_GT(kernel_of(times, "ridgeline::ridge/forward", "forward/attention/solve").operations, 0);
  EXPECT_GT(times.operations_per_second, 1e8);
  double sum = 0;
  for (const KernelTime& kernel : times.kernels) sum += kernel.seconds;
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, times.seconds);
  EXPECT_LE(times.seconds, ended.seconds);
  for (const char* part : {"kernel, in", "ridgeline::gemm, ", "outside kernels", "a large matrix product here: "}) {
    expect_contains(ended.out, part);
    expect_contains(content_of(place / "run/log.txt"), part);
  }
  for (const char* part : {"<h2>Kernels</h2>", "ridgeline::adam/step", "outside kernels"})
    expect_contains(content_of(place / "run/report.html"), part);
  const std::string report = content_of(place / "run/report.html");
  expect_success(place.run({"report", "run"}));
  EXPECT_EQ(content_of(place / "run/report.html"), report);
  const Json profile = profile_of(place / "run");
  const auto& listed = profile["otherData"]["kernels"].members;
  ASSERT_EQ(listed.size(), times.kernels.size());
  EXPECT_EQ(std::count_if(listed.begin(), listed.end(),
                          [](const auto& kernel) { return kernel.second["name"].text == "ridgeline::adam/step"; }),
            1);
}

TEST(Profile, IsWrittenWhenARunFailsOrIsStopped) {
  const Place place;
  EXPECT_EQ(run_profiled(place, "diverged", {"--set", "train.learning_rate=1e30"}).status, 3);
  EXPECT_GE(count_events(profile_of(place / "diverged"), "step"), 1);
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    Surroundings surroundings;
    surroundings.interrupts = {{signal, "epoch      2", 20}};
    const Ended ended = run_profiled(place, "stopped", {"--overwrite", "--set", "train.epochs=100000"}, surroundings);
    EXPECT_EQ(ended.status, 75) << ended.err;
    const Json profile = profile_of(place / "stopped");
    EXPECT_GE(count_events(profile, "step"), 3);
    EXPECT_GT(profile["otherData"]["kernels"].members.size(), 10U);
    expect_contains(content_of(place / "stopped/log.txt"), "outside kernels");
  }
  for (const std::string& file : place.files()) EXPECT_EQ(file.find(".partial"), std::string::npos) << file;
}

TEST(Profile, OfAResumedRunIsOfItsLastPart) {
  const Place place;
  expect_success(run_profiled(place, "run", {"--set", "train.epochs=1"}));
  expect_success(run_profiled(place, "run", {"--resume", "--set", "train.epochs=3"}));
  EXPECT_EQ(count_events(profile_of(place / "run"), "step"), 6);
  EXPECT_EQ(kernel_of(kernel_times_of(place / "run"), "ridgeline::adam/step", "optimiser").calls, 6);
  // Without --profile it stays, and goes with all the rest when the run is replaced.
  const std::string profile = content_of(place / "run/profile.json");
  expect_success(place.run({"run", "tiny.ini", "-o", "run", "--resume", "--set", "train.epochs=4"}));
  EXPECT_EQ(content_of(place / "run/profile.json"), profile);
  EXPECT_TRUE(kernel_times_of(place / "run").kernels.empty());
  expect_success(place.run({"run", "tiny.ini", "-o", "run", "--overwrite"}));
  EXPECT_FALSE(fs::exists(place / "run/profile.json"));
}

TEST(Profile, OfSeveralDecksEachRunHasItsOwn) {
  const Place place;
  place.put("other.ini", tiny_deck);
  expect_success(place.run({"run", "tiny.ini", "other.ini", "-o", "both", "--profile", "--profile-steps", "3"}));
  for (const char* run : {"both/tiny", "both/other"}) {
    EXPECT_EQ(count_events(profile_of(place / run), "step"), 3) << run;
    EXPECT_EQ(kernel_of(kernel_times_of(place / run), "ridgeline::adam/step", "optimiser").calls, 6) << run;
  }
}

/// What the tests' tool is told of a run, but for the measurement of the matrix product.
std::vector<std::string> notes_of(const Place& place, const Arguments& more) {
  const std::string tool = RIDGELINE_BINARY_DIR "/tools/watch.so";
  Surroundings surroundings;
  surroundings.environment = {
      {"KOKKOS_PROFILE_LIBRARY", tool}, {"KOKKOS_TOOLS_LIBS", tool}, {"RIDGELINE_WATCH", (place / "notes").string()}};
  Arguments arguments = {"run", "tiny.ini", "-o", "run", "--overwrite"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  expect_success(place.run(arguments, surroundings));
  std::vector<std::string> notes;
  int depth = 0;  // inside that measurement
  std::ifstream file(place / "notes");
  for (std::string line; std::getline(file, line);) {
    const bool opens = line.rfind("push ", 0) == 0;
    if (line == "push gemm rate" || (depth > 0 && opens)) ++depth;
    if (depth == 0) notes.push_back(line);
    if (depth > 0 && line == "pop") --depth;
  }
  return notes;
}

TEST(Profile, LeavesAToolThatIsLoadedWhatItWouldSee) {
  const Place place;
  const std::vector<std::string> notes = notes_of(place, {});
  EXPECT_GT(notes.size(), 1000U);
  EXPECT_EQ(notes_of(place, {"--profile"}), notes);
  EXPECT_EQ(count_events(profile_of(place / "run"), "step"), 6);
}

TEST(Profile, ThatCannotBeWrittenIsAFailureOfTheRun) {
  const Place place;
  fs::create_directories(place / "run/profile.json/in the way");
  expect_contains(expect_sentence(run_profiled(place, "run", {"--overwrite"}), 4), "profile.json");
  EXPECT_TRUE(fs::exists(place / "run/results.h5"));
}

}  // namespace
}  // namespace ridgeline::program

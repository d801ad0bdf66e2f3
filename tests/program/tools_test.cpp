// What a Kokkos tool sees of a run: tests/tools/watch.cpp is loaded as a user loads any tool, and its notes are judged.
#include <algorithm>
#include <csignal>
#include <fstream>
#include <set>
#include <utility>

#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;

const std::string tool = RIDGELINE_BINARY_DIR "/tools/watch.so";

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

/// Kokkos' own: its names, and what it calls the scratch memory of its teams.
bool is_of_kokkos(const std::string& name) { return begins_with(name, "Kokkos") || name == "[unlabeled]"; }

/// What a tool was told, and what of it should not have been.
class Watched {
 public:
  /// `plugin`: what its kernels and memory may have in front instead of ridgeline.
  Watched(const fs::path& notes, std::string plugin) : plugin_(std::move(plugin)) {
    std::ifstream file(notes);
    EXPECT_TRUE(file.good()) << "the tool was not loaded";
    for (std::string line; std::getline(file, line);) {
      const std::size_t space = std::min(line.find(' '), line.size());
      note(line.substr(0, space), line.substr(std::min(space + 1, line.size())));
    }
    if (!ended) complain("the program did not end Kokkos");
  }

  std::set<std::string> complaints;
  std::set<std::string> paths;  ///< of regions
  int kernels = 0, steps = 0, copies_in_steps = 0;
  bool ended = false;

 private:
  void note(const std::string& event, const std::string& what) {
    if (event == "kernel") begin_kernel(what);
    if (event == "end") kernel_.clear();
    if (event == "push") push(what);
    if (event == "pop") pop();
    if (event == "allocate") allocate(what.substr(what.find(' ') + 1));
    if (event == "copy") copy(what, std::stoull(what));
    if (event == "finalize") {
      ended = true;
      for (const std::string& region : open_) complain("at the end the region " + region + " is open");
    }
  }

  void complain(const std::string& complaint) { complaints.insert(complaint); }

  bool is_named(const std::string& name) const {
    return begins_with(name, "ridgeline::") || begins_with(name, plugin_ + "::");
  }

  void begin_kernel(const std::string& name) {
    kernel_ = name.empty() ? "?" : name;
    ++kernels;
    if (is_of_kokkos(name)) return;
    if (!is_named(name)) complain("the kernel \"" + name + "\" has another name");
    if (open_.empty()) complain("the kernel \"" + name + "\" runs outside a region");
  }

  void push(const std::string& name) {
    if (!kernel_.empty()) complain("the region " + name + " is opened inside the kernel \"" + kernel_ + "\"");
    open_.push_back(name);
    std::string path;
    for (const std::string& region : open_) path += (path.empty() ? "" : "/") + region;
    paths.insert(path);
    if (name == "step") copies_ = 0;
  }

  void pop() {
    if (open_.empty()) {
      complain("a region is closed that was not opened");
      return;
    }
    steps += open_.back() == "step" ? 1 : 0;
    open_.pop_back();
  }

  void allocate(const std::string& name) {
    if (is_of_kokkos(name)) return;
    if (!is_named(name)) complain("the allocation \"" + name + "\" has another name");
    if (steps > 0) complain("after the first step \"" + name + "\" is allocated");
  }

  /// "BYTES TO < FROM"
  void copy(const std::string& what, std::uint64_t bytes) {
    if (std::find(open_.begin(), open_.end(), "step") == open_.end()) return;
    ++copies_in_steps;
    if (++copies_ > 1) complain("a step makes a second deep copy, " + what);
    if (bytes > 1024) complain("a step makes a large deep copy, " + what);
  }

  std::string plugin_;
  std::vector<std::string> open_;
  std::string kernel_;  // that runs
  int copies_ = 0;      // of this step
};

/// The program with the tool, which must end with this status.
Watched watch(const Place& place, const Arguments& arguments, int status, const std::vector<Interrupt>& interrupts = {},
              const std::string& plugin = "ridgeline") {
  Surroundings surroundings;
  // Kokkos before 4 reads the first of these, later ones the second.
  surroundings.environment = {
      {"KOKKOS_PROFILE_LIBRARY", tool}, {"KOKKOS_TOOLS_LIBS", tool}, {"RIDGELINE_WATCH", (place / "notes").string()}};
  surroundings.interrupts = interrupts;
  const Ended ended = place.run(arguments, surroundings);
  EXPECT_EQ(ended.status, status) << ended.out << ended.err;
  return {place / "notes", plugin};
}

Watched watch_run(const Place& place, const std::vector<std::string>& settings, int status = 0,
                  const std::string& plugin = "ridgeline") {
  return watch(place, with_settings({"run", "tiny.ini", "-o", "run", "--overwrite"}, settings), status, {}, plugin);
}

using Complaints = std::set<std::string>;

void expect_clean(const std::vector<std::string>& settings, const std::string& plugin = "ridgeline") {
  const Place place;
  const Watched watched = watch_run(place, settings, 0, plugin);
  EXPECT_EQ(watched.complaints, Complaints()) << ::testing::PrintToString(settings);
  EXPECT_EQ(watched.steps, 6);
  EXPECT_EQ(watched.copies_in_steps, 6);
  EXPECT_GT(watched.kernels, 100);
}

TEST(Tools, SeeNamesRegionsAndNoMemoryOrCopyInAStep) {
  expect_clean({});
  expect_clean({"train.gradient_clip=1", "train.schedule=one_cycle", "train.loss=hidden", "run.precision=double"});
  expect_clean({"data.resample=yes", "data.mask_channel=yes", "model.residual=pre"});
  expect_clean({"train.eval_every=1", "run.checkpoint_every=1", "attention.functional.basis=11"});
  expect_clean({"attention.functional.order=direct", "attention.functional.normalization=per_head"});
}

/// Every layer that is built in, and those of plugins/ where they are built.
TEST(Tools, SeeTheSameOfEveryLayer) {
  const Place place;
  const std::string folder = RIDGELINE_BINARY_DIR "/plugins";
  const bool has_plugins = fs::exists(folder) && !fs::is_empty(folder);
  const Arguments plugins = has_plugins ? Arguments{"--plugin", folder} : Arguments{};
  int layers = 0;
  for (const std::string kind : {"encoder", "attention", "ffn"}) {
    Arguments arguments = {"layers", kind};
    arguments.insert(arguments.end(), plugins.begin(), plugins.end());
    for (const std::string& line : lines_of(place.run(arguments).out)) {
      const std::string layer = line.substr(0, line.find(' '));
      if (!begins_with(layer, kind + "/")) continue;
      ++layers;
      const std::string name = layer.substr(kind.size() + 1);
      std::vector<std::string> settings = {"model." + kind + "=" + name};
      if (has_plugins) settings.push_back("run.plugins=" + folder);
      expect_clean(settings, name);
    }
  }
  EXPECT_GE(layers, has_plugins ? 7 : 3);
}

TEST(Tools, SeeRegionsThatNest) {
  const Place place;
  const Watched watched = watch_run(place, {"train.eval_every=1"});
  for (const char* path :
       {"run/set-up", "run/epoch/data", "run/epoch/step/data", "run/epoch/step/forward/encoder/ridgeline::gemm",
        "run/epoch/step/forward/block 0/attention/solve", "run/epoch/step/loss", "run/epoch/step/backward/head",
        "run/epoch/step/backward/block 0/attention/solve", "run/epoch/step/backward/block 0/ffn",
        "run/epoch/step/optimiser", "run/epoch/evaluation/block 0/norm", "run/checkpoint", "run/evaluation", "report"})
    EXPECT_EQ(watched.paths.count(path), 1U) << path;
}

TEST(Tools, SeeRegionsClosedByEveryOtherCommandAndAResumedRun) {
  const Place place;
  EXPECT_EQ(watch_run(place, {"train.epochs=1"}).complaints, Complaints());
  EXPECT_EQ(watch(place, {"run", "tiny.ini", "-o", "run", "--resume"}, 0).complaints, Complaints());
  EXPECT_EQ(watch(place, {"eval", "tiny.ini", "--checkpoint", "run/checkpoint.h5", "-o", "eval"}, 0).complaints,
            Complaints());
  place.put("other.ini", tiny_deck);
  // Of several runs all but the first allocate after the first step of all.
  for (const std::string& complaint : watch(place, {"run", "tiny.ini", "other.ini", "-o", "both"}, 0).complaints)
    EXPECT_TRUE(begins_with(complaint, "after the first step")) << complaint;
}

TEST(Tools, SeeRegionsClosedWhenARunFails) {
  const Place place;
  // A loss that is not finite, a solve that breaks down, a layer that throws in the middle of either pass.
  const std::string plugin = RIDGELINE_BINARY_DIR "/loaded/loaded_throwing.so";
  const std::vector<std::vector<std::string>> failures = {
      {"train.learning_rate=1e30"},
      {"attention.functional.basis=8", "attention.functional.ridge=1e-300", "data.context=0", "model.width=16",
       "data.x=0 2 1", "eval.far.x=0 3 1"},
      {"run.plugins=" + plugin, "model.ffn=throws_forward"},
      {"run.plugins=" + plugin, "model.ffn=throws_backward"}};
  for (const std::vector<std::string>& settings : failures) {
    const Watched watched = watch_run(place, settings, 3);
    for (const std::string& complaint : watched.complaints)  // these plugins copy in their passes
      EXPECT_TRUE(begins_with(complaint, "a step makes a ")) << complaint << ::testing::PrintToString(settings);
    EXPECT_GT(watched.kernels, 0);
  }
}

TEST(Tools, SeeRegionsClosedWhenARunIsStopped) {
  const Place place;
  for (const int signal : {SIGTERM, SIGINT, SIGUSR1}) {
    const Watched watched =
        watch(place, {"run", "tiny.ini", "-o", "run", "--overwrite", "--set", "train.epochs=100000"}, 75,
              {{signal, "epoch      2", 20}});
    EXPECT_EQ(watched.complaints, Complaints()) << signal;
    EXPECT_GT(watched.steps, 3);
  }
}

/// What is found of a layer of tests/loaded/careless.cpp, which does what it should not.
Complaints found_of(const std::string& layer) {
  const Place place;
  return watch_run(place, {"run.plugins=" RIDGELINE_BINARY_DIR "/loaded/loaded_careless.so", "model.ffn=" + layer})
      .complaints;
}

TEST(Tools, WouldBeToldOfALayerThatIsCareless) {
  EXPECT_EQ(found_of("unnamed_kernel"), Complaints{"the kernel \"mine\" has another name"});
  EXPECT_EQ(found_of("unnamed_memory"),
            (Complaints{"the allocation \"mine\" has another name", "after the first step \"mine\" is allocated"}));
  EXPECT_EQ(found_of("allocates"), Complaints{"after the first step \"ridgeline::careless\" is allocated"});
  const Complaints copies = found_of("copies");
  EXPECT_EQ(copies.size(), 2U);
  for (const std::string& complaint : copies) EXPECT_TRUE(begins_with(complaint, "a step makes a ")) << complaint;
  EXPECT_EQ(found_of("leaves_open").count("at the end the region run is open"), 1U);
  const Complaints closes = found_of("closes_too_many");
  EXPECT_EQ(closes.count("a region is closed that was not opened"), 1U);
  EXPECT_EQ(closes.count("the kernel \"ridgeline::sum_errors\" runs outside a region"), 1U);
  EXPECT_EQ(found_of("opens_inside_a_kernel"),
            Complaints{"the region inside is opened inside the kernel \"ridgeline::careless\""});
}

}  // namespace
}  // namespace ridgeline::program

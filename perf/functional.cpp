// Times one piece of work in a process of its own: what perf/compare and perf/scaling call, on as many threads as
// OMP_NUM_THREADS says. Or writes what goes in and what comes out, to be compared with another program's.
//
//   functional WORK [--deck inputs/sine.ini] [--set SECTION.KEY=VALUE]... [--repeats 15]
//   functional WORK --values FOLDER
//   functional WORK --count
//   functional WORK --launches
//
// WORK: step, a training step of the deck, or attention of B samples of N tokens, forward and backward, in single
// precision: BxN, functional attention (width 128, 8 heads, 8 basis functions), or LAYER/BxN, such as causal/8x1024
// (width 64, 4 heads).
//
// Timing prints one JSON line: "work", "threads", "operations" of a call, "milliseconds" of each call and the "gemm"
// rate in GFLOP/s before and after, both by the clock on the wall and in processor time, and in bytes what was
// "resident" before the work was made and the "peak" while it was timed. --values writes each array as FOLDER/NAME.f32,
// with the shapes in FOLDER/arrays.json. --count is for perf/check, under callgrind, --launches for perf/device (see
// perf/functional/launches.hpp).
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "core/kokkos.hpp"
#include "perf/functional/launches.hpp"
#include "perf/functional/works.hpp"
#include "perf/support/counted.hpp"
#include "perf/support/memory.hpp"
#include "perf/support/rates.hpp"

namespace {

using namespace ridgeline;
using namespace ridgeline::perf;

struct Arguments {
  std::string work, deck = "inputs/sine.ini", values;
  std::vector<Override> overrides;
  int repeats = 15;
  bool count = false, launches = false;
};

Arguments read_arguments(const std::vector<std::string>& texts) {
  Arguments arguments;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const auto value = [&] {
      if (i + 1 == texts.size()) throw Error(Exit::mistake, texts[i] + " takes a value.");
      return texts[++i];
    };
    if (texts[i] == "--deck")
      arguments.deck = value();
    else if (texts[i] == "--set")
      arguments.overrides.push_back(Override::parse(value()));
    else if (texts[i] == "--values")
      arguments.values = value();
    else if (texts[i] == "--repeats")
      arguments.repeats = std::atoi(value().c_str());
    else if (texts[i] == "--count")
      arguments.count = true;
    else if (texts[i] == "--launches")
      arguments.launches = true;
    else if (arguments.work.empty() && texts[i][0] != '-')
      arguments.work = texts[i];
    else
      throw Error(Exit::mistake, texts[i] + " is no argument of functional.");
  }
  if (arguments.work.empty() || arguments.repeats < 1)
    throw Error(Exit::mistake,
                "functional takes the name of a work, step, BxN or LAYER/BxN, and --repeats of at least 1.");
  return arguments;
}

struct Times {
  std::vector<double> wall, processor;  // milliseconds of each call
};

Times times_of(Work& work, int repeats) {
  Times times;
  for (int i = 0; i < repeats; ++i) {
    const Clocks began = clocks();
    work.call();
    Execution().fence();
    const Clocks now = clocks();
    times.wall.push_back(1e3 * (now.wall - began.wall));
    times.processor.push_back(1e3 * (now.processor - began.processor));
  }
  return times;
}

void time(const Arguments& arguments) {
  const Clocks before = gemm_rate<float>();
  forget_peak();
  const double resident = resident_bytes();
  const std::unique_ptr<Work> work = make_work(arguments.work, arguments.deck, arguments.overrides);
  for (int i = 0; i < 3; ++i) work->call();  // warms up
  Execution().fence();
  forget_peak();
  const Times times = times_of(*work, arguments.repeats);
  const double peak = peak_bytes();
  const Clocks after = gemm_rate<float>();
  fmt::print(
      "{{\"work\": \"{}\", \"threads\": {}, \"operations\": {:.0f}, \"milliseconds\": {{\"wall\": [{:.4f}], "
      "\"processor\": [{:.4f}]}}, \"gemm\": {{\"wall\": [{:.2f}, {:.2f}], \"processor\": [{:.2f}, {:.2f}]}}, "
      "\"resident\": {:.0f}, \"peak\": {:.0f}}}\n",
      arguments.work, Execution().concurrency(), work->operations(), fmt::join(times.wall, ", "),
      fmt::join(times.processor, ", "), before.wall, after.wall, before.processor, after.processor, resident, peak);
}

void write_values(const Arguments& arguments) {
  const std::filesystem::path folder = arguments.values;
  std::filesystem::create_directories(folder);
  std::string index;
  make_work(arguments.work, arguments.deck, arguments.overrides)
      ->write_values([&](const std::string& name, const std::vector<int>& shape, const std::vector<float>& values) {
        const std::filesystem::path path = folder / (name + ".f32");
        std::filesystem::create_directories(path.parent_path());
        std::ofstream file(path, std::ios::binary);
        file.write(reinterpret_cast<const char*>(values.data()),
                   static_cast<std::streamsize>(values.size() * sizeof(float)));
        if (!file.flush()) throw Error(Exit::file, fmt::format("{} cannot be written.", path.string()));
        index += fmt::format("{}\n \"{}\": [{}]", index.empty() ? "" : ",", name, fmt::join(shape, ", "));
      });
  std::ofstream(folder / "arrays.json") << "{" << index << "}\n";
}

}  // namespace

int main(int count, char** values) try {
  const Arguments arguments = read_arguments({values + 1, values + count});
  const KokkosScope kokkos;
  if (!arguments.values.empty()) {
    write_values(arguments);
  } else if (arguments.launches) {
    const std::unique_ptr<Work> work = make_work(arguments.work, arguments.deck, arguments.overrides);
    work->call();
    fmt::print("{}\n", perf::launches_of([&] { work->call(); }));
  } else if (arguments.count) {
    const std::unique_ptr<Work> work = make_work(arguments.work, arguments.deck, arguments.overrides);
    perf::count(arguments.work.c_str(), [&] { work->call(); });
  } else {
    time(arguments);
  }
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "functional: {}\n", error.what());
  return 2;
}

// Micro-benchmarks of every kernel of a training step, at its shapes there, and of layers that the step of inputs/sine.ini
// has not: time, GFLOP/s, bytes a second.
//
//   kernels [--batch 8] [--tokens 120] [--benchmark_filter=REGEX] [--benchmark_…]
//   kernels --count TEXT        calls each whose name holds TEXT once, to be counted by callgrind (see perf/check)
//   kernels --list json         says what each computes and moves, and runs none
//
// The context names the GEMM's rates, in float and double, in the same run. Kernels named `memory` are no part of a step:
// they measure memory, for perf/roofline.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "core/error.hpp"
#include "perf/kernels/kernel.hpp"
#include "perf/support/counted.hpp"
#include "perf/support/rates.hpp"

namespace ridgeline::perf {

Array filled(std::size_t count) {
  Array array("filled", count);
  const auto host = Kokkos::create_mirror_view(array);
  for (std::size_t i = 0; i < count; ++i)
    host_pointer(host)[i] = static_cast<float>((i * 7919 + i / 1009) % 1009) / 1009 - 0.5F;
  Kokkos::deep_copy(array, host);
  return array;
}

namespace {

std::vector<Kernel> all_kernels(const Sizes& sizes) {
  std::vector<Kernel> kernels;
  add_products(sizes, kernels);
  add_basis_functions(sizes, kernels);
  add_ridge(sizes, kernels);
  add_layer_norm(sizes, kernels);
  add_activations(sizes, kernels);
  add_rows(sizes, kernels);
  add_attention_cores(sizes, kernels);
  add_training(sizes, kernels);
  add_data(sizes, kernels);
  return kernels;
}

const char* name_of(Arithmetic arithmetic) {
  switch (arithmetic) {
    case Arithmetic::single_precision:
      return "single";
    case Arithmetic::double_precision:
      return "double";
    case Arithmetic::none:
      return "none";
    default:
      return "unknown";
  }
}

void run(const Kernel& kernel, benchmark::State& state) {
  const std::function<void()> call = kernel.prepare();
  call();
  for ([[maybe_unused]] const auto iteration : state) {
    call();
    Execution().fence();
  }
  using benchmark::Counter;
  if (kernel.operations > 0) state.counters["FLOP/s"] = Counter(kernel.operations, Counter::kIsIterationInvariantRate);
  state.counters["bytes/s"] = Counter(kernel.bytes, Counter::kIsIterationInvariantRate);
  state.counters["operations"] = kernel.operations;
  state.counters["bytes"] = kernel.bytes;
  state.counters["footprint"] = kernel.footprint > 0 ? kernel.footprint : kernel.bytes;
  state.counters["in_step"] = kernel.in_step ? 1 : 0;
  state.SetLabel(name_of(kernel.arithmetic));
}

void count_all(const std::vector<Kernel>& kernels, const std::string& text) {
  for (const Kernel& kernel : kernels)
    if (kernel.name.find(text) != std::string::npos) count(kernel.name.c_str(), kernel.prepare());
}

void list(const std::vector<Kernel>& kernels) {
  std::string text;
  for (const Kernel& kernel : kernels)
    text +=
        fmt::format(R"({}{{"name": "{}", "arithmetic": "{}", "operations": {:.0f}, "bytes": {:.0f}, "in_step": {}}})",
                    text.empty() ? "" : ", ", kernel.name, name_of(kernel.arithmetic), kernel.operations, kernel.bytes,
                    kernel.in_step);
  fmt::print("[{}]\n", text);
}

/// GFLOP/s of the GEMM by either clock: what Google Benchmark calls real and CPU time.
void add_rates(const std::string& precision, const Clocks& rate) {
  benchmark::AddCustomContext("gemm_" + precision, fmt::format("{:.2f}", rate.wall));
  benchmark::AddCustomContext("gemm_" + precision + "_processor", fmt::format("{:.2f}", rate.processor));
}

/// Takes `--name value` away from the arguments; the value, or null where it is not there.
const char* take(int& count, char** values, const char* name) {
  for (int i = 1; i + 1 < count; ++i) {
    if (std::strcmp(values[i], name) != 0) continue;
    const char* value = values[i + 1];
    for (int j = i; j + 2 < count; ++j) values[j] = values[j + 2];
    count -= 2;
    return value;
  }
  return nullptr;
}

int size_of(const char* name, const char* text) {
  const int size = std::atoi(text);
  if (size < 1) throw Error(Exit::mistake, fmt::format("{} {} is no whole number from 1 on.", name, text));
  return size;
}

int measure(int count, char** values) {
  Sizes sizes;
  if (const char* batch = take(count, values, "--batch")) sizes.batch = size_of("--batch", batch);
  if (const char* tokens = take(count, values, "--tokens")) sizes.tokens = size_of("--tokens", tokens);
  const char* counted = take(count, values, "--count");
  const bool listed = take(count, values, "--list") != nullptr;
  const KokkosScope kokkos;
  std::vector<Kernel> kernels = all_kernels(sizes);
  if (counted != nullptr) {
    count_all(kernels, counted);
    return 0;
  }
  if (listed) {
    list(kernels);
    return 0;
  }
  add_memory(kernels);
  for (const Kernel& kernel : kernels)
    benchmark::RegisterBenchmark(kernel.name.c_str(), [&kernel](benchmark::State& state) { run(kernel, state); })
        ->UseRealTime()
        ->Unit(benchmark::kMicrosecond);
  benchmark::Initialize(&count, values);
  if (benchmark::ReportUnrecognizedArguments(count, values)) return 2;
  benchmark::AddCustomContext("threads", std::to_string(Execution().concurrency()));
  add_rates("single", gemm_rate<float>());
  add_rates("double", gemm_rate<double>());
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}

}  // namespace
}  // namespace ridgeline::perf

int main(int count, char** values) try {
  return ridgeline::perf::measure(count, values);
} catch (const std::exception& error) {
  fmt::print(stderr, "kernels: {}\n", error.what());
  return 2;
}

// Times what perf/compare sets beside PyTorch: a training step of a deck, and functional attention, forward and backward,
// at several shapes (width 128, 8 heads, 8 basis functions, single precision).
//
// usage: functional DECK [--repeats 15] [--only TEXT]          TEXT: part of "sine training step" or "attention 8x120"
// Prints one JSON line: {"threads": …, "rows": [{"what", "min", "median"}…]}, milliseconds.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/random.hpp"
#include "core/region.hpp"
#include "driver/session.hpp"
#include "layer/registry.hpp"

namespace {

using namespace ridgeline;

struct Arguments {
  std::string deck, only;
  int repeats = 15;
};

struct Row {
  std::string what;
  double least, median;
};

Row clock(const std::string& what, int repeats, const std::function<void()>& work) {
  for (int i = 0; i < 3; ++i) work();
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    const double began = wall_time();
    work();
    Execution().fence();
    times.push_back(1e3 * (wall_time() - began));
  }
  std::sort(times.begin(), times.end());
  return {what, times.front(), times[times.size() / 2]};
}

Row training_step(const std::string& what, const Arguments& arguments) {
  const Experiment experiment = read_experiment(Deck::read(arguments.deck), {});
  Session<float> session(experiment);
  return clock(what, arguments.repeats, [&] { session.trainer().step(); });
}

/// The layer by itself, with its parameters, memory and signal.
class Attention {
 public:
  Attention(int batch, int tokens) : signal_("signal", 1), x_("x", size(batch, tokens)), y_("y", size(batch, tokens)) {
    const LayerEntry& entry = Registry::instance().get("attention", "functional");
    const OptionValues options = OptionValues::defaults(entry.options);
    Setup<float> setup{
        width, width, options, ParameterScope<float>(parameters_, ""), Signal(signal_.data()), Registry::instance()};
    layer_ = entry.make<float>(setup);
    parameters_.allocate();
    parameters_.initialise(1);
    const Shape shape{batch, tokens};
    layer_->reserve(shape, arena_);
    arena_.allocate();
    arena_.restart();
    layer_->reserve(shape, arena_);
    const auto host = Kokkos::create_mirror_view(x_);
    const RandomStream stream(1, "perf/x");
    for (std::size_t i = 0; i < x_.extent(0); ++i) host_pointer(host)[i] = static_cast<float>(stream.normal(i));
    Kokkos::deep_copy(x_, host);
    Kokkos::deep_copy(y_, 1.0F);
    input_ = Tensor<float>(x_.data(), batch, tokens, width);
    output_ = Tensor<float>(y_.data(), batch, tokens, width);
    gradient_ = Kokkos::View<float*, Memory>("dx", x_.extent(0));
    cotangent_ = Kokkos::View<float*, Memory>("dy", x_.extent(0));
    Kokkos::deep_copy(cotangent_, 1.0F);
  }

  void forward_and_backward() {
    layer_->forward(input_, {}, output_);
    layer_->backward(input_, Tensor<float>(cotangent_.data(), input_.extent(0), input_.extent(1), width),
                     Tensor<float>(gradient_.data(), input_.extent(0), input_.extent(1), width));
  }

 private:
  static constexpr int width = 128;
  static std::size_t size(int batch, int tokens) { return static_cast<std::size_t>(batch) * tokens * width; }

  Parameters<float> parameters_;
  Kokkos::View<std::uint64_t*, Memory> signal_;
  Arena arena_;
  std::unique_ptr<Layer<float>> layer_;
  Kokkos::View<float*, Memory> x_, y_, gradient_, cotangent_;
  Tensor<float> input_, output_;
};

std::vector<Row> measure(const Arguments& arguments) {
  std::vector<Row> rows;
  const auto wanted = [&](const std::string& what) { return what.find(arguments.only) != std::string::npos; };
  for (const auto& [batch, tokens] : {std::pair{8, 120}, {8, 1024}, {2, 4096}, {1, 16384}}) {
    const std::string what = fmt::format("attention {}x{}", batch, tokens);
    if (!wanted(what)) continue;
    Attention attention(batch, tokens);
    rows.push_back(clock(what, arguments.repeats, [&] { attention.forward_and_backward(); }));
  }
  if (wanted("sine training step")) rows.push_back(training_step("sine training step", arguments));
  return rows;
}

}  // namespace

int main(int count, char** values) try {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string argument = values[i];
    if (argument == "--repeats" && i + 1 < count)
      arguments.repeats = std::stoi(values[++i]);
    else if (argument == "--only" && i + 1 < count)
      arguments.only = values[++i];
    else
      arguments.deck = argument;
  }
  if (arguments.deck.empty()) {
    fmt::print(stderr, "usage: functional DECK [--repeats 15] [--only TEXT]\n");
    return 2;
  }
  const KokkosScope kokkos;
  std::string rows;
  for (const Row& row : measure(arguments))
    rows += fmt::format("{}{{\"what\": \"{}\", \"min\": {:.4f}, \"median\": {:.4f}}}", rows.empty() ? "" : ", ",
                        row.what, row.least, row.median);
  fmt::print("{{\"threads\": {}, \"rows\": [{}]}}\n", Execution().concurrency(), rows);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "functional: {}\n", error.what());
  return 2;
}

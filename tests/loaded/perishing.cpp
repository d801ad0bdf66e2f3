// A layer that does something to the process that runs it, by its option `how`: the conformance kit goes on.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "math/linear.hpp"

#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

// NOLINTNEXTLINE(misc-no-recursion): the flaw
__attribute__((noinline)) int endless(volatile int* depth) {
  volatile char room[4096];
  room[*depth % 4096] = static_cast<char>(*depth);
  *depth = *depth + 1;
  return endless(depth) + room[*depth % 4096];
}

/// Whether the kit has its folder for a checkpoint among the temporary files of this process: nothing else makes one.
bool writes_a_checkpoint() { return !std::filesystem::is_empty(std::filesystem::temp_directory_path()); }

/// A linear map.
template <class Scalar>
class Perishing final : public Layer<Scalar> {
 public:
  static void declare(OptionSet& options) {
    options.text("how", "not", "what it does");
    options.integer("width", 1, "2: where `how` is `variation`, it is not made").at_least(1).trials({"2"});
  }

  explicit Perishing(Setup<Scalar>& setup)
      : how_(setup.options.text("how")), map_(setup.parameters, "map", setup.inputs, setup.outputs) {
    if (how_ == "made" || (how_ == "variation" && setup.options.integer("width") == 2)) std::raise(SIGSEGV);
    if (how_ == "made_without_memory") throw std::bad_alloc();
    if (how_ == "large") setup.parameters.declare(large_, "large", {2000000000, 2000000000}, Initial::constant(0));
  }

  void reserve(const Shape& shape, Arena& arena) override {
    sums_.reserve(shape.rows(), map_.outputs(), arena);
    if (how_ == "grow") arena.kept<Scalar>(std::size_t{1000} * ++calls_);
    if (how_ == "large_memory") arena.kept<Scalar>(std::size_t{1} << 45);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    perish();
    map_.product(rows_of(x), rows_of(y));
    add_bias<Scalar>(rows_of(y), map_.bias.value, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    sums_.add(rows_of(dy), map_.bias.gradient);
    map_.add_weight_gradient(rows_of(x), rows_of(dy));
    if (how_ == "dx" && dx.data() == nullptr) std::raise(SIGSEGV);
    if (dx.data() != nullptr) map_.input_gradient(rows_of(dy), rows_of(dx));
  }

  Operations operations(const Shape&) const override { return Operations::unknown(); }

 private:
  /// In the end of Kokkos, after the checks, as one whose writes beyond its memory show there only.
  static void perish_in_the_end() {
    static bool once = false;
    if (!std::exchange(once, true)) Kokkos::push_finalize_hook([] { std::abort(); });
  }

  void perish() const {
    volatile int depth = 0;
    if (how_ == "end" || how_ == "end_flawed") perish_in_the_end();
    if (how_ == "end_flawed") throw std::runtime_error("a flaw");
    if (how_ == "exit") std::exit(0);  // NOLINT(concurrency-mt-unsafe)
    if (how_ == "abort") std::abort();
    if (how_ == "recursion") endless(&depth);
    if (how_ == "stopped") throw Error(Exit::stopped, "Stopped, says the layer.");
    if (how_ == "without_memory") throw std::bad_alloc();
    if (how_ == "number") throw 7;
    if (how_ == "text") throw std::runtime_error("one line\nand \xff another" + std::string(100000, 'r'));
    if (how_ == "checkpoint" && writes_a_checkpoint()) std::abort();
    if (how_ == "print") std::printf("{ printed by the layer\n");
    if (how_ == "kernel")
      Kokkos::parallel_for("perishing::kernel", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, 1),
                           [](int) { throw std::runtime_error("thrown in a kernel"); });
  }

  std::string how_;
  Linear<Scalar> map_;
  Parameter<Scalar> large_;
  ColumnSums<Scalar> sums_;
  int calls_ = 0;
};

RIDGELINE_REGISTER_LAYER("ffn", "perishing", Perishing, "a linear map that may end the process");

}  // namespace

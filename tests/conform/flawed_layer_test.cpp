// A layer with one flaw at a time: each check finds the one that it is for, and nothing where there is none.
#include <cmath>

#include "caught.hpp"
#include "core/region.hpp"
#include "math/linear.hpp"
#include "support/conforming.hpp"

namespace ridgeline::conform {
namespace {

enum class Flaw {
  none,
  wrong_gradient,
  imprecise_in_single,
  overwrites_gradient,
  begins_gradient_late,
  gradient_needs_dx,
  reads_output,
  reads_kept_input,
  reads_passing,
  reads_unwritten,
  ignores_residual,
  counts_calls,
  counts_other_shapes,
  sees_second_sample,
  sees_batch,
  sees_last_token,
  gradient_sees_last_token,
  gradient_reaches_last_token,
  sees_position,
  sees_length,
  writes_beyond,
  writes_gradient_given,
  wastes_memory,
  allocates,
  copies,
  unnamed_kernel,
  outside_region,
  open_region,
  hides_nan,
  overflows,
  miscounts,
  grows_wrongly,
  remembers_elsewhere,
  throws,
  throws_stopped,
  throws_bad_alloc,
  throws_number,
  reserves_more,
  miscounts_nothing,
  garbled_name,
  drifts,
  remembers_sequences,
};

/// y = (x Wᵀ)² + b, entry by entry, for each token by itself.
template <class Scalar>
class Flawed final : public Layer<Scalar> {
 public:
  Flawed(Setup<Scalar>& setup, Flaw flaw)
      : flaw_(flaw), map_(setup.parameters, "map", setup.inputs, setup.outputs), made_(++made) {}

  void reserve(const Shape& shape, Arena& arena) override {
    const std::size_t rows = shape.rows(), columns = map_.outputs();
    hidden_ = arena.kept<Scalar>(rows, columns);
    gradient_ = arena.passing<Scalar>(rows, columns);
    sums_.reserve(shape.rows(), map_.outputs(), arena);
    if (flaw_ == Flaw::reserves_more) arena.kept<Scalar>(std::size_t{1000} * ++reserved_);
    if (flaw_ == Flaw::wastes_memory) arena.kept<Scalar>(12 * rows, columns);
    if (shape.tokens > 20) ++large_shapes_;
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    if (flaw_ == Flaw::throws) throw std::runtime_error("a flaw");
    if (flaw_ == Flaw::throws_stopped) throw Error(Exit::stopped, "a flaw.");
    if (flaw_ == Flaw::throws_bad_alloc) throw std::bad_alloc();
    if (flaw_ == Flaw::throws_number) throw 7;
    input_ = x;
    output_ = y;
    map_.product(rows_of(x), hidden_);
    if (flaw_ == Flaw::reads_unwritten) scale(hidden_, gradient_, hidden_, hidden_, false);
    if (flaw_ == Flaw::allocates) Kokkos::View<Scalar*, Memory>("ridgeline::test/extra", 3);
    if (flaw_ == Flaw::outside_region) Kokkos::Profiling::popRegion();
    const char* name = flaw_ == Flaw::unnamed_kernel ? "square" : "ridgeline::test/square";
    square(flaw_ == Flaw::garbled_name ? "ridgeline::\xff" : name, hidden_, rows_of(y));
    if (flaw_ == Flaw::outside_region) Kokkos::Profiling::pushRegion("back");
    if (flaw_ == Flaw::open_region) Kokkos::Profiling::pushRegion("left open");
    add_bias<Scalar>(rows_of(y), map_.bias.value,
                     flaw_ == Flaw::ignores_residual ? Matrix<const Scalar>() : rows_of(residual));
    spoil(x, y, hidden_, spoiling(shape_of(x)));
    if (flaw_ == Flaw::reads_passing) square("ridgeline::test/square", hidden_, gradient_);
    ++calls_;
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    if (flaw_ == Flaw::overwrites_gradient) Kokkos::deep_copy(map_.bias.gradient, Scalar(0));
    if (flaw_ == Flaw::copies) Kokkos::deep_copy(gradient_, Scalar(0));
    sums_.add(rows_of(dy), map_.bias.gradient);
    const bool reads_output = flaw_ == Flaw::reads_output;
    scale(hidden_, rows_of(dy), gradient_, reads_output ? read(rows_of(output_)) : read(hidden_),
          reads_output || flaw_ == Flaw::reads_passing);
    if (flaw_ == Flaw::begins_gradient_late)
      begin_late(rows_of(x));
    else
      map_.add_weight_gradient(rows_of(flaw_ == Flaw::reads_kept_input ? input_ : x), gradient_);
    if (flaw_ == Flaw::gradient_needs_dx && dx.data() == nullptr) map_.add_weight_gradient(rows_of(x), gradient_);
    if (dx.data() != nullptr) map_.input_gradient(gradient_, rows_of(dx));
    if (flaw_ == Flaw::wrong_gradient && dx.data() != nullptr) enlarge(dx.data(), dx.size());
    if (dx.data() != nullptr) spoil_gradient(x, dy, dx, flaw_);
    if (flaw_ == Flaw::writes_gradient_given)
      enlarge(const_cast<Scalar*>(dy.data()), 1);  // NOLINT(*-const-cast): the flaw
  }

  Operations operations(const Shape& shape) const override {
    const double product = map_.operations(shape.rows()), own = 2.0 * shape.rows() * map_.outputs();
    Operations operations{product + own, 2 * product + own, own, own, true};
    if (flaw_ == Flaw::miscounts) operations.backward += product;
    if (flaw_ == Flaw::miscounts_nothing) operations.own_forward = -1;
    if (flaw_ == Flaw::grows_wrongly) operations.forward += own * shape.batch;
    return operations;
  }

  bool continues() const override { return true; }
  void reserve_sequence(const Shape& longest, Arena& arena) override { reserve({longest.batch, 1}, arena); }
  void begin_sequence() override {
    token_ = 0;
    ++sequences_;
  }
  void next_token(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    forward(x, residual, y);
    if (flaw_ == Flaw::drifts) spoil(x, y, hidden_, {flaw_, static_cast<Scalar>(1e-3 * token_)});
    if (flaw_ == Flaw::remembers_sequences) spoil(x, y, hidden_, {flaw_, static_cast<Scalar>(1e-3 * (sequences_ - 1))});
    ++token_;
  }

  struct Spoiling {
    Flaw flaw;
    Scalar amount;
  };

  static void square(const char* name, Matrix<const Scalar> hidden, Matrix<Scalar> y) {
    const int columns = extent(y, 1);
    Kokkos::parallel_for(
        name, RangePolicy(0, static_cast<int>(y.size())), KOKKOS_LAMBDA(int i) {
          const Scalar h = hidden(i / columns, i % columns);
          y(i / columns, i % columns) = h * h;
        });
  }

  /// result = 2 hidden dy, plus nothing times `other` where it is read.
  static void scale(Matrix<const Scalar> hidden, Matrix<const Scalar> dy, Matrix<Scalar> result,
                    Matrix<const Scalar> other, bool read) {
    const int columns = extent(dy, 1);
    const bool itself = other.data() == hidden.data();
    Kokkos::parallel_for(
        "ridgeline::test/scale", RangePolicy(0, static_cast<int>(dy.size())), KOKKOS_LAMBDA(int i) {
          const int row = i / columns, j = i % columns;
          const Scalar nothing = !read ? Scalar(0) : Scalar(0) * (itself ? result(row, j) : other(row, j));
          result(row, j) = 2 * hidden(row, j) * dy(row, j) + nothing;
        });
  }

  static void enlarge(Scalar* entries, std::size_t count) {
    Kokkos::parallel_for(
        "ridgeline::test/enlarge", RangePolicy(0, count), KOKKOS_LAMBDA(int i) { entries[i] *= Scalar(1.00001); });
  }

  /// The gradient of the first token depends on the last one, or that of the last one on the first output.
  static void spoil_gradient(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx, Flaw flaw) {
    if (flaw != Flaw::gradient_sees_last_token && flaw != Flaw::gradient_reaches_last_token) return;
    const int last = extent(x, 1) - 1;
    Kokkos::parallel_for(
        "ridgeline::test/spoil_gradient", RangePolicy(0, extent(x, 0)), KOKKOS_LAMBDA(int sample) {
          if (flaw == Flaw::gradient_sees_last_token)
            dx(sample, 0, 0) += x(sample, last, 0);
          else
            dx(sample, last, 0) += dy(sample, 0, 0);
        });
  }

  static void spoil(Tensor<const Scalar> x, Tensor<Scalar> y, Matrix<Scalar> hidden, Spoiling spoiling) {
    const int second = extent(y, 0) > 1 ? 1 : 0, tokens = extent(y, 1), columns = extent(y, 2),
              size = static_cast<int>(y.size());
    const Flaw flaw = spoiling.flaw;
    const Scalar amount = spoiling.amount;
    Kokkos::parallel_for(
        "ridgeline::test/spoil", RangePolicy(0, size), KOKKOS_LAMBDA(int i) {
          const int sample = i / (tokens * columns), n = i / columns % tokens;
          Scalar& entry = y(sample, n, i % columns);
          switch (flaw) {
            case Flaw::imprecise_in_single:
              if (sizeof(Scalar) == 4) entry += Scalar(0.1);
              break;
            case Flaw::counts_calls:
            case Flaw::counts_other_shapes:
            case Flaw::sees_batch:
            case Flaw::sees_length:
            case Flaw::remembers_elsewhere:
            case Flaw::drifts:
            case Flaw::remembers_sequences:
              entry += amount;
              break;
            case Flaw::sees_second_sample:
              entry += amount * x(second, 0, 0);
              break;
            case Flaw::sees_last_token:
              entry += amount * x(sample, tokens - 1, 0);
              break;
            case Flaw::sees_position:
              entry += amount * n;
              break;
            case Flaw::writes_beyond:
              if (i == 0) hidden.data()[size] = 1;
              break;
            case Flaw::hides_nan:
              if (std::isnan(entry)) entry = 0;
              break;
            case Flaw::overflows:
              if (x(sample, n, 0) > Scalar(1e9)) entry /= Scalar(0);
              break;
            default:
              break;
          }
        });
  }

 private:
  /// Asks what to multiply the gradient by after it has added to it.
  void begin_late(Matrix<const Scalar> x) {
    const int outputs = map_.outputs(), inputs = map_.inputs();
    gemm<Scalar>({outputs, inputs, extent(x, 0)}, {gradient_.data(), outputs, Op::transpose}, {x.data(), inputs},
                 {map_.weight.gradient.data(), inputs}, {1, 1});
    map_.weight.gradient_factor();
  }

  Spoiling spoiling(const Shape& shape) const {
    double amount = 1e-3;
    if (flaw_ == Flaw::counts_calls) amount *= calls_;
    if (flaw_ == Flaw::counts_other_shapes) amount *= large_shapes_;
    if (flaw_ == Flaw::sees_batch) amount = 1e-9 * shape.batch;
    if (flaw_ == Flaw::sees_length) amount *= shape.tokens;
    if (flaw_ == Flaw::remembers_elsewhere) amount *= made_;
    if (flaw_ == Flaw::drifts || flaw_ == Flaw::remembers_sequences) amount = 0;
    return {flaw_, static_cast<Scalar>(amount)};
  }

  static inline int made = 0;

  Flaw flaw_;
  Linear<Scalar> map_;
  int made_, calls_ = 0, large_shapes_ = 0, reserved_ = 0, token_ = 0, sequences_ = 0;
  Matrix<Scalar> hidden_;    // [B·N, outputs]
  Matrix<Scalar> gradient_;  // [B·N, outputs]
  ColumnSums<Scalar> sums_;
  Tensor<const Scalar> input_;
  Tensor<Scalar> output_;
};

const Expectation<Flaw> expectations[] = {
    {Flaw::wrong_gradient, "wrong_gradient", "gradients", "x["},
    {Flaw::imprecise_in_single, "imprecise_in_single", "single precision", "the output"},
    {Flaw::overwrites_gradient, "overwrites_gradient", "accumulation", "map.bias"},
    {Flaw::begins_gradient_late, "begins_gradient_late", "accumulation", "map.weight"},
    {Flaw::gradient_needs_dx, "gradient_needs_dx", "accumulation", "map.weight"},
    {Flaw::reads_output, "reads_output", "sources", "the backward pass"},
    {Flaw::reads_kept_input, "reads_kept_input", "sources", "the backward pass"},
    {Flaw::reads_passing, "reads_passing", "sources", "the backward pass"},
    {Flaw::reads_unwritten, "reads_unwritten", "sources", "the forward pass"},
    {Flaw::ignores_residual, "ignores_residual", "residual", "residual"},
    {Flaw::counts_calls, "counts_calls", "repetition", "the output differs"},
    {Flaw::counts_other_shapes, "counts_other_shapes", "repetition", "after 3 samples of 29 tokens"},
    {Flaw::sees_second_sample, "sees_second_sample", "samples", "change sample 0"},
    {Flaw::sees_second_sample, "spreads_nan", "not a number", "changes sample 0"},
    {Flaw::sees_batch, "sees_batch", "batch size", "sample 0 alone"},
    {Flaw::sees_last_token, "sees_last_token", "causal", "earlier output"},
    {Flaw::gradient_sees_last_token, "gradient_sees_last_token", "causal", "the gradient of an earlier one"},
    {Flaw::gradient_reaches_last_token, "gradient_reaches_last_token", "causal", "has a gradient there"},
    {Flaw::drifts, "drifts", "one by one", "once, the output is off"},
    {Flaw::remembers_sequences, "remembers_sequences", "one by one", "in a second sequence, the output is off"},
    {Flaw::sees_last_token, "sees_another_token", "pointwise", "change the output"},
    {Flaw::gradient_sees_last_token, "gradient_sees_another_token", "pointwise", "change the gradient"},
    {Flaw::sees_position, "sees_position", "permutation", "another order"},
    {Flaw::sees_length, "sees_length", "grid", "given twice"},
    {Flaw::writes_beyond, "writes_beyond", "guard zones", "kept"},
    {Flaw::writes_gradient_given, "writes_gradient_given", "guard zones", "the output's gradient"},
    {Flaw::wastes_memory, "wastes_memory", "memory", "bytes"},
    {Flaw::allocates, "allocates", "allocations", "ridgeline::test/extra"},
    {Flaw::copies, "copies", "allocations", "deep copy"},
    {Flaw::unnamed_kernel, "unnamed_kernel", "kernels", "\"square\""},
    {Flaw::outside_region, "outside_region", "kernels", "outside the region"},
    {Flaw::open_region, "open_region", "kernels", "regions"},
    {Flaw::hides_nan, "hides_nan", "not a number", "shows neither"},
    {Flaw::overflows, "overflows", "magnitudes", "1e+10"},
    {Flaw::miscounts, "miscounts", "operations", "backward pass declares"},
    {Flaw::grows_wrongly, "grows_wrongly", "operations", "proportion"},
    {Flaw::remembers_elsewhere, "remembers_elsewhere", "checkpoint", "something else"},
    {Flaw::throws, "throws", "gradients", "a flaw"},
    {Flaw::throws_stopped, "throws_stopped", "not a number", "a flaw"},
    {Flaw::throws, "throws_always", "magnitudes", "a flaw"},
    {Flaw::throws_stopped, "throws_stopped_always", "magnitudes", "a flaw"},
    {Flaw::throws_bad_alloc, "throws_bad_alloc", "magnitudes", "more memory than there is"},
    {Flaw::throws_number, "throws_number", "magnitudes", "no std::exception"},
    {Flaw::reserves_more, "reserves_more", "guard zones", "reserves more memory"},
    {Flaw::miscounts_nothing, "miscounts_nothing", "operations", "own_forward = -1"},
    {Flaw::garbled_name, "garbled_name", "kernels", "plain text"},
};

LayerName registered(Flaw flaw, const std::string& name) {
  LayerEntry entry;
  entry.kind = "flawed";
  entry.name = name;
  entry.summary = "a layer with a flaw";
  entry.properties = [](const OptionValues&) { return Properties{true, true, true, true}; };
  entry.make_float = [flaw](Setup<float>& setup) { return std::make_unique<Flawed<float>>(setup, flaw); };
  entry.make_double = [flaw](Setup<double>& setup) { return std::make_unique<Flawed<double>>(setup, flaw); };
  return added_once(entry);
}

TEST(FlawlessLayer, Conforms) { support::expect_conforming(registered(Flaw::none, "none")); }

class FlawedLayer : public ::testing::TestWithParam<Expectation<Flaw>> {};
INSTANTIATE_TEST_SUITE_P(, FlawedLayer, ::testing::ValuesIn(expectations),
                         [](const auto& test) { return test.param.name; });

TEST_P(FlawedLayer, IsCaught) {
  expect_caught(registered(GetParam().flaw, GetParam().name), GetParam().check, GetParam().says);
}

}  // namespace
}  // namespace ridgeline::conform

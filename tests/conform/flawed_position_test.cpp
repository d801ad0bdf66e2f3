// A position with one flaw at a time, as flawed_layer_test.cpp has layers; and what the kit makes of the built-in ones'
// bounds.
#include <algorithm>

#include "caught.hpp"
#include "support/conforming.hpp"

namespace ridgeline::conform {
namespace {

enum class Flaw {
  none,
  wrong_gradient,
  imprecise_in_single,
  overwrites_gradient,
  reads_unwritten,
  counts_calls,
  sees_length,
  writes_beyond,
  allocates,
  unnamed_kernel,
  remembers_elsewhere,
};

/// Of a distance d, or a token d, the number s_h d² / (1 + d²).
template <class Scalar>
class Flawed final : public Position<Scalar> {
 public:
  static double seeds() {
    static double made = 0;
    return ++made;
  }

  Flawed(Setup<Scalar>& setup, Flaw flaw, PositionUse use) : flaw_(flaw), bias_(use == PositionUse::bias) {
    setup.parameters.declare(scales_, "scales", {setup.outputs}, Initial::uniform(-1, 1));
    if (flaw == Flaw::remembers_elsewhere) added_ = Scalar(seeds());
  }

  void reserve(int tokens, Arena& arena) override {
    first_ = bias_ ? 1 - tokens : 0;
    scratch_ = arena.passing<Scalar>(static_cast<std::size_t>(scales_.rows()));
  }

  void forward(Matrix<Scalar> values) override {
    if (flaw_ == Flaw::allocates) Kokkos::View<Scalar*, Memory>("ridgeline::test/extra", 3);
    Scalar added = added_;
    if (flaw_ == Flaw::counts_calls) added += Scalar(calls_++);
    if (flaw_ == Flaw::sees_length) added += Scalar(extent(values, 0) * extent(values, 1));
    if (flaw_ == Flaw::imprecise_in_single && sizeof(Scalar) == 4) added += Scalar(0.01);
    fill(flaw_ == Flaw::unnamed_kernel ? "square" : "ridgeline::test/position", values, bias_, first_, scales_.value,
         flaw_ == Flaw::reads_unwritten ? scratch_.data() : nullptr, added);
    if (flaw_ == Flaw::writes_beyond) poke(values.data() + values.size());
  }

  void backward(Matrix<const Scalar> dvalues) override {
    collect(dvalues, bias_, first_, scales_.gradient, flaw_ == Flaw::overwrites_gradient,
            flaw_ == Flaw::wrong_gradient ? Scalar(1.00001) : Scalar(1));
  }

  static KOKKOS_INLINE_FUNCTION Scalar shape_at(int d) { return Scalar(d) * Scalar(d) / (1 + Scalar(d) * Scalar(d)); }

  static void fill(const char* name, Matrix<Scalar> values, bool bias, int first, Vector<const Scalar> scales,
                   const Scalar* unwritten, Scalar added) {
    const int columns = extent(values, 1);
    Kokkos::parallel_for(
        name, RangePolicy(0, static_cast<int>(values.size())), KOKKOS_LAMBDA(int i) {
          const int row = i / columns, column = i % columns;
          values(row, column) = scales(bias ? row : column) * shape_at(first + (bias ? column : row)) + added;
          if (unwritten != nullptr) values(row, column) += unwritten[0];
        });
  }

  static void collect(Matrix<const Scalar> dvalues, bool bias, int first, Vector<Scalar> dscales, bool overwrite,
                      Scalar factor) {
    const int numbers = extent(dvalues, bias ? 1 : 0);
    Kokkos::parallel_for(
        "ridgeline::test/gradient", RangePolicy(0, extent(dvalues, bias ? 0 : 1)), KOKKOS_LAMBDA(int c) {
          Scalar sum = 0;
          for (int n = 0; n < numbers; ++n) sum += (bias ? dvalues(c, n) : dvalues(n, c)) * shape_at(first + n);
          dscales(c) = (overwrite ? Scalar(0) : dscales(c)) + factor * sum;
        });
  }

  static void poke(Scalar* where) {
    Kokkos::parallel_for(
        "ridgeline::test/poke", RangePolicy(0, 1), KOKKOS_LAMBDA(int) { *where = 1; });
  }

 private:
  Flaw flaw_;
  bool bias_;
  int first_ = 0, calls_ = 0;
  Scalar added_ = 0;
  Parameter<Scalar> scales_;
  Vector<Scalar> scratch_;
};

const Expectation<Flaw> expectations[] = {
    {Flaw::wrong_gradient, "wrong_gradient", "gradients", "scales"},
    {Flaw::imprecise_in_single, "imprecise_in_single", "single precision", "the output"},
    {Flaw::overwrites_gradient, "overwrites_gradient", "accumulation", "scales"},
    {Flaw::reads_unwritten, "reads_unwritten", "sources", "the forward pass"},
    {Flaw::counts_calls, "counts_calls", "repetition", "the output differs"},
    {Flaw::sees_length, "sees_length", "lengths", "the numbers differ"},
    {Flaw::writes_beyond, "writes_beyond", "guard zones", "kept"},
    {Flaw::allocates, "allocates", "allocations", "ridgeline::test/extra"},
    {Flaw::unnamed_kernel, "unnamed_kernel", "kernels", "\"square\""},
    {Flaw::remembers_elsewhere, "remembers_elsewhere", "checkpoint", "something else"},
};

LayerName registered(Flaw flaw, const std::string& name, PositionUse use) {
  LayerEntry entry;
  entry.kind = "flawed_position";
  entry.name = name + (use == PositionUse::bias ? "_bias" : "");
  entry.summary = "a position with a flaw";
  entry.position_use = use;
  entry.make_position_float = [=](Setup<float>& setup) { return std::make_unique<Flawed<float>>(setup, flaw, use); };
  entry.make_position_double = [=](Setup<double>& setup) { return std::make_unique<Flawed<double>>(setup, flaw, use); };
  return added_once(entry);
}

TEST(FlawlessPosition, Conforms) {
  for (const PositionUse use : {PositionUse::channels, PositionUse::bias})
    support::expect_conforming(registered(Flaw::none, "none", use));
}

class FlawedPosition : public ::testing::TestWithParam<Expectation<Flaw>> {};
INSTANTIATE_TEST_SUITE_P(, FlawedPosition, ::testing::ValuesIn(expectations),
                         [](const auto& test) { return test.param.name; });

TEST_P(FlawedPosition, IsCaught) {
  for (const PositionUse use : {PositionUse::channels, PositionUse::bias})
    expect_caught(registered(GetParam().flaw, GetParam().name, use), GetParam().check, GetParam().says);
}

TEST(Kit, TriesAPositionAtTheLengthsThatItHas) {
  const auto lengths = [](const std::string& name) {
    std::vector<int> tokens;
    for (const Case& tried : cases_of({"position", name}).cases) tokens.push_back(tried.sizes.shape.tokens);
    return tokens;
  };
  const std::vector<int> image = lengths("image"), learned = lengths("learned"), tisa = lengths("tisa");
  EXPECT_TRUE(std::all_of(image.begin(), image.end(), [](int tokens) { return tokens == 24; }));
  EXPECT_EQ(*std::max_element(learned.begin(), learned.end()), 24);
  EXPECT_EQ(*std::min_element(learned.begin(), learned.end()), 1);
  EXPECT_EQ(*std::max_element(tisa.begin(), tisa.end()), 300);
}

}  // namespace
}  // namespace ridgeline::conform

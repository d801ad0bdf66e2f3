// An activation with one flaw at a time, as flawed_layer_test.cpp has layers.
#include <cmath>

#include "caught.hpp"
#include "support/conforming.hpp"

namespace ridgeline::conform {
namespace {

enum class Flaw {
  none,
  wrong_slope,
  wrong_slope_far_out,
  nan_slope_far_out,
  imprecise_in_single,
  needs_slope_apart,
  forgets_bias,
  leaves_unwritten,
  counts_calls,
  sees_second_row,
  writes_beyond,
  allocates,
  unnamed_kernel,
  hides_nan,
  spreads_infinity,
  overflows,
};

/// z² / (1 + |z|), computed in two kernels, the value before the slope.
template <class Scalar>
class Flawed final : public Activation<Scalar> {
 public:
  explicit Flawed(Flaw flaw) : flaw_(flaw) {}

  void apply(Matrix<const Scalar> z, Vector<const Scalar> bias, Matrix<Scalar> value,
             Matrix<Scalar> slope) const override {
    if (flaw_ == Flaw::allocates) Kokkos::View<Scalar*, Memory>("ridgeline::test/extra", 3);
    const auto slopes = [&] { launch("ridgeline::test/slope", z, bias, slope, true, flaw_, 0); };
    // In the place of z the slope may only be written when z is needed no more.
    if (flaw_ == Flaw::needs_slope_apart) slopes();
    launch(flaw_ == Flaw::unnamed_kernel ? "square" : "ridgeline::test/value", z, bias, value, false, flaw_, calls_);
    if (flaw_ != Flaw::needs_slope_apart) slopes();
    ++calls_;
  }

  static void launch(const char* name, Matrix<const Scalar> z, Vector<const Scalar> bias, Matrix<Scalar> result,
                     bool slope, Flaw flaw, int calls) {
    const int columns = extent(z, 1), size = static_cast<int>(z.size()), second = extent(z, 0) > 1 ? columns : 0;
    Kokkos::parallel_for(
        name, RangePolicy(0, size), KOKKOS_LAMBDA(int i) {
          const Scalar t = z.data()[i] + (flaw == Flaw::forgets_bias ? Scalar(0) : bias(i % columns));
          const Scalar a = t < 0 ? -t : t, over = 1 / (1 + a);
          Scalar number = slope ? t * over * (1 + over) : t * (t * over);
          if (flaw == Flaw::wrong_slope && slope) number *= Scalar(1.00001);
          if (flaw == Flaw::wrong_slope_far_out && slope && t < -6) number = 1;
          if (flaw == Flaw::nan_slope_far_out && slope && t < -6) number = -Scalar(NAN);
          if (flaw == Flaw::imprecise_in_single && sizeof(Scalar) == 4) number += Scalar(0.01);
          if (flaw == Flaw::counts_calls) number += Scalar(calls);
          if (flaw == Flaw::sees_second_row && !slope) number += z.data()[second];
          if (flaw == Flaw::hides_nan && std::isnan(number)) number = 0;
          if (flaw == Flaw::spreads_infinity && !slope) number += 0 * z.data()[size / 2];
          if (flaw == Flaw::overflows && a > Scalar(1e9)) number /= Scalar(0);
          if (flaw == Flaw::leaves_unwritten && i == size - 1) return;
          result.data()[i] = number;
          if (flaw == Flaw::writes_beyond && i == 0) result.data()[size] = 1;
        });
  }

 private:
  Flaw flaw_;
  mutable int calls_ = 0;
};

const Expectation<Flaw> expectations[] = {
    {Flaw::wrong_slope, "wrong_slope", "gradients", "difference"},
    {Flaw::wrong_slope_far_out, "wrong_slope_far_out", "gradients", "at -"},
    {Flaw::nan_slope_far_out, "nan_slope_far_out", "gradients", "slope nan"},
    {Flaw::imprecise_in_single, "imprecise_in_single", "single precision", "single"},
    {Flaw::needs_slope_apart, "needs_slope_apart", "sources", "in the place"},
    {Flaw::forgets_bias, "forgets_bias", "sources", "bias"},
    {Flaw::leaves_unwritten, "leaves_unwritten", "sources", "unwritten"},
    {Flaw::counts_calls, "counts_calls", "repetition", "run twice"},
    {Flaw::sees_second_row, "sees_second_row", "samples", "another row"},
    {Flaw::writes_beyond, "writes_beyond", "guard zones", "memory beside"},
    {Flaw::allocates, "allocates", "allocations", "ridgeline::test/extra"},
    {Flaw::unnamed_kernel, "unnamed_kernel", "kernels", "\"square\""},
    {Flaw::hides_nan, "hides_nan", "not a number", "NaN gives a number"},
    {Flaw::spreads_infinity, "spreads_infinity", "not a number", "changes others"},
    {Flaw::overflows, "overflows", "magnitudes", "1e+10"},
};

LayerName registered(Flaw flaw, const std::string& name) {
  LayerEntry entry;
  entry.kind = "flawed_activation";
  entry.name = name;
  entry.summary = "an activation with a flaw";
  entry.make_activation_float = [flaw] { return std::make_unique<Flawed<float>>(flaw); };
  entry.make_activation_double = [flaw] { return std::make_unique<Flawed<double>>(flaw); };
  return added_once(entry);
}

TEST(FlawlessActivation, Conforms) { support::expect_conforming(registered(Flaw::none, "none")); }

class FlawedActivation : public ::testing::TestWithParam<Expectation<Flaw>> {};
INSTANTIATE_TEST_SUITE_P(, FlawedActivation, ::testing::ValuesIn(expectations),
                         [](const auto& test) { return test.param.name; });

TEST_P(FlawedActivation, IsCaught) {
  expect_caught(registered(GetParam().flaw, GetParam().name), GetParam().check, GetParam().says);
}

/// z⁴ and eᶻ, whose slopes far out are large, and right.
template <class Scalar, bool power>
class Steep final : public Activation<Scalar> {
 public:
  void apply(Matrix<const Scalar> z, Vector<const Scalar> bias, Matrix<Scalar> value,
             Matrix<Scalar> slope) const override {
    const int columns = extent(z, 1);
    Kokkos::parallel_for(
        "ridgeline::test/steep", RangePolicy(0, static_cast<int>(z.size())), KOKKOS_LAMBDA(int i) {
          const Scalar t = z.data()[i] + bias(i % columns), e = std::exp(t);
          value.data()[i] = power ? t * t * t * t : e;
          slope.data()[i] = power ? 4 * t * t * t : e;
        });
  }
};

template <bool power>
Finding slope_of_steep(const std::string& name) {
  LayerEntry entry;
  entry.kind = "steep_activation";
  entry.name = name;
  entry.make_activation_float = [] { return std::make_unique<Steep<float, power>>(); };
  entry.make_activation_double = [] { return std::make_unique<Steep<double, power>>(); };
  return activation_slope({added_once(entry), {{2, 7}, 5, 5}});
}

TEST(SteepActivation, HasTheSlopeThatItHas) {
  EXPECT_EQ(slope_of_steep<true>("power").text, "");
  EXPECT_EQ(slope_of_steep<false>("exponential").text, "");
}

/// Also where a plugin lies in a folder that a shell would take for two words.
TEST(Report, HoldsTheCommandThatReproduces) {
  const Conformance conformance = examine(registered(Flaw::wrong_slope, "told"));
  const std::string text = report(conformance, {"--plugin", "/a folder/it's.so", "--threads", "2"});
  EXPECT_NE(text.find("ridgeline conform flawed_activation/told --plugin '/a folder/it'\\''s.so' --threads 2\n"),
            std::string::npos)
      << text;
}

}  // namespace
}  // namespace ridgeline::conform

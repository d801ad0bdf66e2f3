// The functions of math/elementary.hpp, as a vectorised kernel computes them, against long double.

#include "math/elementary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/kokkos.hpp"
#include "math/lanes.hpp"

namespace ridgeline {
namespace {

using Exact = long double;

// ---- the functions under test, and what they should give --------------------------------------------------------

struct Exponential {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION ValueAndSlope<Scalar> operator()(Scalar x) const {
    return {exponential(x), exponential(x)};
  }
  static ValueAndSlope<Exact> exact(Exact x) { return {std::exp(x), std::exp(x)}; }
};

Exact exact_logistic(Exact x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }

struct Logistic {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION ValueAndSlope<Scalar> operator()(Scalar x) const {
    return logistic(x);
  }
  static ValueAndSlope<Exact> exact(Exact x) { return {exact_logistic(x), exact_logistic(x) * exact_logistic(-x)}; }
};

struct HyperbolicTangent {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION ValueAndSlope<Scalar> operator()(Scalar x) const {
    return hyperbolic_tangent(x);
  }
  static ValueAndSlope<Exact> exact(Exact x) { return {std::tanh(x), 1 / (std::cosh(x) * std::cosh(x))}; }
};

struct Gelu {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION ValueAndSlope<Scalar> operator()(Scalar x) const {
    return gelu(x);
  }
  static ValueAndSlope<Exact> exact(Exact x) {
    const Exact below = std::erfc(-x / std::sqrt(Exact(2))) / 2;
    const Exact density = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(Exact(-1)));
    return {x * below, below + x * density};
  }
};

struct Silu {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION ValueAndSlope<Scalar> operator()(Scalar x) const {
    return silu(x);
  }
  static ValueAndSlope<Exact> exact(Exact x) {
    return {x * exact_logistic(x), exact_logistic(x) * (1 + x * exact_logistic(-x))};
  }
};

// ---- where the program would run them ---------------------------------------------------------------------------

template <class Function, class Scalar>
struct Evaluate {
  Kokkos::View<const Scalar*, Memory> x;
  Kokkos::View<Scalar*, Memory> value, slope;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    for_lanes(team, static_cast<int>(x.extent(0)), [&](int i) {
      const auto result = Function()(x(i));
      value(i) = result.value;
      slope(i) = result.slope;
    });
  }
};

template <class Function, class Scalar>
std::vector<ValueAndSlope<Scalar>> evaluate(const std::vector<Scalar>& arguments) {
  const Kokkos::View<Scalar*, Memory> x("x", arguments.size());
  const Kokkos::View<Scalar*, Memory> value("value", arguments.size());
  const Kokkos::View<Scalar*, Memory> slope("slope", arguments.size());
  const auto host_x = Kokkos::create_mirror_view(x);
  for (std::size_t i = 0; i < arguments.size(); ++i) host_x(i) = arguments[i];
  Kokkos::deep_copy(x, host_x);
  Kokkos::parallel_for("elementary_test", TeamPolicy(1, 1), Evaluate<Function, Scalar>{x, value, slope});
  const auto host_value = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), value);
  const auto host_slope = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), slope);
  std::vector<ValueAndSlope<Scalar>> results;
  for (std::size_t i = 0; i < arguments.size(); ++i) results.push_back({host_value(i), host_slope(i)});
  return results;
}

/// At one argument: from vector instructions and, of a loop of odd length, from the scalar ones after them.
template <class Function, class Scalar>
ValueAndSlope<Scalar> at(Scalar x) {
  const auto results = evaluate<Function, Scalar>(std::vector<Scalar>(65, x));
  const auto &first = results.front(), &last = results.back();
  if (std::isfinite(first.value)) {
    EXPECT_NEAR(first.value, last.value, std::abs(first.value) * 4 * std::numeric_limits<Scalar>::epsilon());
    EXPECT_NEAR(first.slope, last.slope, std::abs(first.slope) * 4 * std::numeric_limits<Scalar>::epsilon());
  }
  EXPECT_EQ(std::isnan(first.value), std::isnan(last.value));
  return first;
}

// ---- accuracy ---------------------------------------------------------------------------------------------------

/// The distance in units in the last place of the exact result or of `least`, whichever is larger.
template <class Scalar>
double units(Scalar found, Exact exact, Exact least) {
  if (!std::isfinite(found)) return std::numeric_limits<double>::infinity();
  int exponent = 0;
  std::frexp(std::max(std::abs(exact), least), &exponent);
  return static_cast<double>(std::abs(found - exact) /
                             std::ldexp(Exact(1), exponent - std::numeric_limits<Scalar>::digits));
}

struct Allowed {
  double value, slope;
};

/// A dense even sweep of [low, high], and one by powers towards 0 from either side.
template <class Scalar>
std::vector<Scalar> sweep(double low, double high) {
  std::vector<Scalar> arguments;
  constexpr int steps = 100000;
  for (int i = 0; i <= steps; ++i) arguments.push_back(static_cast<Scalar>(low + (high - low) * i / steps));
  for (double x = 1e-37; x < high; x *= 1.004) {
    arguments.push_back(static_cast<Scalar>(x));
    arguments.push_back(static_cast<Scalar>(-x));
  }
  return arguments;
}

template <class Function, class Scalar>
void check_accuracy(double low, double high, Allowed allowed) {
  const Exact tiny = sizeof(Scalar) == sizeof(float) ? 1e-36L : 1e-300L;
  const auto arguments = sweep<Scalar>(low, high);
  const auto found = evaluate<Function, Scalar>(arguments);
  Allowed worst{0, 0};
  Allowed where{0, 0};
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto exact = Function::exact(arguments[i]);
    // Near the zero of a slope of order 1, digits cancel that no formula could save.
    const bool near_zero = std::abs(arguments[i]) < 3 && std::abs(exact.slope) < 0.25L;
    const Exact least = near_zero ? Exact(0.25) : Exact(0);
    const auto tell = [&](Scalar result, Exact expected, Exact at_least, double& most, double& argument) {
      if (std::abs(expected) < tiny) {
        EXPECT_LT(std::abs(result), 2 * tiny) << "at " << arguments[i];
        return;
      }
      const double off = units(result, expected, at_least);
      if (off > most) {
        most = off;
        argument = static_cast<double>(arguments[i]);
      }
    };
    tell(found[i].value, exact.value, 0, worst.value, where.value);
    tell(found[i].slope, exact.slope, least, worst.slope, where.slope);
  }
  EXPECT_LE(worst.value, allowed.value) << "value, at " << where.value;
  EXPECT_LE(worst.slope, allowed.slope) << "slope, at " << where.slope;
  ::testing::Test::RecordProperty("value_units", std::to_string(worst.value));
  ::testing::Test::RecordProperty("slope_units", std::to_string(worst.slope));
}

TEST(Elementary, ExponentialIsAccurate) {
  check_accuracy<Exponential, float>(-110, 88.72, {1.1, 1.1});
  check_accuracy<Exponential, double>(-700, 700, {1, 1});
}

TEST(Elementary, LogisticIsAccurate) {
  check_accuracy<Logistic, float>(-110, 110, {3, 4});
  check_accuracy<Logistic, float>(-20, 20, {3, 4});
  check_accuracy<Logistic, double>(-50, 50, {3, 5});
}

TEST(Elementary, HyperbolicTangentIsAccurate) {
  check_accuracy<HyperbolicTangent, float>(-60, 60, {2, 4});
  check_accuracy<HyperbolicTangent, float>(-3, 3, {2, 4});
  check_accuracy<HyperbolicTangent, double>(-25, 25, {2.5, 4.5});
}

TEST(Elementary, GeluIsAccurateAlsoFarBelowZero) {
#ifdef __FMA__
  const Allowed allowed{6.5, 4};
#else
  const Allowed allowed{8, 4};
#endif
  check_accuracy<Gelu, float>(-16, 8, allowed);
  check_accuracy<Gelu, float>(-4, 2, allowed);
  check_accuracy<Gelu, double>(-30, 10, {4.5, 5.5});
}

TEST(Elementary, SiluIsAccurate) {
  check_accuracy<Silu, float>(-110, 20, {4, 6});
  check_accuracy<Silu, float>(-10, 3, {4, 6});
  check_accuracy<Silu, double>(-100, 20, {4, 5.5});
}

// ---- edges ------------------------------------------------------------------------------------------------------

template <class Scalar>
class ElementaryEdges : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ElementaryEdges, Scalars);

template <class Function, class Scalar>
void expect_at(Scalar x, Scalar value, Scalar slope) {
  const auto found = at<Function, Scalar>(x);
  EXPECT_EQ(found.value, value) << "value at " << x;
  EXPECT_EQ(found.slope, slope) << "slope at " << x;
}

TYPED_TEST(ElementaryEdges, LimitsAtInfinityAndFarOut) {
  using Scalar = TypeParam;
  constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
  for (Scalar far : {Scalar(1e4), Scalar(1e10), std::numeric_limits<Scalar>::max(), infinity}) {
    expect_at<Exponential, Scalar>(far, infinity, infinity);
    expect_at<Exponential, Scalar>(-far, 0, 0);
    expect_at<Logistic, Scalar>(far, 1, 0);
    expect_at<Logistic, Scalar>(-far, 0, 0);
    expect_at<HyperbolicTangent, Scalar>(far, 1, 0);
    expect_at<HyperbolicTangent, Scalar>(-far, -1, 0);
    expect_at<Gelu, Scalar>(far, far, 1);
    expect_at<Gelu, Scalar>(-far, 0, 0);
    expect_at<Silu, Scalar>(far, far, 1);
    expect_at<Silu, Scalar>(-far, 0, 0);
  }
}

TYPED_TEST(ElementaryEdges, AtZeroOfEitherSign) {
  using Scalar = TypeParam;
  for (Scalar zero : {Scalar(0), -Scalar(0)}) {
    expect_at<Exponential, Scalar>(zero, 1, 1);
    expect_at<Logistic, Scalar>(zero, Scalar(0.5), Scalar(0.25));
    expect_at<HyperbolicTangent, Scalar>(zero, 0, 1);
    expect_at<Gelu, Scalar>(zero, 0, Scalar(0.5));
    expect_at<Silu, Scalar>(zero, 0, Scalar(0.5));
    EXPECT_EQ(std::signbit(at<HyperbolicTangent>(zero).value), std::signbit(zero));
    EXPECT_EQ(std::signbit(at<Gelu>(zero).value), std::signbit(zero));
    EXPECT_EQ(std::signbit(at<Silu>(zero).value), std::signbit(zero));
  }
}

TYPED_TEST(ElementaryEdges, DenormalArguments) {
  using Scalar = TypeParam;
  const Scalar smallest = std::numeric_limits<Scalar>::denorm_min();
  for (Scalar x : {smallest, -smallest, 1000 * smallest, -1000 * smallest}) {
    expect_at<Exponential, Scalar>(x, 1, 1);
    expect_at<Logistic, Scalar>(x, Scalar(0.5), Scalar(0.25));
    expect_at<HyperbolicTangent, Scalar>(x, x, 1);
    EXPECT_LE(std::abs(at<Gelu>(x).value - x / 2), smallest);
    EXPECT_LE(std::abs(at<Silu>(x).value - x / 2), smallest);
  }
}

template <class Function, class Scalar>
void expect_not_a_number() {
  for (Scalar x : {std::numeric_limits<Scalar>::quiet_NaN(), -std::numeric_limits<Scalar>::quiet_NaN()}) {
    EXPECT_TRUE(std::isnan((at<Function, Scalar>(x).value)));
    EXPECT_TRUE(std::isnan((at<Function, Scalar>(x).slope)));
  }
}

TYPED_TEST(ElementaryEdges, NotANumberStays) {
  expect_not_a_number<Exponential, TypeParam>();
  expect_not_a_number<Logistic, TypeParam>();
  expect_not_a_number<HyperbolicTangent, TypeParam>();
  expect_not_a_number<Gelu, TypeParam>();
  expect_not_a_number<Silu, TypeParam>();
}

TEST(Elementary, ExponentialOfTheLargestArgumentIsFinite) {
  EXPECT_TRUE(std::isfinite(at<Exponential>(88.72283F).value));
  EXPECT_TRUE(std::isinf(at<Exponential>(88.7229F).value));
}

}  // namespace
}  // namespace ridgeline

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

template <class Scalar>
struct Expected {
  Scalar x, value, slope;
  Scalar within = 0;
};

/// Every argument in a whole block of vector instructions, and once in the scalar ones that end a loop of odd length.
/// Signs of zeros count; NaN is equal to NaN.
template <class Function, class Scalar>
void expect_at(const std::vector<Expected<Scalar>>& cases) {
  constexpr int copies = 64;
  std::vector<Scalar> arguments;
  for (const auto& one : cases) arguments.insert(arguments.end(), copies, one.x);
  for (const auto& one : cases) arguments.push_back(one.x);
  const auto found = evaluate<Function, Scalar>(arguments);
  const auto same = [](Scalar a, Scalar b, Scalar within) {
    if (std::isnan(b)) return std::isnan(a);
    return std::signbit(a) == std::signbit(b) && (a == b || std::abs(a - b) <= within);
  };
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const auto& result : {found[i * copies], found[cases.size() * copies + i]}) {
      EXPECT_PRED3(same, result.value, cases[i].value, cases[i].within) << "value at " << cases[i].x;
      EXPECT_PRED3(same, result.slope, cases[i].slope, cases[i].within) << "slope at " << cases[i].x;
    }
  }
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
  double x = 1e-37;
  while (x < high) {
    arguments.push_back(static_cast<Scalar>(x));
    arguments.push_back(static_cast<Scalar>(-x));
    x *= 1.004;
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
  check_accuracy<Gelu, float>(-16, 8, {4, 4});
  check_accuracy<Gelu, float>(-4, 2, {4, 4});
  check_accuracy<Gelu, double>(-30, 10, {4.5, 5.5});
}

TEST(Elementary, SiluIsAccurate) {
  check_accuracy<Silu, float>(-110, 20, {4, 4});
  check_accuracy<Silu, float>(-10, 3, {4, 4});
  check_accuracy<Silu, double>(-100, 20, {4, 5.5});
}

// ---- edges ------------------------------------------------------------------------------------------------------

template <class Scalar>
class ElementaryEdges : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(ElementaryEdges, Scalars);

TYPED_TEST(ElementaryEdges, LimitsAtInfinityAndFarOut) {
  using Scalar = TypeParam;
  constexpr Scalar infinity = std::numeric_limits<Scalar>::infinity();
  std::vector<Expected<Scalar>> exponentials, logistics, tangents, linear;
  for (Scalar far : {Scalar(1e4), Scalar(1e10), std::numeric_limits<Scalar>::max(), infinity}) {
    exponentials.insert(exponentials.end(), {{far, infinity, infinity}, {-far, 0, 0}});
    logistics.insert(logistics.end(), {{far, 1, 0}, {-far, 0, 0}});
    tangents.insert(tangents.end(), {{far, 1, 0}, {-far, -1, 0}});
    linear.push_back({far, far, 1});
  }
  expect_at<Exponential>(exponentials);
  expect_at<Logistic>(logistics);
  expect_at<HyperbolicTangent>(tangents);
  expect_at<Gelu>(linear);
  expect_at<Silu>(linear);
}

TYPED_TEST(ElementaryEdges, GeluAndSiluVanishFarBelowZero) {
  using Scalar = TypeParam;
  std::vector<Scalar> arguments;
  for (Scalar x :
       {Scalar(1e4), Scalar(1e10), std::numeric_limits<Scalar>::max(), std::numeric_limits<Scalar>::infinity()})
    arguments.push_back(-x);
  for (const auto& results : {evaluate<Gelu>(arguments), evaluate<Silu>(arguments)}) {
    for (const auto& result : results) {
      EXPECT_EQ(result.value, 0);
      EXPECT_EQ(result.slope, 0);
    }
  }
}

TYPED_TEST(ElementaryEdges, ZerosDenormalsAndNotANumber) {
  using Scalar = TypeParam;
  constexpr Scalar smallest = std::numeric_limits<Scalar>::denorm_min();
  constexpr Scalar nan = std::numeric_limits<Scalar>::quiet_NaN();
  constexpr Scalar half = 0.5, quarter = 0.25;
  std::vector<Expected<Scalar>> exponentials, logistics, tangents, halves;
  for (Scalar x : {Scalar(0), -Scalar(0), smallest, -smallest, 1000 * smallest, -1000 * smallest}) {
    exponentials.push_back({x, 1, 1});
    logistics.push_back({x, half, quarter});
    tangents.push_back({x, x, 1});
    halves.push_back({x, x / 2, half, smallest});
  }
  for (auto* cases : {&exponentials, &logistics, &tangents, &halves})
    cases->insert(cases->end(), {{nan, nan, nan}, {-nan, nan, nan}});
  expect_at<Exponential>(exponentials);
  expect_at<Logistic>(logistics);
  expect_at<HyperbolicTangent>(tangents);
  expect_at<Gelu>(halves);
  expect_at<Silu>(halves);
}

TEST(Elementary, ExponentialOfTheLargestArgumentIsFinite) {
  const auto found = evaluate<Exponential, float>({88.72283F, 88.7229F});
  EXPECT_TRUE(std::isfinite(found[0].value));
  EXPECT_TRUE(std::isinf(found[1].value));
}

}  // namespace
}  // namespace ridgeline

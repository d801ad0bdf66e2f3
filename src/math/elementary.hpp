// The exponential and the activation functions made of it, each with its derivative.
//
// In float they have no branches and no table, so that a compiler makes vector instructions of a loop that calls them
// (see math/lanes.hpp); every if is a choice between two values that are both there. In double they call the standard
// library: there accuracy counts, speed does not.
//
// Error at most, as tests/unit/elementary_test.cpp measures it against long double, of the value and of the slope, in
// units in the last place; of a slope near its zero, in units of 1/2's. Below 1e-36 results in float may be 0.
//
//                         float                      double
//   exponential           1                          1
//   logistic              3, 4                       3, 5
//   hyperbolic_tangent    2, 4                       2, 4
//   gelu                  4, 4                       4, 5
//   silu                  4, 4                       4, 5
//
// NaN gives NaN, the infinities their limits, and no finite argument overflows but exponential's.

#pragma once

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>

namespace ridgeline {

/// f(x) and df/dx.
template <class Scalar>
struct ValueAndSlope {
  Scalar value, slope;
};

namespace detail {

KOKKOS_INLINE_FUNCTION std::int32_t bits_of(float value) {
  std::int32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

KOKKOS_INLINE_FUNCTION float float_of(std::int32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/// exp in two parts: (1 + excess) * power, where power is a power of two or 0.
struct ExponentialParts {
  float excess, power;
};

/// exp(high + low) * 2^(bias - 127) for -88 <= high <= 88.8 and a low that is small beside 1; the sum itself need not be
/// a float. The power is 0 where 2^-126 or less. Who multiplies anyway takes the parts: c (1 + excess), made as
/// c + c * excess, is rounded once where 1 + excess and the product would be rounded twice.
///
/// With n the whole number nearest to high / ln 2 and r the rest, |r| <= ln 2 / 2: exp = 2^n (1 + r + r^2 q(r)). The
/// polynomial q, of degree 4, is the minimax fit of the relative error of exp (by reweighted least squares on
/// Chebyshev nodes), its coefficients rounded to float one after another and the others fitted again: off by 2^-28.2.
KOKKOS_INLINE_FUNCTION ExponentialParts exponential_of_sum(float high, float low, std::int32_t bias) {
  constexpr float shift = 12582912;  // 1.5 * 2^23: adding it leaves the nearest whole number in the lowest bits
  constexpr float log2_e = 1.44269504F;
  constexpr float ln2_high = 0.693145751953125F;  // 15 bits, so that n times it is exact
  constexpr float ln2_low = 1.42860682e-06F;
  const float shifted = high * log2_e + shift;
  const float n = shifted - shift;
  const float r = (high - n * ln2_high) - (n * ln2_low - low);
  const float q = 0.49999994F + r * (0.166665211F + r * (0.0416682661F + r * (0.00836867746F + r * 0.00138207339F)));
  const std::int32_t exponent = bits_of(shifted) - bits_of(shift) + bias;  // 0 gives the float 0
  // Without a sign, as what is shifted is anything where high is NaN.
  return {r + (r * r) * q, float_of(static_cast<std::int32_t>(static_cast<std::uint32_t>(exponent) << 23))};
}

/// exp(-a) for 0 <= a <= 88, 0 at 88.
KOKKOS_INLINE_FUNCTION float exponential_below(float a) {
  const auto [excess, power] = exponential_of_sum(-a, 0, 127);
  return (1 + excess) * power;
}
KOKKOS_INLINE_FUNCTION double exponential_below(double a) { return std::exp(-a); }

/// Where exponential_below becomes 0, and with it the difference of each function here from its limit.
template <class Scalar>
inline constexpr Scalar far_away = sizeof(Scalar) == sizeof(float) ? 88 : 760;

/// The smaller one; NaN where a is.
template <class Scalar>
KOKKOS_INLINE_FUNCTION Scalar at_most(Scalar a, Scalar limit) {
  return limit < a ? limit : a;
}

/// Of the normal distribution at a >= 0: tail, the integral of the density from a on, and the density.
template <class Scalar>
struct NormalTail {
  Scalar tail, density;
};

/// For a up to 13.26, where it gives 0. tail = density(a) M(a); M, Mills' ratio, falls smoothly from sqrt(pi / 2) as 1/a.
/// With polynomials P and Q of degree 4, M = Q / (P + a Q): for large a the rounding of Q cancels, for small a that of
/// either is small, and all terms are positive, so that none takes digits from another. Fitted as in exponential_of_sum
/// to the relative error for a < 13.3: off by 2^-26. Scaling P and Q alike changes only what
/// is rounded to float: the scale, and the last bits of the coefficients, are those of some thousand tried whose gelu is
/// off by least.
KOKKOS_INLINE_FUNCTION NormalTail<float> normal_tail(float a) {
  // a^2/2 rounded to float would put the exponential off by up to 40 units in the last place. The upper 12 bits of a
  // have an exact square.
  const float upper = float_of(bits_of(a) & ~0xfff);
  const auto [excess, power] = exponential_of_sum(-0.5F * (upper * upper), -0.5F * ((a - upper) * (a + upper)), 127);
  constexpr float at_zero = 0.398942280F;  // 1 / sqrt(2 pi)
  const float density = power * (at_zero + at_zero * excess);
  const float q = 0.912935197F + a * (0.829884827F + a * (0.356640816F + a * (0.0816681683F + a * 0.00863322616F)));
  const float p = 0.72841692F + a * (0.330410153F + a * (0.082504943F + a * (0.00858841371F + a * 1.03373054e-06F)));
  return {(density * q) / (p + a * q), density};
}

/// Both corrected, to first order, for what rounding takes from their arguments: at a = 20 that is 100 times the
/// rounding of a result.
KOKKOS_INLINE_FUNCTION NormalTail<double> normal_tail(double a) {
  constexpr double root_half = 0.70710678118654752440;  // 1 / sqrt 2, and what double leaves of it
  constexpr double root_half_rest = -4.8336466567264567e-17;
  const double square = a * a;
  const double square_rest = std::fma(a, a, -square);
  const double exponential = std::exp(-0.5 * square) * (1 - 0.5 * square_rest);
  const double z = a * root_half;
  const double z_rest = std::fma(a, root_half, -z) + a * root_half_rest;
  return {0.5 * std::erfc(z) - 0.56418958354775628695 * exponential * z_rest,  // 1 / sqrt pi
          exponential * 0.39894228040143267794};                               // 1 / sqrt(2 pi)
}

}  // namespace detail

/// exp(x).
KOKKOS_INLINE_FUNCTION float exponential(float x) {
  x = x < -87.5F ? -87.5F : x;                                         // gives 0; written so that NaN stays
  x = x > 88.8F ? 88.8F : x;                                           // gives infinity
  const auto [excess, power] = detail::exponential_of_sum(x, 0, 126);  // half of it: the power itself must not overflow
  return (1 + excess) * 2 * power;
}
KOKKOS_INLINE_FUNCTION double exponential(double x) { return std::exp(x); }

/// 1 / (1 + exp(-x)).
template <class Scalar>
KOKKOS_INLINE_FUNCTION ValueAndSlope<Scalar> logistic(Scalar x) {
  const Scalar e = detail::exponential_below(detail::at_most(std::fabs(x), detail::far_away<Scalar>));
  const Scalar inverse = 1 / (1 + e);
  return {x >= 0 ? inverse : e * inverse, (e * inverse) * inverse};
}

namespace detail {

/// tanh(a) for a >= 0, with e = exp(-2a) and inverse = 1 / (1 + e). Near 0 that would be a difference of neighbours:
/// there a + a^3 p(a^2), p fitted as in exponential_of_sum for a < 0.55: off by 2^-29.7.
KOKKOS_INLINE_FUNCTION float tanh_of(float a, float e, float inverse) {
  const float square = a * a;
  const float p =
      -0.333333164F +
      square * (0.133325443F + square * (-0.0538475476F + square * (0.021050714F + square * -0.0062428494F)));
  const float near_zero = a + (a * square) * p;
  return a < 0.55F ? near_zero : 1 - 2 * (e * inverse);
}

KOKKOS_INLINE_FUNCTION double tanh_of(double a, double /*e*/, double /*inverse*/) { return std::tanh(a); }

}  // namespace detail

/// tanh(x).
template <class Scalar>
KOKKOS_INLINE_FUNCTION ValueAndSlope<Scalar> hyperbolic_tangent(Scalar x) {
  const Scalar a = std::fabs(x);
  const Scalar e = detail::exponential_below(detail::at_most(2 * a, detail::far_away<Scalar>));
  const Scalar inverse = 1 / (1 + e);
  return {std::copysign(detail::tanh_of(a, e, inverse), x), 4 * ((e * inverse) * inverse)};
}

/// GELU, the exact one: x times the normal distribution function of x. Relative accuracy also far below zero, where
/// 1 + erf would have lost it. (D. Hendrycks, K. Gimpel, arXiv:1606.08415.)
template <class Scalar>
KOKKOS_INLINE_FUNCTION ValueAndSlope<Scalar> gelu(Scalar x) {
  constexpr Scalar far = sizeof(Scalar) == sizeof(float) ? 13.26F : 40.;  // the density is 0 there: spares inf * 0
  const Scalar a = detail::at_most(std::fabs(x), far);
  const auto [tail, density] = detail::normal_tail(a);
  const Scalar above = 1 - tail;
  return {x < 0 ? -(a * tail) : x * above, x < 0 ? tail - a * density : above + a * density};
}

/// SiLU: x logistic(x), also known as swish.
template <class Scalar>
KOKKOS_INLINE_FUNCTION ValueAndSlope<Scalar> silu(Scalar x) {
  const Scalar a = detail::at_most(std::fabs(x), detail::far_away<Scalar>);
  const Scalar e = detail::exponential_below(a);
  const Scalar inverse = 1 / (1 + e);
  const Scalar below = e * inverse;  // logistic(-a)
  // For x < 0 the slope is below (1 - a inverse). Written as follows, what rounding does to inverse, with which below is
  // made already, does not come in again.
  return {x < 0 ? -(a * below) : x * inverse, x < 0 ? below * ((1 - a) + a * below) : inverse + a * (below * inverse)};
}

}  // namespace ridgeline

// The ridge map against plain elimination in long double, and its gradients against differences of that.
#include "math/ridge.hpp"

#include <gtest/gtest.h>

#include "matrix_support.hpp"

namespace ridgeline::support {
namespace {

using Real = long double;

struct Problem {
  int heads, basis, batch, width;
  double ridge;

  int systems() const { return heads * batch; }
  std::size_t size() const { return static_cast<std::size_t>(heads) * basis * batch * width; }
  std::size_t sum_count() const { return static_cast<std::size_t>(heads) * basis * batch; }
};

/// x = matrix⁻¹ right, both [n, ..], by elimination with pivoting.
std::vector<Real> solve(std::vector<Real> matrix, std::vector<Real> right, int n, int columns) {
  for (int i = 0; i < n; ++i) {
    int pivot = i;
    for (int r = i; r < n; ++r)
      if (std::abs(matrix[r * n + i]) > std::abs(matrix[pivot * n + i])) pivot = r;
    for (int c = 0; c < n; ++c) std::swap(matrix[i * n + c], matrix[pivot * n + c]);
    for (int c = 0; c < columns; ++c) std::swap(right[i * columns + c], right[pivot * columns + c]);
    for (int r = 0; r < n; ++r) {
      if (r == i) continue;
      const Real factor = matrix[r * n + i] / matrix[i * n + i];
      for (int c = 0; c < n; ++c) matrix[r * n + c] -= factor * matrix[i * n + c];
      for (int c = 0; c < columns; ++c) right[r * columns + c] -= factor * right[i * columns + c];
    }
  }
  for (int i = 0; i < n; ++i)
    for (int c = 0; c < columns; ++c) right[i * columns + c] /= matrix[i * n + i];
  return right;
}

/// Y Aᵀ (A Aᵀ + ridge I)⁻¹ A of one system, A and Y [basis, width].
std::vector<Real> plain_map(const std::vector<Real>& a, const std::vector<Real>& y, int basis, int width, Real ridge) {
  std::vector<Real> gram(basis * basis), mapped(basis * width);
  for (int i = 0; i < basis; ++i)
    for (int j = 0; j < basis; ++j) {
      gram[i * basis + j] = i == j ? ridge : 0;
      for (int d = 0; d < width; ++d) gram[i * basis + j] += a[i * width + d] * a[j * width + d];
    }
  const std::vector<Real> solved = solve(gram, a, basis, width);
  for (int k = 0; k < basis; ++k)
    for (int j = 0; j < basis; ++j) {
      Real product = 0;  // (Y Aᵀ)[k, j]
      for (int d = 0; d < width; ++d) product += y[k * width + d] * a[j * width + d];
      for (int d = 0; d < width; ++d) mapped[k * width + d] += product * solved[j * width + d];
    }
  return mapped;
}

/// Where entry (k, d) of a system lies in [heads, basis, batch, width].
std::size_t entry(const Problem& p, int system, int k, int d) {
  const int head = system % p.heads, sample = system / p.heads;
  return ((static_cast<std::size_t>(head) * p.basis + k) * p.batch + sample) * p.width + d;
}

std::vector<Real> gather(const Problem& p, const std::vector<double>& rows, int system) {
  std::vector<Real> result;
  for (int k = 0; k < p.basis; ++k)
    for (int d = 0; d < p.width; ++d) result.push_back(rows[entry(p, system, k, d)]);
  return result;
}

/// Coefficients as given, with sums and biases or without, and as one array.
struct Given {
  Given(const Problem& p, bool biased, std::uint64_t seed)
      : rows(random_values(p.size(), seed)),
        sums(random_values(p.sum_count(), seed + 1)),
        bias(random_values(static_cast<std::size_t>(p.heads) * p.width, seed + 2)),
        all(rows) {
    if (!biased) return;
    for (int s = 0; s < p.systems(); ++s)
      for (int k = 0; k < p.basis; ++k)
        for (int d = 0; d < p.width; ++d) {
          const std::size_t i = entry(p, s, k, d);
          all[i] += sums[i / p.width] * bias[(s % p.heads) * p.width + d];
        }
  }
  std::vector<double> rows, sums, bias, all;
};

template <class Scalar>
struct OnDevice {
  OnDevice(const Problem& p, const Given& given, bool biased)
      : rows(given.rows),
        sums(given.sums),
        bias(given.bias),
        row_gradient(std::vector<double>(p.size(), NAN)),
        sum_gradient(std::vector<double>(p.sum_count(), NAN)) {
    coefficients.rows = HeadRows<const Scalar>(rows.memory.data(), p.heads, p.basis, p.batch, p.width);
    gradients.rows = HeadRows<Scalar>(row_gradient.memory.data(), p.heads, p.basis, p.batch, p.width);
    if (!biased) return;
    coefficients.sums = View<const Scalar***>(sums.memory.data(), p.heads, p.basis, p.batch);
    coefficients.bias = Matrix<const Scalar>(bias.memory.data(), p.heads, p.width);
    gradients.sums = View<Scalar***>(sum_gradient.memory.data(), p.heads, p.basis, p.batch);
  }
  Device<Scalar> rows, sums, bias, row_gradient, sum_gradient;
  Coefficients<Scalar> coefficients;
  CoefficientGradients<Scalar> gradients;
};

struct Result {
  std::vector<double> mapped, query_gradient, value_gradient, query_sum_gradient;
  Signal::Content signal;
};

template <class Scalar>
Result run(const Problem& p, const Given& queries, const Given& values, const std::vector<double>& cotangent,
           bool biased) {
  const Kokkos::View<std::uint64_t*, Memory> slot("ridgeline::test/signal", 1);
  Kokkos::deep_copy(slot, Signal::silent);
  RidgeMap<Scalar> map(p.ridge, Signal(slot.data()));
  Arena arena;
  map.reserve(p.heads, p.basis, p.batch, p.width, arena);
  arena.allocate();
  arena.restart();
  map.reserve(p.heads, p.basis, p.batch, p.width, arena);
  const OnDevice<Scalar> q(p, queries, biased), v(p, values, biased);
  const Device<Scalar> mapped(std::vector<double>(p.size(), NAN)), gradient(cotangent);
  map.forward(q.coefficients, v.coefficients,
              HeadRows<Scalar>(mapped.memory.data(), p.heads, p.basis, p.batch, p.width));
  map.backward(q.coefficients, v.coefficients,
               HeadRows<const Scalar>(gradient.memory.data(), p.heads, p.basis, p.batch, p.width), q.gradients,
               v.gradients);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), slot);
  return {mapped.host(), q.row_gradient.host(), v.row_gradient.host(), q.sum_gradient.host(), Signal::decode(host(0))};
}

/// Σ cotangent · mapped of one system.
Real plain_loss(const Problem& p, const std::vector<Real>& a, const std::vector<Real>& y,
                const std::vector<Real>& cotangent) {
  const std::vector<Real> mapped = plain_map(a, y, p.basis, p.width, p.ridge);
  Real sum = 0;
  for (std::size_t i = 0; i < mapped.size(); ++i) sum += cotangent[i] * mapped[i];
  return sum;
}

/// Differences of the plain loss in long double, extrapolated.
Real plain_slope(const Problem& p, std::vector<Real> a, std::vector<Real> y, const std::vector<Real>& cotangent,
                 bool of_queries, std::size_t index) {
  Real& moved = of_queries ? a[index] : y[index];
  const Real start = moved;
  const auto central = [&](Real step) {
    moved = start + step;
    const Real above = plain_loss(p, a, y, cotangent);
    moved = start - step;
    return (above - plain_loss(p, a, y, cotangent)) / (2 * step);
  };
  return (4 * central(1e-4L) - central(2e-4L)) / 3;
}

const std::vector<Problem> problems = {{1, 1, 1, 1, 0.1},   {1, 1, 2, 5, 0.1},   {3, 2, 2, 7, 0.01},
                                       {2, 5, 3, 5, 0.1},   {2, 7, 2, 3, 0.01},  {1, 5, 1, 1, 0.1},
                                       {2, 8, 1, 33, 1e-3}, {1, 6, 2, 45, 1e-3}, {1, 19, 1, 18, 0.1}};

template <class Scalar>
class RidgeMapOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(RidgeMapOf, Scalars);

TYPED_TEST(RidgeMapOf, ForwardIsTheFormula) {
  for (const Problem& p : problems)
    for (const bool biased : {false, true}) {
      SCOPED_TRACE(p.basis);
      const Given queries(p, biased, 10), values(p, biased, 20);
      const Result result = run<TypeParam>(p, queries, values, random_values(p.size(), 30), biased);
      std::vector<double> expected(p.size());
      for (int s = 0; s < p.systems(); ++s) {
        const auto mapped = plain_map(gather(p, queries.all, s), gather(p, values.all, s), p.basis, p.width, p.ridge);
        for (int k = 0; k < p.basis; ++k)
          for (int d = 0; d < p.width; ++d) expected[entry(p, s, k, d)] = static_cast<double>(mapped[k * p.width + d]);
      }
      expect_near(result.mapped, expected, sizeof(TypeParam) == 4 ? 1e-4 : 1e-11);
      EXPECT_FALSE(result.signal.raised);
    }
}

TYPED_TEST(RidgeMapOf, BackwardIsThatOfDifferences) {
  for (const Problem& p : problems)
    for (const bool biased : {false, true}) {
      SCOPED_TRACE(p.basis);
      const Given queries(p, biased, 10), values(p, biased, 20);
      const auto cotangent = random_values(p.size(), 30);
      const Result result = run<TypeParam>(p, queries, values, cotangent, biased);
      const int s = p.systems() - 1;  // one system of each: they are independent
      const auto a = gather(p, queries.all, s), y = gather(p, values.all, s), dy = gather(p, cotangent, s);
      std::vector<double> query_gradient, value_gradient, query_expected, value_expected;
      for (int k = 0; k < p.basis; ++k)
        for (int d = 0; d < p.width; ++d) {
          const std::size_t index = static_cast<std::size_t>(k) * p.width + d;
          query_gradient.push_back(result.query_gradient[entry(p, s, k, d)]);
          value_gradient.push_back(result.value_gradient[entry(p, s, k, d)]);
          query_expected.push_back(static_cast<double>(plain_slope(p, a, y, dy, true, index)));
          value_expected.push_back(static_cast<double>(plain_slope(p, a, y, dy, false, index)));
        }
      const double tolerance = sizeof(TypeParam) == 4 ? 1e-3 : 1e-8;
      expect_near(query_gradient, query_expected, tolerance);
      expect_near(value_gradient, value_expected, tolerance);
      if (!biased) continue;
      // dL/dsum = Σ_d dL/dA bias: what entered by the bias.
      std::vector<double> sums, sums_expected(p.basis);
      for (int k = 0; k < p.basis; ++k) {
        sums.push_back(result.query_sum_gradient[entry(p, s, k, 0) / p.width]);
        for (int d = 0; d < p.width; ++d)
          sums_expected[k] += query_expected[k * p.width + d] * queries.bias[(s % p.heads) * p.width + d];
      }
      expect_near(sums, sums_expected, tolerance);
    }
}

/// The two forms are one identity: around basis = width they meet.
TEST(RidgeMap, WideAndTallAgreeOnPaddedCoefficients) {
  const Problem tall{1, 3, 1, 4, 0.05}, wide{1, 5, 1, 4, 0.05};
  const Given queries(tall, false, 40), values(tall, false, 50);
  Given wider_queries = queries, wider_values = values;
  for (Given* given : {&wider_queries, &wider_values}) given->rows.resize(wide.size(), 0.0);
  const auto cotangent = random_values(wide.size(), 60);
  const std::vector<double> first(cotangent.begin(), cotangent.begin() + static_cast<std::ptrdiff_t>(tall.size()));
  const Result narrow = run<double>(tall, queries, values, first, false);
  const Result padded = run<double>(wide, wider_queries, wider_values, cotangent, false);
  expect_near({padded.mapped.begin(), padded.mapped.begin() + static_cast<std::ptrdiff_t>(tall.size())}, narrow.mapped,
              1e-12);
}

TEST(RidgeMap, LostPivotRaisesTheSignal) {
  for (const Problem& p : {Problem{2, 3, 2, 6, 1e-300}, Problem{2, 6, 2, 3, 1e-300}}) {
    Given queries(p, false, 70);
    const Given values(p, false, 80);
    EXPECT_FALSE(run<double>(p, queries, values, random_values(p.size(), 90), false).signal.raised);
    // In one system all basis functions get the same coefficients, and all channels of them: rank one, and the second
    // pivot is exactly zero.
    for (int k = 0; k < p.basis; ++k)
      for (int d = 0; d < p.width; ++d) queries.rows[entry(p, 2, k, d)] = 1;
    const Signal::Content signal = run<double>(p, queries, values, random_values(p.size(), 90), false).signal;
    EXPECT_TRUE(signal.raised);
    EXPECT_EQ(signal.where, 2U);
    EXPECT_EQ(signal.number, 0);
  }
}

TEST(RidgeMap, WhatIsNotFiniteRaisesTheSignalWithNaN) {
  for (const double poison : {static_cast<double>(NAN), static_cast<double>(INFINITY), 1e200}) {
    const Problem p{2, 3, 2, 6, 1e-3};
    Given queries(p, false, 70);
    const Given values(p, false, 80);
    queries.rows[entry(p, 3, 2, 5)] = poison;
    const Signal::Content signal = run<double>(p, queries, values, random_values(p.size(), 90), false).signal;
    EXPECT_TRUE(signal.raised);
    EXPECT_EQ(signal.where, 3U);
    EXPECT_TRUE(std::isnan(signal.number)) << signal.number;
  }
}

TEST(RidgeMap, SystemsAreIndependent) {
  const Problem p{3, 4, 2, 6, 0.1};
  Given queries(p, false, 70);
  const Given values(p, false, 80);
  const auto cotangent = random_values(p.size(), 90);
  const Result clean = run<float>(p, queries, values, cotangent, false);
  queries.rows[entry(p, 4, 1, 2)] = NAN;
  const Result poisoned = run<float>(p, queries, values, cotangent, false);
  EXPECT_TRUE(poisoned.signal.raised);
  for (int s = 0; s < p.systems(); ++s)
    for (int k = 0; k < p.basis && s != 4; ++k)
      for (int d = 0; d < p.width; ++d) {
        const std::size_t i = entry(p, s, k, d);
        ASSERT_EQ(poisoned.mapped[i], clean.mapped[i]);
        ASSERT_EQ(poisoned.query_gradient[i], clean.query_gradient[i]);
      }
}

}  // namespace
}  // namespace ridgeline::support

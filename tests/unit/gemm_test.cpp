// gemm against a plain triple loop in double, over operands stored either way, batches, scales and awkward sizes.

#include "math/gemm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <stdexcept>
#include <vector>

#include "core/tensor.hpp"

namespace ridgeline {
namespace {

template <class Scalar>
using Array = Kokkos::View<Scalar*, Memory>;

template <class Scalar>
Array<Scalar> to_device(const std::vector<Scalar>& values) {
  Array<Scalar> device("values", values.size());
  const auto host = Kokkos::create_mirror_view(device);
  std::copy(values.begin(), values.end(), host_pointer(host));
  Kokkos::deep_copy(device, host);
  return device;
}

template <class Scalar>
std::vector<Scalar> random_values(std::size_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<Scalar> distribution(-1, 1);
  std::vector<Scalar> values(count);
  for (Scalar& value : values) value = distribution(generator);
  return values;
}

template <class Scalar>
using Multiply = void (*)(const Product&, Factor<Scalar>, Factor<Scalar>, Target<Scalar>, Scale<Scalar>);

/// A product with everything that its operands need, all factors with `gap` unused elements at the end of each row.
template <class Scalar>
struct Case {
  Product product;
  Op op_a = Op::none, op_b = Op::none;
  Scale<Scalar> scale = {};
  int gap = 0;
  bool shared_b = false;     // one b for all products
  bool interleaved = false;  // the targets are blocks of columns of one wide matrix

  int a_rows() const { return op_a == Op::none ? product.rows : product.inner; }
  int a_leading() const { return (op_a == Op::none ? product.inner : product.rows) + gap; }
  int b_rows() const { return op_b == Op::none ? product.inner : product.columns; }
  int b_leading() const { return (op_b == Op::none ? product.columns : product.inner) + gap; }
  std::int64_t a_stride() const { return std::int64_t(a_rows()) * a_leading(); }
  std::int64_t b_stride() const { return shared_b ? 0 : std::int64_t(b_rows()) * b_leading(); }
  int leading() const { return interleaved ? product.columns * product.count + gap : product.columns + gap; }
  std::int64_t stride() const { return interleaved ? product.columns : std::int64_t(product.rows) * leading(); }
  std::size_t target_size() const {
    return std::size_t(product.rows) * leading() * (interleaved ? 1 : std::size_t(product.count));
  }

  std::vector<Scalar> a() const { return random_values<Scalar>(a_stride() * product.count, 1); }
  std::vector<Scalar> b() const {
    return random_values<Scalar>(std::size_t(b_rows()) * b_leading() * product.count, 2);
  }
  std::vector<Scalar> before() const { return random_values<Scalar>(target_size(), 3); }

  std::vector<Scalar> result(Multiply<Scalar> multiply, std::vector<Scalar> start) const {
    const auto left = to_device(a());
    const auto right = to_device(b());
    const auto target = to_device(start);
    multiply(product, {left.data(), a_leading(), op_a, a_stride()}, {right.data(), b_leading(), op_b, b_stride()},
             {target.data(), leading(), stride()}, scale);
    Kokkos::fence();
    return host_copy(target);
  }

  /// Every element of the target, untouched ones included, against sums in double.
  void check(Multiply<Scalar> multiply) const {
    const auto left = a();
    const auto right = b();
    const auto start = before();
    std::vector<double> expected(start.begin(), start.end());
    for (int n = 0; n < product.count; ++n) {
      for (int i = 0; i < product.rows; ++i) {
        for (int j = 0; j < product.columns; ++j) {
          double sum = 0;
          for (int k = 0; k < product.inner; ++k) {
            const auto at_a = op_a == Op::none ? std::int64_t(i) * a_leading() + k : std::int64_t(k) * a_leading() + i;
            const auto at_b = op_b == Op::none ? std::int64_t(k) * b_leading() + j : std::int64_t(j) * b_leading() + k;
            sum += double(left[n * a_stride() + at_a]) * double(right[n * b_stride() + at_b]);
          }
          double& out = expected[n * stride() + std::int64_t(i) * leading() + j];
          out = double(scale.alpha) * sum + double(scale.beta) * out;
        }
      }
    }
    const auto found = result(multiply, start);
    const double allowed =
        4 * double(std::numeric_limits<Scalar>::epsilon()) * (product.inner + 4) * (std::abs(scale.alpha) + 1);
    for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], allowed) << "element " << i;
  }
};

template <class Scalar>
class Gemm : public ::testing::Test {};

using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Gemm, Scalars);

template <class Scalar>
std::vector<Multiply<Scalar>> every_gemm() {
  return {&gemm<Scalar>, &detail::gemm_tiled<Scalar>};
}

TYPED_TEST(Gemm, EveryTransposeOfEverySize) {
  for (auto multiply : every_gemm<TypeParam>()) {
    for (Product product : {Product{1, 1, 1}, {3, 5, 7}, {64, 32, 16}, {65, 33, 17}, {1, 70, 40}, {70, 1, 40}}) {
      for (Op a : {Op::none, Op::transpose}) {
        for (Op b : {Op::none, Op::transpose}) {
          SCOPED_TRACE(::testing::Message() << product.rows << " x " << product.columns << " x " << product.inner);
          Case<TypeParam>{product, a, b}.check(multiply);
          Case<TypeParam>{product, a, b, {2, TypeParam(-0.5)}, 3}.check(multiply);
        }
      }
    }
  }
}

TYPED_TEST(Gemm, FewOfADimension) {
  for (Product product : {Product{300, 3, 2},
                          {3, 600, 4},
                          {700, 257, 1},
                          {1, 64, 1},
                          {70, 33, 5},
                          {130, 2, 700},
                          {1, 130, 257},
                          {4, 4, 300},
                          {5, 70, 100}}) {
    for (Op a : {Op::none, Op::transpose}) {
      for (Op b : {Op::none, Op::transpose}) {
        SCOPED_TRACE(::testing::Message() << product.rows << " x " << product.columns << " x " << product.inner);
        Case<TypeParam>{product, a, b}.check(&gemm<TypeParam>);
        Case<TypeParam>{product, a, b, {2, TypeParam(-0.5)}, 3}.check(&gemm<TypeParam>);
      }
    }
  }
}

/// Those that are turned first, on the same few lines of a cache and not.
TYPED_TEST(Gemm, SecondFactorsThatAreTransposes) {
  for (Product product : {Product{33, 256, 40}, {40, 130, 300}, {32, 16, 512}, {200, 512, 128}, {40, 400, 700}})
    Case<TypeParam>{product, Op::none, Op::transpose, {1, 1}, 3}.check(&gemm<TypeParam>);
}

TYPED_TEST(Gemm, BatchesOfOneOrManyAndWithASharedFactor) {
  for (auto multiply : every_gemm<TypeParam>()) {
    for (int count : {1, 2, 3, 8}) {
      SCOPED_TRACE(count);
      for (Op op : {Op::none, Op::transpose}) {
        Case<TypeParam>{{5, 6, 9, count}, op, Op::none, {1, 1}, 2}.check(multiply);
        Case<TypeParam>{{5, 6, 9, count}, Op::none, op, {}, 0, true}.check(multiply);
        Case<TypeParam>{{7, 6, 9, count}, op, Op::none, {}, 0, false, true}.check(multiply);
        Case<TypeParam>{{7, 6, 9, count}, op, op, {1, 1}, 1, true, true}.check(multiply);
      }
    }
  }
}

TYPED_TEST(Gemm, ShapesOfATrainingStep) {
  Case<TypeParam>{{128, 512, 120}, Op::transpose}.check(&gemm<TypeParam>);
  Case<TypeParam>{{120, 128, 512}}.check(&gemm<TypeParam>);
  Case<TypeParam>{{8, 128, 128, 8}, Op::none, Op::transpose}.check(&gemm<TypeParam>);
  Case<TypeParam>{{128, 128, 120, 8}, Op::transpose, Op::none, {}, 0, false, true}.check(&gemm<TypeParam>);
}

TYPED_TEST(Gemm, BetaOfZeroDoesNotReadTheTarget) {
  for (auto multiply : every_gemm<TypeParam>()) {
    for (int inner : {0, 1, 20}) {
      for (int count : {1, 4}) {
        for (int rows : {2, 9}) {
          const Case<TypeParam> one{{rows, 10, inner, count}};
          std::vector<TypeParam> start(one.target_size(), std::numeric_limits<TypeParam>::quiet_NaN());
          for (TypeParam value : one.result(multiply, start)) ASSERT_TRUE(std::isfinite(value));
        }
      }
    }
  }
}

TYPED_TEST(Gemm, InnerOfZeroLeavesBetaTimesTheTarget) {
  for (auto multiply : every_gemm<TypeParam>()) {
    Case<TypeParam>{{4, 5, 0}, Op::none, Op::none, {1, 3}, 1}.check(multiply);
    Case<TypeParam>{{4, 5, 0, 3}, Op::transpose, Op::transpose, {1, 1}, 1}.check(multiply);
  }
}

TYPED_TEST(Gemm, OtherSizesOfZeroDoNothing) {
  TypeParam* nowhere = nullptr;
  for (Product product : {Product{0, 3, 3}, {3, 0, 3}, {3, 3, 3, 0}})
    EXPECT_NO_THROW(gemm<TypeParam>(product, {nowhere, 3}, {nowhere, 3}, {nowhere, 3}));
}

TYPED_TEST(Gemm, NotANumberInAFactorReachesItsRowOnly) {
  for (auto multiply : every_gemm<TypeParam>()) {
    auto left = random_values<TypeParam>(6 * 20, 1);
    left[2 * 20 + 3] = std::numeric_limits<TypeParam>::quiet_NaN();
    const auto a = to_device(left);
    const auto b = to_device(random_values<TypeParam>(20 * 7, 2));
    const Array<TypeParam> target("target", 6 * 7);
    multiply({6, 7, 20}, {a.data(), 20}, {b.data(), 7}, {target.data(), 7}, {});
    Kokkos::fence();
    const auto found = host_copy(target);
    for (int i = 0; i < 6 * 7; ++i) EXPECT_EQ(std::isnan(found[i]), i / 7 == 2) << i;
  }
}

TYPED_TEST(Gemm, SameBitsOnEveryCall) {
  for (const auto& one : {Case<TypeParam>{{128, 130, 300}, Op::transpose}, Case<TypeParam>{{64, 128, 1024}},
                          Case<TypeParam>{{120, 128, 128, 8}}, Case<TypeParam>{{8, 128, 128, 5}}}) {
    const auto first = one.result(&gemm<TypeParam>, one.before());
    for (int again = 0; again < 5; ++again) {
      const auto next = one.result(&gemm<TypeParam>, one.before());
      ASSERT_EQ(std::memcmp(first.data(), next.data(), first.size() * sizeof(TypeParam)), 0);
    }
  }
}

TYPED_TEST(Gemm, RefusesWhatCannotBeMeant) {
  TypeParam* p = nullptr;
  EXPECT_THROW(gemm<TypeParam>({-1, 2, 2}, {p, 2}, {p, 2}, {p, 2}), std::invalid_argument);
  EXPECT_THROW(gemm<TypeParam>({4, 3, 2}, {p, 1}, {p, 3}, {p, 3}), std::invalid_argument);
  EXPECT_THROW(gemm<TypeParam>({4, 3, 2}, {p, 2, Op::transpose}, {p, 3}, {p, 3}), std::invalid_argument);
  EXPECT_THROW(gemm<TypeParam>({4, 3, 2}, {p, 2}, {p, 2}, {p, 3}), std::invalid_argument);
  EXPECT_THROW(gemm<TypeParam>({4, 3, 2}, {p, 2}, {p, 1, Op::transpose}, {p, 3}), std::invalid_argument);
  EXPECT_THROW(gemm<TypeParam>({4, 3, 2}, {p, 2}, {p, 3}, {p, 2}), std::invalid_argument);
  EXPECT_THROW(gemm<TypeParam>({4, 3, 2, 2}, {p, 2}, {p, 3}, {p, 3}), std::invalid_argument);
}

}  // namespace
}  // namespace ridgeline

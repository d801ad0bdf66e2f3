// Kernels over rows against plain loops.
#include "math/rows.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "core/arena.hpp"
#include "matrix_support.hpp"

namespace ridgeline::support {
namespace {

template <class Scalar>
class Rows : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(Rows, Scalars);

TEST(Chunks, CoverEveryRowOnceAndAreFew) {
  for (const int rows : {1, 15, 16, 17, 4095, 4096, 4097, 1000003, 2147483647}) {
    const Chunks chunks(rows);
    EXPECT_LE(chunks.count, 256);
    EXPECT_EQ(chunks.begin(0), 0);
    for (int i = 1; i < chunks.count; ++i) ASSERT_EQ(chunks.begin(i), chunks.end(i - 1));
    EXPECT_EQ(chunks.end(chunks.count - 1), rows);
    EXPECT_LT(chunks.begin(chunks.count - 1), rows);
  }
}

TEST(Chunks, AreNeverMoreThanTheMostOfMoreRows) {
  int most = 0;
  for (int rows = 0; rows < 20000; ++rows) {
    most = std::max(most, Chunks(rows).count);
    ASSERT_EQ(Chunks::most(rows), most) << rows;
  }
}

TYPED_TEST(Rows, AddBias) {
  for (const auto& [rows, columns] : odd_sizes)
    for (const bool biased : {false, true})
      for (const bool added : {false, true}) {
        const auto y = random_values(rows * columns, 1), bias = random_values(columns, 2),
                   residual = random_values(rows * columns, 3);
        std::vector<double> expected = y;
        for (int i = 0; i < rows * columns; ++i)
          expected[i] += (biased ? bias[i % columns] : 0) + (added ? residual[i] : 0);
        const Device<TypeParam> device(y), b(bias), r(residual);
        Vector<const TypeParam> bias_view;
        Matrix<const TypeParam> residual_view;
        if (biased) bias_view = b.vector();
        if (added) residual_view = r.matrix(rows, columns);
        add_bias<TypeParam>(device.matrix(rows, columns), bias_view, residual_view);
        expect_near(device.host(), expected, rounding<TypeParam>);
      }
}

template <class Scalar>
ColumnSums<Scalar> column_sums(int rows, int columns, Arena& arena) {
  ColumnSums<Scalar> sums;
  sums.reserve(rows, columns, arena);
  arena.allocate();
  arena.restart();
  sums.reserve(rows, columns, arena);
  return sums;
}

std::vector<double> plain_sums(const std::vector<double>& matrix, int columns) {
  std::vector<double> sums(columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) sums[i % columns] += matrix[i];
  return sums;
}

TYPED_TEST(Rows, ColumnSumsAreAdded) {
  for (const auto& [rows, columns] : odd_sizes) {
    Arena arena;
    const auto sums = column_sums<TypeParam>(rows, columns + 4, arena);  // room for a wider matrix is room for this
    const auto matrix = random_values(rows * columns, 4), before = random_values(columns, 5);
    std::vector<double> expected = plain_sums(matrix, columns);
    for (int j = 0; j < columns; ++j) expected[j] += before[j];
    const Device<TypeParam> device(matrix), total(before);
    sums.add(device.matrix(rows, columns), total.vector());
    expect_near(total.host(), expected, 10 * rounding<TypeParam>);
  }
}

TYPED_TEST(Rows, MultiplyEntriesAndTheirSums) {
  for (const auto& [rows, columns] : odd_sizes) {
    Arena arena;
    const auto sums = column_sums<TypeParam>(rows, columns, arena);
    const auto a = random_values(rows * columns, 6), b = random_values(rows * columns, 7);
    std::vector<double> expected(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) expected[i] = a[i] * b[i];
    const Device<TypeParam> left(a), right(b), total(std::vector<double>(columns, 1000.0));
    multiply_entries<TypeParam>(left.matrix(rows, columns), right.matrix(rows, columns), right.matrix(rows, columns),
                                sums.partial());
    expect_near(right.host(), expected, rounding<TypeParam>);
    sums.write_to(total.vector());
    expect_near(total.host(), plain_sums(expected, columns), 10 * rounding<TypeParam>);
    if (columns < 3) continue;
    const Device<TypeParam> part(std::vector<double>(2, 1.0));
    sums.add_to(part.vector(), 1);
    const std::vector<double> all = plain_sums(expected, columns);
    expect_near(part.host(), {all[1] + 1, all[2] + 1}, 10 * rounding<TypeParam>);
  }
}

}  // namespace
}  // namespace ridgeline::support

// Products of matrices with more elements than an int can count: sizes are ints, offsets are not.
#include <sys/mman.h>

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

#include "core/kokkos.hpp"
#include "math/gemm.hpp"

namespace ridgeline {
namespace {

/// [rows, leading] of which only the first columns are ever touched: as much memory as there are rows of pages.
template <class Scalar>
class Sparse {
 public:
  static constexpr int rows = 3000, leading = 1000003;

  Sparse()
      : data_(::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~Sparse() {
    if (is_there()) ::munmap(data_, bytes);
  }
  Sparse(const Sparse&) = delete;
  Sparse& operator=(const Sparse&) = delete;

  bool is_there() const { return data_ != MAP_FAILED; }
  Scalar* data() const { return static_cast<Scalar*>(data_); }
  Scalar& operator()(int row, int column) const { return data()[std::size_t(row) * leading + std::size_t(column)]; }

 private:
  static constexpr std::size_t bytes = sizeof(Scalar) * rows * leading;
  void* data_;
};

template <class Scalar>
class GemmOffsets : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(GemmOffsets, Scalars);

TYPED_TEST(GemmOffsets, AreNotCutToAnInt) {
  if (!host_reads_memory) GTEST_SKIP() << "needs memory that is not there until it is touched";
  using Matrix = Sparse<TypeParam>;
  constexpr int rows = Matrix::rows, inner = 5, columns = 9, leading = Matrix::leading;
  static_assert(std::int64_t{rows} * leading > std::numeric_limits<int>::max());
  const Matrix a, product;
  if (!a.is_there() || !product.is_there()) GTEST_SKIP() << "needs more address space";
  std::vector<TypeParam> b(inner * columns), back(inner * columns);
  const auto left = [](int i, int k) { return (i * 7 + k * 3) % 11 - 5; };
  const auto right = [](int k, int j) { return (k * 5 + j) % 7 - 3; };
  for (int i = 0; i < rows; ++i)
    for (int k = 0; k < inner; ++k) a(i, k) = static_cast<TypeParam>(left(i, k));
  for (int k = 0; k < inner; ++k)
    for (int j = 0; j < columns; ++j) b[k * columns + j] = static_cast<TypeParam>(right(k, j));
  // Whole numbers: exact in any order.
  gemm<TypeParam>({rows, columns, inner}, {a.data(), leading}, {b.data(), columns}, {product.data(), leading});
  gemm<TypeParam>({inner, columns, rows}, {a.data(), leading, Op::transpose}, {product.data(), leading},
                  {back.data(), columns});
  Kokkos::fence();
  std::vector<int> expected(inner * columns);
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j) {
      int sum = 0;
      for (int k = 0; k < inner; ++k) sum += left(i, k) * right(k, j);
      ASSERT_EQ(product(i, j), sum) << i << ", " << j;
      for (int k = 0; k < inner; ++k) expected[k * columns + j] += left(i, k) * sum;
    }
  for (int i = 0; i < inner * columns; ++i) EXPECT_EQ(back[i], expected[i]) << i;
}

}  // namespace
}  // namespace ridgeline

// The matrix product: the one door to BLAS, oneDNN, cuBLAS and rocBLAS.

#pragma once

#include <cstdint>

namespace ridgeline {

enum class Op { none, transpose };

/// The sizes of `count` products of rows x inner by inner x columns.
struct Product {
  int rows, columns, inner;
  int count = 1;
};

/// A row-major matrix in memory of the default execution space, `leading` elements from row to row; of a batch,
/// `stride` elements from one matrix to the next (0: the same one for all). With Op::transpose the stored matrix is the
/// transpose of the factor.
template <class Scalar>
struct Factor {
  const Scalar* data;
  int leading;
  Op op = Op::none;
  std::int64_t stride = 0;
};

/// Where the product goes: as Factor, written. The matrices of a batch may interleave (a block of columns each) and
/// must not overlap, neither one another nor a factor.
template <class Scalar>
struct Target {
  Scalar* data;
  int leading;
  std::int64_t stride = 0;
};

template <class Scalar>
struct Scale {
  Scalar alpha = 1;
  Scalar beta = 0;
};

/// target = alpha op(a) op(b) + beta target, for every matrix of a batch.
///
/// beta = 0 does not read the target: NaN in it does not survive. inner = 0 leaves beta target; any other size of zero
/// does nothing. The same call gives the same bits, on the same backend with the same number of threads. The work is
/// enqueued on the default execution space: on a GPU it is not done on return. Call it from the host, outside any
/// kernel.
///
/// Throws std::invalid_argument where a size is negative, a leading dimension is shorter than a row, or a batch of
/// several products has one target.
template <class Scalar>
void gemm(const Product& product, Factor<Scalar> a, Factor<Scalar> b, Target<Scalar> target, Scale<Scalar> scale = {});

extern template void gemm(const Product&, Factor<float>, Factor<float>, Target<float>, Scale<float>);
extern template void gemm(const Product&, Factor<double>, Factor<double>, Target<double>, Scale<double>);

/// Operations of all products, and of all solves (RidgeMap), since the program began; a multiply-add counts two.
double& counted_operations();

/// What computes gemm in this build for float and for double, such as "oneDNN 2.6.3" or "Kokkos Kernels, BLAS".
template <class Scalar>
const char* gemm_backend();

namespace detail {

/// gemm as a Kokkos kernel, for devices without a vendor's BLAS: a team for each tile of the target, the tile and the
/// pieces of the factors that it needs next in the team's scratch memory. Arguments as gemm, unchecked, no size zero
/// but inner.
template <class Scalar>
void gemm_tiled(const Product& product, Factor<Scalar> a, Factor<Scalar> b, Target<Scalar> target, Scale<Scalar> scale);

extern template void gemm_tiled(const Product&, Factor<float>, Factor<float>, Target<float>, Scale<float>);
extern template void gemm_tiled(const Product&, Factor<double>, Factor<double>, Target<double>, Scale<double>);

/// The libraries that multiply on a CPU, and one product by one of them whichever gemm would take; false, and nothing
/// done, where this build or the library cannot. Arguments as gemm, unchecked, no size zero, one product.
enum class Library { onednn, blas };
bool gemm_by_library(Library library, const Product& product, Factor<float> a, Factor<float> b, Target<float> target,
                     Scale<float> scale);
bool gemm_by_library(Library library, const Product& product, Factor<double> a, Factor<double> b, Target<double> target,
                     Scale<double> scale);

}  // namespace detail
}  // namespace ridgeline

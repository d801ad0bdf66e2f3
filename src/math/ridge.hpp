// The small map between two bases that functional attention finds by ridge regression, forward and backward.
#pragma once

#include "core/arena.hpp"
#include "core/signal.hpp"

namespace ridgeline {

/// [heads, basis, batch, width]: so that the rows of one head are one matrix [basis·batch, width].
template <class Scalar>
using HeadRows = View<Scalar****>;

/// Coefficients of every head and sample in their basis, A = rows + sums ⊗ bias.
///
/// Where tokens were contracted before the projection, the projection's bias has not been added to `rows` yet: it enters
/// times the sum of the basis functions over the tokens. Else `sums` and `bias` are empty.
template <class Scalar>
struct Coefficients {
  HeadRows<const Scalar> rows;
  View<const Scalar***> sums;  ///< [heads, basis, batch]
  Matrix<const Scalar> bias;   ///< [heads, width]
};

template <class Scalar>
struct CoefficientGradients {
  HeadRows<Scalar> rows;  ///< dL/dA
  View<Scalar***> sums;   ///< dL/dsums, or empty
};

/// For each sample and head, with A (queries) and Y (values), both [basis, width]:
///
///   mapped = C A,   C = Y Aᵀ (A Aᵀ + ridge I)⁻¹
///
/// or, where basis > width, by the same identity the other way round, mapped = Y (AᵀA + ridge I)⁻¹ AᵀA.
///
/// The Gram matrix is nearly singular in practice, so that it is formed, factorised and solved in double whatever
/// Scalar is, through Kokkos Kernels' batched LU (no pivoting: the matrix is symmetric positive definite). A system
/// whose pivot is lost in rounding raises the signal, with `where` = sample·heads + head and that pivot, or NaN where the
/// coefficients were not finite.
template <class Scalar>
class RidgeMap {
 public:
  RidgeMap(double ridge, Signal signal) : ridge_(ridge), signal_(signal) {}

  /// Keeps the factors and the solutions for the backward pass.
  void reserve(int heads, int basis, int batch, int width, Arena& arena);

  void forward(const Coefficients<Scalar>& queries, const Coefficients<Scalar>& values, HeadRows<Scalar> mapped) const;

  /// From dL/dmapped to the gradients of both coefficients, which are overwritten.
  void backward(const Coefficients<Scalar>& queries, const Coefficients<Scalar>& values,
                HeadRows<const Scalar> mapped_gradient, const CoefficientGradients<Scalar>& queries_gradient,
                const CoefficientGradients<Scalar>& values_gradient) const;

  /// Bytes of a team's scratch memory that a system of this size takes, and how many there are.
  static double scratch_bytes(int basis, int width);
  static double largest_scratch_bytes();

  /// Operations of all systems of a call, in double precision.
  static double forward_operations(int heads, int basis, int batch, int width);
  static double backward_operations(int heads, int basis, int batch, int width);

 private:
  double ridge_;
  Signal signal_;
  View<double***> factor_;  // [batch·heads, n, n] with n = min(basis, width): LU of the regularised Gram matrix
  View<double***> solution_;  // basis <= width: Cᵀ [.., basis, basis]; else W = Y (AᵀA + ridge I)⁻¹ [.., basis, width]
};

extern template class RidgeMap<float>;
extern template class RidgeMap<double>;

}  // namespace ridgeline

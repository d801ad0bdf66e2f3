// The mean squared error, with its gradient.
#pragma once

#include "core/tensor.hpp"

namespace ridgeline {

/// Sums per sample that every metric is made of, in this order.
enum ErrorSum { error_hidden, error_shown, truth_square, error_sum_count };

/// [samples, error_sum_count]
using ErrorSums = Kokkos::View<double* [error_sum_count], Kokkos::LayoutRight, Memory>;

template <class Scalar>
class SquaredError {
 public:
  /// For batches of at most `rows` tokens in all.
  explicit SquaredError(int rows);

  /// Writes the loss, Σ (prediction - target)² / divisor, to `loss`, and its gradient to `gradient`; all [B, N, T].
  /// Where `shown` [B, N] is not empty, tokens that are shown are left out. `divisor` counts what is summed.
  void operator()(Tensor<const Scalar> prediction, Tensor<const Scalar> target, Matrix<const std::uint8_t> shown,
                  double divisor, Tensor<Scalar> gradient, Kokkos::View<double, Memory> loss) const;

 private:
  Kokkos::View<double*, Memory> partial_;  // by chunk of rows
};

/// sums[first + b, :] (see ErrorSum) for each sample of a batch [B, N, T], added up in double.
template <class Scalar>
void sum_errors(Tensor<const Scalar> prediction, Tensor<const Scalar> target, Matrix<const std::uint8_t> shown,
                ErrorSums sums, int first);

extern template class SquaredError<float>;
extern template class SquaredError<double>;

}  // namespace ridgeline

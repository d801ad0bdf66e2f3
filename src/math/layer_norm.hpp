// Layer normalisation (Ba, Kiros, Hinton 2016): each token's channels to mean 0 and variance 1, then scaled and shifted.
#pragma once

#include "core/arena.hpp"
#include "core/parameters.hpp"
#include "math/rows.hpp"

namespace ridgeline {

/// y = weight (x - mean) / sqrt(variance + 1e-5) + bias over the channels of each row, with the biased variance.
template <class Scalar>
class LayerNorm {
 public:
  /// Declares `weight` (ones) and `bias` (zeros), both [channels].
  LayerNorm(ParameterScope<Scalar> parameters, int channels);

  /// Takes the rows' mean and deviation (kept) and the gradients' partial sums (passing).
  void reserve(int rows, Arena& arena);

  /// x, y [rows, channels], apart from each other.
  void forward(Matrix<const Scalar> x, Matrix<Scalar> y);

  /// With dy = first + second (second may be empty): adds to the gradients of weight and bias, and writes
  /// dx = addend + dL/dx (addend may be empty). dx may be first, second or addend.
  void backward(Matrix<const Scalar> x, Matrix<const Scalar> first, Matrix<const Scalar> second,
                Matrix<const Scalar> addend, Matrix<Scalar> dx);

 private:
  int channels_;
  Parameter<Scalar> weight_;
  Parameter<Scalar> bias_;
  Matrix<Scalar> statistics_;  // [rows, 2]: mean, 1 / deviation
  ColumnSums<Scalar> sums_;    // of weight's gradient, then bias's
};

}  // namespace ridgeline

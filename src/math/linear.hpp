// The linear map x Wᵀ + b of every layer.
#pragma once

#include <string>

#include "core/arena.hpp"
#include "core/parameters.hpp"
#include "math/gemm.hpp"
#include "math/rows.hpp"

namespace ridgeline {

/// Declares weight [outputs, inputs] and bias [outputs] under `name`, with PyTorch's initial values: both uniform in
/// ±1/√inputs. Its parts are separate functions, since what follows the product (bias, activation, residual) is fused
/// by whoever knows it.
template <class Scalar>
class Linear {
 public:
  Linear(ParameterScope<Scalar> parameters, const std::string& name, int inputs, int outputs);

  /// y = x Wᵀ, without the bias; x [rows, inputs], y [rows, outputs].
  void product(Matrix<const Scalar> x, Matrix<Scalar> y) const;

  /// dW += dyᵀ x, before anything else is added to it (Parameter::gradient_factor); the bias's gradient, the column sums
  /// of dy, is the caller's.
  void add_weight_gradient(Matrix<const Scalar> x, Matrix<const Scalar> dy);

  /// dx = dy W, or dx + dy W where `add`.
  void input_gradient(Matrix<const Scalar> dy, Matrix<Scalar> dx, bool add = false) const;

  int inputs() const { return inputs_; }
  int outputs() const { return outputs_; }
  double operations(int rows) const { return 2.0 * rows * inputs_ * outputs_; }

  Parameter<Scalar> weight;
  Parameter<Scalar> bias;

 private:
  int inputs_;
  int outputs_;
};

extern template class Linear<float>;
extern template class Linear<double>;

}  // namespace ridgeline

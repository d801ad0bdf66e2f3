#include "math/linear.hpp"

#include <cmath>

namespace ridgeline {

template <class Scalar>
Linear<Scalar>::Linear(ParameterScope<Scalar> parameters, const std::string& name, int inputs, int outputs)
    : inputs_(inputs), outputs_(outputs) {
  const double bound = 1 / std::sqrt(static_cast<double>(inputs));
  const ParameterScope<Scalar> own = name.empty() ? parameters : parameters.inside(name);
  own.declare(weight, "weight", {outputs, inputs}, Initial::uniform(-bound, bound));
  own.declare(bias, "bias", {outputs}, Initial::uniform(-bound, bound));
}

template <class Scalar>
void Linear<Scalar>::product(Matrix<const Scalar> x, Matrix<Scalar> y) const {
  gemm<Scalar>({extent(x, 0), outputs_, inputs_}, {x.data(), inputs_}, {weight.value.data(), inputs_, Op::transpose},
               {y.data(), outputs_});
}

template <class Scalar>
void Linear<Scalar>::add_weight_gradient(Matrix<const Scalar> x, Matrix<const Scalar> dy) {
  gemm<Scalar>({outputs_, inputs_, extent(x, 0)}, {dy.data(), outputs_, Op::transpose}, {x.data(), inputs_},
               {weight.gradient.data(), inputs_}, {1, weight.gradient_factor()});
}

template <class Scalar>
void Linear<Scalar>::input_gradient(Matrix<const Scalar> dy, Matrix<Scalar> dx, bool add) const {
  gemm<Scalar>({extent(dy, 0), inputs_, outputs_}, {dy.data(), outputs_}, {weight.value.data(), inputs_},
               {dx.data(), inputs_}, {1, add ? Scalar(1) : Scalar(0)});
}

template class Linear<float>;
template class Linear<double>;

}  // namespace ridgeline

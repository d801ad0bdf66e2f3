// A layer that hands on what it gets, for plugins that have something wrong, or nothing but a name.
#pragma once

#include "layer/registry.hpp"
#include "math/rows.hpp"

namespace ridgeline::loaded {

/// y = x + residual, on the first `outputs` channels.
template <class Scalar>
class IdentityLayer : public Layer<Scalar> {
 public:
  static void declare(OptionSet&) {}
  explicit IdentityLayer(Setup<Scalar>&) {}

  void reserve(const Shape&, Arena&) override {}
  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    Kokkos::deep_copy(Execution(), y, x);
    add_bias<Scalar>(rows_of(y), {}, rows_of(residual));
  }
  void backward(Tensor<const Scalar>, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    if (dx.data() != nullptr) Kokkos::deep_copy(Execution(), dx, dy);
  }
  Operations operations(const Shape&) const override { return {}; }
};

}  // namespace ridgeline::loaded

// Layers that do nothing by themselves, for plugins that have something wrong, or nothing but a name.
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

/// Hands its work to the layer ffn/INNER.
template <class Scalar>
class HandingLayer : public Layer<Scalar> {
 public:
  static void declare(OptionSet&) {}
  HandingLayer(Setup<Scalar>& setup, const char* inner)
      : inner_(setup.registry.get("ffn", inner).template make<Scalar>(setup)) {}

  void reserve(const Shape& shape, Arena& arena) override { inner_->reserve(shape, arena); }
  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    inner_->forward(x, residual, y);
  }
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    inner_->backward(x, dy, dx);
  }
  Operations operations(const Shape& shape) const override { return inner_->operations(shape); }

 private:
  std::unique_ptr<Layer<Scalar>> inner_;
};

}  // namespace ridgeline::loaded

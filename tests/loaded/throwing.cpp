// Layers that throw: while they are made, in the forward and in the backward pass, and something that is no exception.
#include <stdexcept>

#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
class ThrowsWhenMade final : public loaded::IdentityLayer<Scalar> {
 public:
  explicit ThrowsWhenMade(Setup<Scalar>& setup) : loaded::IdentityLayer<Scalar>(setup) {
    throw std::runtime_error("no width is good enough");
  }
};

template <class Scalar>
class ThrowsForward final : public loaded::IdentityLayer<Scalar> {
 public:
  using loaded::IdentityLayer<Scalar>::IdentityLayer;
  void forward(Tensor<const Scalar>, Tensor<const Scalar>, Tensor<Scalar>) override {
    throw std::out_of_range("lost on the way\nthere");
  }
};

template <class Scalar>
class ThrowsBackward final : public loaded::IdentityLayer<Scalar> {
 public:
  using loaded::IdentityLayer<Scalar>::IdentityLayer;
  void backward(Tensor<const Scalar>, Tensor<const Scalar>, Tensor<Scalar>) override { throw 7; }
};

RIDGELINE_REGISTER_LAYER("ffn", "throws_when_made", ThrowsWhenMade, "throws while it is made");
RIDGELINE_REGISTER_LAYER("ffn", "throws_forward", ThrowsForward, "throws in its forward pass");
RIDGELINE_REGISTER_LAYER("ffn", "throws_backward", ThrowsBackward, "throws in its backward pass");

}  // namespace

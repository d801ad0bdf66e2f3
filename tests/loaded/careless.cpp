// Layers that do what a Kokkos tool should never see of one, one thing each.
#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

/// y = x + residual, on the first channels of x that y has.
template <class Scalar>
void pass_on(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y, const char* name) {
  const int tokens = extent(y, 1), channels = extent(y, 2);
  Kokkos::parallel_for(
      name, RangePolicy(0, extent(y, 0) * tokens * channels), KOKKOS_LAMBDA(int i) {
        const int c = i % channels, n = i / channels % tokens, b = i / channels / tokens;
        y(b, n, c) = x(b, n, c) + (residual.data() != nullptr ? residual(b, n, c) : Scalar(0));
      });
}

template <class Scalar>
class CarelessLayer : public loaded::IdentityLayer<Scalar> {
 public:
  using loaded::IdentityLayer<Scalar>::IdentityLayer;
  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    misbehave(y);
    pass_on<Scalar>(x, residual, y, kernel());
  }
  void backward(Tensor<const Scalar>, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    if (dx.data() != nullptr) pass_on<Scalar>(dy, {}, dx, "ridgeline::careless");
  }

 protected:
  /// What it does before the forward pass; y is to be overwritten.
  virtual void misbehave(Tensor<Scalar>) {}
  virtual const char* kernel() const { return "ridgeline::careless"; }
};

template <class Scalar>
class UnnamedKernel final : public CarelessLayer<Scalar> {
  using CarelessLayer<Scalar>::CarelessLayer;
  const char* kernel() const override { return "mine"; }
};

template <class Scalar>
class UnnamedMemory final : public CarelessLayer<Scalar> {
  using CarelessLayer<Scalar>::CarelessLayer;
  void misbehave(Tensor<Scalar>) override { const Kokkos::View<Scalar*, Memory> memory("mine", 8); }
};

template <class Scalar>
class Allocates final : public CarelessLayer<Scalar> {
  using CarelessLayer<Scalar>::CarelessLayer;
  void misbehave(Tensor<Scalar>) override { const Kokkos::View<Scalar*, Memory> memory("ridgeline::careless", 8); }
};

template <class Scalar>
class Copies final : public CarelessLayer<Scalar> {
  using CarelessLayer<Scalar>::CarelessLayer;
  void misbehave(Tensor<Scalar> y) override { Kokkos::deep_copy(Execution(), y, Scalar(0)); }
};

template <class Scalar>
class LeavesOpen final : public CarelessLayer<Scalar> {
  using CarelessLayer<Scalar>::CarelessLayer;
  void misbehave(Tensor<Scalar>) override { Kokkos::Profiling::pushRegion("left open"); }
};

template <class Scalar>
class ClosesTooMany final : public CarelessLayer<Scalar> {
  using CarelessLayer<Scalar>::CarelessLayer;
  void misbehave(Tensor<Scalar>) override { Kokkos::Profiling::popRegion(); }
};

template <class Scalar>
class OpensInsideAKernel final : public CarelessLayer<Scalar> {
  using CarelessLayer<Scalar>::CarelessLayer;
  void misbehave(Tensor<Scalar>) override {
    Kokkos::parallel_for("ridgeline::careless", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, 1), [](int) {
      Kokkos::Profiling::pushRegion("inside");
      Kokkos::Profiling::popRegion();
    });
  }
};

RIDGELINE_REGISTER_LAYER("ffn", "unnamed_kernel", UnnamedKernel, "a kernel with a name of its own");
RIDGELINE_REGISTER_LAYER("ffn", "unnamed_memory", UnnamedMemory, "memory with a name of its own, in every pass");
RIDGELINE_REGISTER_LAYER("ffn", "allocates", Allocates, "takes memory in every pass");
RIDGELINE_REGISTER_LAYER("ffn", "copies", Copies, "makes a deep copy in every pass");
RIDGELINE_REGISTER_LAYER("ffn", "leaves_open", LeavesOpen, "leaves a region open");
RIDGELINE_REGISTER_LAYER("ffn", "closes_too_many", ClosesTooMany, "closes a region that it did not open");
RIDGELINE_REGISTER_LAYER("ffn", "opens_inside_a_kernel", OpensInsideAKernel, "opens a region inside a kernel");

}  // namespace

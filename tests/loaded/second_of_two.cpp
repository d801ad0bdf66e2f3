// The other of two plugins that need each other.
#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
class Second final : public Layer<Scalar> {
 public:
  static void declare(OptionSet&) {}
  explicit Second(Setup<Scalar>& setup)
      : inner_(setup.registry.get("ffn", "last_of_two").template make<Scalar>(setup)) {}

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

RIDGELINE_REGISTER_LAYER("ffn", "second_of_two", Second, "needs last_of_two");

}  // namespace

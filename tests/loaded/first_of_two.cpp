// A layer that hands its work to one of another plugin, which hands back to one of this.
#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
class First final : public Layer<Scalar> {
 public:
  static void declare(OptionSet&) {}
  explicit First(Setup<Scalar>& setup)
      : inner_(setup.registry.get("ffn", "second_of_two").template make<Scalar>(setup)) {}

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

template <class Scalar>
using Last = loaded::IdentityLayer<Scalar>;

RIDGELINE_REGISTER_LAYER("ffn", "first_of_two", First, "needs second_of_two");
RIDGELINE_REGISTER_LAYER("ffn", "last_of_two", Last, "what second_of_two needs");

}  // namespace

// ffn/mlp: up, activation, down, for each token by itself.
#include "layer/registry.hpp"
#include "math/linear.hpp"

namespace ridgeline {
namespace {

template <class Scalar>
class FeedForwardMlp final : public Layer<Scalar> {
 public:
  static void declare(OptionSet& options) {
    options.integer("hidden", 512, "channels between the two linear maps")
        .at_least(1)
        .at_most(1 << 24)
        .trials({"1", "17"});
    options.layer("activation", "activation", "gelu", "function between the two linear maps");
  }

  /// Each token by itself.
  static Properties properties(const OptionValues&) { return {true, true, true, true}; }

  explicit FeedForwardMlp(Setup<Scalar>& setup)
      : hidden_channels_(static_cast<int>(setup.options.integer("hidden"))),
        up_(setup.parameters, "up", setup.inputs, hidden_channels_),
        down_(setup.parameters, "down", hidden_channels_, setup.outputs),
        activation_(
            setup.registry.get("activation", setup.options.text("activation")).template make_activation<Scalar>()) {}

  void reserve(const Shape& shape, Arena& arena) override {
    hidden_ = arena.kept<Scalar>(shape.rows(), hidden_channels_);
    slope_ = arena.kept<Scalar>(shape.rows(), hidden_channels_);
    gradient_ = arena.passing<Scalar>(shape.rows(), hidden_channels_);
    up_sums_.reserve(shape.rows(), hidden_channels_, arena);
    down_sums_.reserve(shape.rows(), down_.outputs(), arena);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    up_.product(rows_of(x), slope_);
    activation_->apply(slope_, up_.bias.value, hidden_, slope_);
    down_.product(hidden_, rows_of(y));
    add_bias<Scalar>(rows_of(y), down_.bias.value, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    down_sums_.add(rows_of(dy), down_.bias.gradient);
    down_.add_weight_gradient(hidden_, rows_of(dy));
    down_.input_gradient(rows_of(dy), gradient_);
    multiply_entries<Scalar>(gradient_, slope_, gradient_, up_sums_.partial());
    up_sums_.add_to(up_.bias.gradient);
    up_.add_weight_gradient(rows_of(x), gradient_);
    if (dx.data() != nullptr) up_.input_gradient(gradient_, rows_of(dx));
  }

  Operations operations(const Shape& shape) const override {
    const double forward = up_.operations(shape.rows()) + down_.operations(shape.rows());
    return {forward, 2 * forward};
  }

 private:
  int hidden_channels_;
  Linear<Scalar> up_;
  Linear<Scalar> down_;
  std::unique_ptr<Activation<Scalar>> activation_;
  Matrix<Scalar> hidden_;    // [B·N, hidden]: after the activation
  Matrix<Scalar> slope_;     // [B·N, hidden]: before the activation, then its slope
  Matrix<Scalar> gradient_;  // [B·N, hidden]
  ColumnSums<Scalar> up_sums_, down_sums_;
};

RIDGELINE_REGISTER_LAYER("ffn", "mlp", FeedForwardMlp, "two linear maps with an activation between them");

}  // namespace
}  // namespace ridgeline

// encoder/mlp: linear maps with an activation after each, the last included.
#include "core/region.hpp"
#include "layer/registry.hpp"
#include "math/linear.hpp"

namespace ridgeline {
namespace {

template <class Scalar>
class EncoderMlp final : public Layer<Scalar> {
 public:
  static void declare(OptionSet& options) {
    options.integer("layers", 4, "linear maps, each followed by the activation")
        .at_least(1)
        .at_most(1000)
        .trials({"1", "3"});
    options.layer("activation", "activation", "gelu", "function after each linear map");
  }

  /// Each token by itself.
  static Properties properties(const OptionValues&) { return {true, true, true, true}; }

  explicit EncoderMlp(Setup<Scalar>& setup)
      : activation_(
            setup.registry.get("activation", setup.options.text("activation")).template make_activation<Scalar>()) {
    const int layers = static_cast<int>(setup.options.integer("layers"));
    for (int i = 0; i < layers; ++i)
      maps_.push_back(std::make_unique<Linear<Scalar>>(setup.parameters, std::to_string(i),
                                                       i == 0 ? setup.inputs : setup.outputs, setup.outputs));
    slopes_.resize(layers);
    hidden_.resize(layers - 1);
  }

  void reserve(const Shape& shape, Arena& arena) override {
    const int width = maps_.back()->outputs();
    for (auto& slope : slopes_) slope = arena.kept<Scalar>(shape.rows(), width);
    for (auto& hidden : hidden_) hidden = arena.kept<Scalar>(shape.rows(), width);
    gradient_ = arena.passing<Scalar>(shape.rows(), width);
    bias_sums_.reserve(shape.rows(), width, arena);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    Matrix<const Scalar> input = rows_of(x);
    for (std::size_t i = 0; i < maps_.size(); ++i) {
      const Matrix<Scalar> output = i + 1 < maps_.size() ? hidden_[i] : rows_of(y);
      maps_[i]->product(input, slopes_[i]);
      activation_->apply(slopes_[i], maps_[i]->bias.value, output, slopes_[i]);
      input = output;
    }
    add_bias<Scalar>(rows_of(y), {}, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    // A slope is not needed once its map's gradient is formed: the gradient takes its place.
    Matrix<const Scalar> gradient = rows_of(dy);
    for (std::size_t i = maps_.size(); i-- > 0;) {
      Linear<Scalar>& map = *maps_[i];
      multiply_entries<Scalar>(gradient, slopes_[i], slopes_[i], bias_sums_.partial());
      bias_sums_.add_to(map.bias.gradient);
      map.add_weight_gradient(i == 0 ? rows_of(x) : Matrix<const Scalar>(hidden_[i - 1]), slopes_[i]);
      if (i > 0)
        map.input_gradient(slopes_[i], gradient_);
      else if (dx.data() != nullptr)
        map.input_gradient(slopes_[i], rows_of(dx));
      gradient = gradient_;
    }
  }

  Operations operations(const Shape& shape) const override {
    double forward = 0;
    for (const auto& map : maps_) forward += map->operations(shape.rows());
    return {forward, 2 * forward};
  }

 private:
  std::unique_ptr<Activation<Scalar>> activation_;
  std::vector<std::unique_ptr<Linear<Scalar>>> maps_;
  std::vector<Matrix<Scalar>> slopes_;  // [B·N, width]: before the activation, then its slope, then the gradient
  std::vector<Matrix<Scalar>> hidden_;  // [B·N, width]: what each map but the last hands on
  Matrix<Scalar> gradient_;
  ColumnSums<Scalar> bias_sums_;
};

RIDGELINE_REGISTER_LAYER("encoder", "mlp", EncoderMlp, "linear maps with an activation after each");

}  // namespace
}  // namespace ridgeline

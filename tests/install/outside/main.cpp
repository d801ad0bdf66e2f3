// A program of someone else's: Ridgeline's commands, and a layer that Ridgeline does not have.
#include <cstdio>

#include "driver/commands.hpp"
#include "layer/registry.hpp"
#include "math/linear.hpp"

namespace {

using namespace ridgeline;

/// y = x Wᵀ + b
template <class Scalar>
class Straight final : public Layer<Scalar> {
 public:
  static void declare(OptionSet&) {}

  explicit Straight(Setup<Scalar>& setup) : map_(setup.parameters, "map", setup.inputs, setup.outputs) {}

  void reserve(const Shape& shape, Arena& arena) override { bias_sums_.reserve(shape.rows(), map_.outputs(), arena); }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    map_.product(rows_of(x), rows_of(y));
    add_bias<Scalar>(rows_of(y), map_.bias.value, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    map_.add_weight_gradient(rows_of(x), rows_of(dy));
    bias_sums_.add(rows_of(dy), map_.bias.gradient);
    if (dx.data() != nullptr) map_.input_gradient(rows_of(dy), rows_of(dx));
  }

  Operations operations(const Shape& shape) const override {
    const double product = map_.operations(shape.rows());
    return {product, 2 * product};
  }

 private:
  Linear<Scalar> map_;
  ColumnSums<Scalar> bias_sums_;
};

RIDGELINE_REGISTER_LAYER("ffn", "straight", Straight, "one linear map");

}  // namespace

int main(int count, char** arguments) {
  try {
    return static_cast<int>(run_command(parse_command_line({arguments + 1, arguments + count})));
  } catch (const Error& error) {
    std::fprintf(stderr, "outside: %s\n", error.what());
    return static_cast<int>(error.status());
  }
}

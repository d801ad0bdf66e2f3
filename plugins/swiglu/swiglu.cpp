// ffn/swiglu: down(silu(gate(x)) ∘ up(x)), a feed-forward network with a gate (Shazeer 2020, arXiv 2002.05202).
#include "layer/registry.hpp"
#include "math/elementary.hpp"
#include "math/linear.hpp"

namespace {

using namespace ridgeline;

/// hidden = silu(gate + gate_bias) ∘ (up + up_bias); gate and up are left as what the backward pass multiplies by:
/// dhidden/dgate in gate, dhidden/dup in up.
template <class Scalar>
void multiply_gate(Matrix<Scalar> gate, Vector<const Scalar> gate_bias, Matrix<Scalar> up, Vector<const Scalar> up_bias,
                   Matrix<Scalar> hidden) {
  const int columns = extent(gate, 1);
  const Chunks chunks(extent(gate, 0));
  Kokkos::parallel_for(
      "swiglu::multiply_gate", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const Scalar* gate_shift = gate_bias.data();
        const Scalar* up_shift = up_bias.data();
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          Scalar* g = &gate(row, 0);
          Scalar* u = &up(row, 0);
          Scalar* h = &hidden(row, 0);
          for_lanes(team, columns, [=](int j) {
            const ValueAndSlope<Scalar> gated = silu(g[j] + gate_shift[j]);
            const Scalar raised = u[j] + up_shift[j];
            h[j] = gated.value * raised;
            g[j] = gated.slope * raised;
            u[j] = gated.value;
          });
        }
      });
}

template <class Scalar>
class SwiGlu final : public Layer<Scalar> {
 public:
  static void declare(OptionSet& options) {
    options.integer("hidden", 341, "channels of the gate").at_least(1).at_most(1 << 24).trials({"1", "17"});
  }

  /// Each token by itself.
  static Properties properties(const OptionValues&) { return {true, true, true, true}; }

  explicit SwiGlu(Setup<Scalar>& setup)
      : hidden_channels_(static_cast<int>(setup.options.integer("hidden"))),
        gate_map_(setup.parameters, "gate", setup.inputs, hidden_channels_),
        up_map_(setup.parameters, "up", setup.inputs, hidden_channels_),
        down_map_(setup.parameters, "down", hidden_channels_, setup.outputs) {}

  void reserve(const Shape& shape, Arena& arena) override {
    for (Matrix<Scalar>* kept : {&gate_, &up_, &hidden_}) *kept = arena.kept<Scalar>(shape.rows(), hidden_channels_);
    gradient_ = arena.passing<Scalar>(shape.rows(), hidden_channels_);
    hidden_sums_.reserve(shape.rows(), hidden_channels_, arena);
    output_sums_.reserve(shape.rows(), down_map_.outputs(), arena);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    gate_map_.product(rows_of(x), gate_);
    up_map_.product(rows_of(x), up_);
    multiply_gate<Scalar>(gate_, gate_map_.bias.value, up_, up_map_.bias.value, hidden_);
    down_map_.product(hidden_, rows_of(y));
    add_bias<Scalar>(rows_of(y), down_map_.bias.value, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    output_sums_.add(rows_of(dy), down_map_.bias.gradient);
    down_map_.add_weight_gradient(hidden_, rows_of(dy));
    down_map_.input_gradient(rows_of(dy), gradient_);
    through(gate_map_, gate_, x, dx, false);
    through(up_map_, up_, x, dx, true);
  }

  Operations operations(const Shape& shape) const override {
    const int rows = shape.rows();
    const double products = gate_map_.operations(rows) + up_map_.operations(rows) + down_map_.operations(rows);
    return {products, 2 * products};
  }

 private:
  /// The gradient of the hidden channels through one of the two maps that made them, whose slopes become its gradient.
  void through(Linear<Scalar>& map, Matrix<Scalar> slope, Tensor<const Scalar> x, Tensor<Scalar> dx, bool add) {
    multiply_entries<Scalar>(gradient_, slope, slope, hidden_sums_.partial());
    hidden_sums_.add_to(map.bias.gradient);
    map.add_weight_gradient(rows_of(x), slope);
    if (dx.data() != nullptr) map.input_gradient(slope, rows_of(dx), add);
  }

  int hidden_channels_;
  Linear<Scalar> gate_map_, up_map_, down_map_;
  Matrix<Scalar> gate_, up_, hidden_;  // [B·N, hidden]
  Matrix<Scalar> gradient_;            // [B·N, hidden]
  ColumnSums<Scalar> hidden_sums_, output_sums_;
};

RIDGELINE_REGISTER_LAYER("ffn", "swiglu", SwiGlu, "a feed-forward network with a SiLU gate (Shazeer 2020)");

}  // namespace

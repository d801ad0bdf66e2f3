// attention/galerkin: attention without a softmax, linear in the number of tokens (Cao 2021, arXiv 2105.14995).
//
//   q, k, v = x Wqᵀ+bq, x Wkᵀ+bk, x Wvᵀ+bv, in heads of d = D / H channels
//   per head: k̃, ṽ = layer norm of k, v;  M = k̃ᵀ ṽ / N;  out = q M;  heads side by side, then `output`
//
// The output map is applied to M, d rows a head, instead of every token: y = q F + bo with F = M Woᵀ by head. M and F
// are kept as [D, B, ·], so that a head's rows are one matrix and a sample's another.
#include <cmath>
#include <cstdint>
#include <string>

#include "layer/registry.hpp"
#include "math/linear.hpp"

namespace {

using namespace ridgeline;

/// Every head's channels of tokens + bias, [rows, H·d], to mean 0 and variance 1, in place; `inverse` [rows, H] becomes
/// 1 / deviation.
template <class Scalar>
void normalise(Matrix<Scalar> tokens, Vector<const Scalar> bias, Matrix<Scalar> inverse) {
  const int heads = extent(inverse, 1), width = extent(tokens, 1) / heads;
  const Chunks chunks(extent(tokens, 0));
  Kokkos::parallel_for(
      "galerkin::normalise", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          for (int head = 0; head < heads; ++head) {
            const Scalar* b = bias.data() + head * width;
            Scalar* z = &tokens(row, head * width);
            for_lanes(team, width, [=](int j) { z[j] += b[j]; });
            const Scalar mean = sum_lanes(team, width, [=](int j) { return z[j]; }) / Scalar(width);
            const Scalar variance =
                sum_lanes(team, width, [=](int j) { return (z[j] - mean) * (z[j] - mean); }) / Scalar(width);
            const Scalar scale = Scalar(1) / std::sqrt(variance + Scalar(1e-5));
            for_lanes(team, width, [=](int j) { z[j] = (z[j] - mean) * scale; });
            Kokkos::single(Kokkos::PerTeam(team), [=]() { inverse(row, head) = scale; });
          }
        }
      });
}

/// result = weight ∘ normed + bias, for normed and result [rows, D].
template <class Scalar>
void scale_and_shift(Matrix<const Scalar> normed, Vector<const Scalar> weight, Vector<const Scalar> bias,
                     Matrix<Scalar> result) {
  const int columns = extent(normed, 1);
  const Chunks chunks(extent(normed, 0));
  Kokkos::parallel_for(
      "galerkin::scale_and_shift", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const Scalar* w = weight.data();
        const Scalar* b = bias.data();
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          const Scalar* in = &normed(row, 0);
          Scalar* out = &result(row, 0);
          for_lanes(team, columns, [=](int j) { out[j] = w[j] * in[j] + b[j]; });
        }
      });
}

/// The gradient of scale_and_shift's result becomes that of what `normalise` was given, in place. `partial` [chunks, 3D]
/// becomes each chunk's sums of the gradients of weight, bias, and normalise's bias.
template <class Scalar>
void normalise_backward(Matrix<const Scalar> normed, Matrix<const Scalar> inverse, Vector<const Scalar> weight,
                        Matrix<Scalar> gradient, Matrix<Scalar> partial) {
  const int heads = extent(inverse, 1), columns = extent(normed, 1), width = columns / heads;
  const Chunks chunks(extent(normed, 0));
  Kokkos::parallel_for(
      "galerkin::normalise_backward", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        Scalar* sums = &partial(team.league_rank(), 0);
        for_lanes(team, 3 * columns, [=](int j) { sums[j] = 0; });
        team.team_barrier();
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          for (int head = 0; head < heads; ++head) {
            const Scalar* n = &normed(row, head * width);
            const Scalar* w = weight.data() + head * width;
            Scalar* g = &gradient(row, head * width);
            Scalar* weight_sum = sums + head * width;
            Scalar* bias_sum = weight_sum + columns;
            Scalar* input_sum = bias_sum + columns;
            const Scalar scale = inverse(row, head);
            for_lanes(team, width, [=](int j) {
              weight_sum[j] += g[j] * n[j];
              bias_sum[j] += g[j];
              g[j] *= w[j];
            });
            const Scalar mean = sum_lanes(team, width, [=](int j) { return g[j]; }) / Scalar(width);
            const Scalar slope = sum_lanes(team, width, [=](int j) { return g[j] * n[j]; }) / Scalar(width);
            for_lanes(team, width, [=](int j) {
              const Scalar part = (g[j] - mean - n[j] * slope) * scale;
              input_sum[j] += part;
              g[j] = part;
            });
          }
        }
      });
}

/// Keys or values: a projection, each head's channels then normalised. Both of the arrays that pass are for the call:
/// `scaled` is made anew where the backward pass needs it.
template <class Scalar>
class NormedProjection {
 public:
  NormedProjection(const ParameterScope<Scalar>& parameters, const std::string& name, int width, int heads)
      : heads_(heads), map_(parameters, name, width, width) {
    parameters.declare(weight_, name + "_norm.weight", {heads, width / heads}, Initial::constant(1));
    parameters.declare(bias_, name + "_norm.bias", {heads, width / heads}, Initial::constant(0));
  }

  void reserve(const Shape& shape, Arena& arena) {
    normed_ = arena.kept<Scalar>(shape.rows(), map_.outputs());
    inverse_ = arena.kept<Scalar>(shape.rows(), heads_);
    scaled_ = arena.passing<Scalar>(shape.rows(), map_.outputs());
    gradient_ = arena.passing<Scalar>(shape.rows(), map_.outputs());
    sums_.reserve(shape.rows(), 3 * map_.outputs(), arena);
  }

  void forward(Tensor<const Scalar> x) {
    map_.product(rows_of(x), normed_);
    normalise<Scalar>(normed_, map_.bias.value, inverse_);
    make_scaled();
  }

  void make_scaled() { scale_and_shift<Scalar>(normed_, weight_.value, bias_.value, scaled_); }

  /// From dL/dscaled in `gradient`; adds to dx, where it is wanted.
  void backward(Tensor<const Scalar> x, Tensor<Scalar> dx) {
    normalise_backward<Scalar>(normed_, inverse_, weight_.value, gradient_, sums_.partial());
    sums_.add_to(weight_.gradient, 0);
    sums_.add_to(bias_.gradient, map_.outputs());
    sums_.add_to(map_.bias.gradient, 2 * map_.outputs());
    map_.add_weight_gradient(rows_of(x), gradient_);
    if (dx.data() != nullptr) map_.input_gradient(gradient_, rows_of(dx), true);
  }

  const Matrix<Scalar>& scaled() const { return scaled_; }
  const Matrix<Scalar>& gradient() const { return gradient_; }

 private:
  int heads_;
  Linear<Scalar> map_;
  Parameter<Scalar> weight_, bias_;   // [H, d]
  Matrix<Scalar> normed_, inverse_;   // [B·N, D], [B·N, H]
  Matrix<Scalar> scaled_, gradient_;  // [B·N, D]
  ColumnSums<Scalar> sums_;
};

template <class Scalar>
class GalerkinAttention final : public Layer<Scalar> {
 public:
  static void declare(OptionSet& options) {
    options.integer("heads", 8, "heads, which share the width").at_least(1).at_most(65536).trials({"1", "3"});
  }

  /// Tokens meet in a mean over all of them.
  static Properties properties(const OptionValues&) { return {false, true, true}; }

  explicit GalerkinAttention(Setup<Scalar>& setup)
      : heads_(read_heads(setup)),
        width_(setup.inputs),
        query_(setup.parameters, "query", width_, width_),
        key_(setup.parameters, "key", width_, heads_),
        value_(setup.parameters, "value", width_, heads_),
        output_(setup.parameters, "output", width_, setup.outputs) {}

  void reserve(const Shape& shape, Arena& arena) override {
    shape_ = shape;
    queries_ = arena.kept<Scalar>(shape.rows(), width_);
    key_.reserve(shape, arena);
    value_.reserve(shape, arena);
    maps_ = arena.kept<Scalar>(width_, shape.batch, width_ / heads_);
    synthesis_ = arena.kept<Scalar>(width_, shape.batch, output_.outputs());
    queries_gradient_ = arena.passing<Scalar>(shape.rows(), width_);
    maps_gradient_ = arena.passing<Scalar>(width_, shape.batch, width_ / heads_);
    synthesis_gradient_ = arena.passing<Scalar>(width_, shape.batch, output_.outputs());
    query_sums_.reserve(shape.rows(), width_, arena);
    output_sums_.reserve(shape.rows(), output_.outputs(), arena);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    const int o = output_.outputs(), n = shape_.tokens, batch = shape_.batch, d = width_ / heads_, rows = d * batch;
    query_.product(rows_of(x), queries_);
    add_bias<Scalar>(queries_, query_.bias.value, {});
    key_.forward(x);
    value_.forward(x);
    for (int head = 0; head < heads_; ++head)
      gemm<Scalar>({d, d, n, batch}, of_tokens(key_.scaled(), head, Op::transpose), of_tokens(value_.scaled(), head),
                   {row_pointer(maps_, head * d), batch * d, d}, {token_weight(), 0});
    gemm<Scalar>({rows, o, d, heads_}, {maps_.data(), d, Op::none, std::int64_t{rows} * d},
                 {output_.weight.value.data(), width_, Op::transpose, d},
                 {synthesis_.data(), o, std::int64_t{rows} * o});
    gemm<Scalar>({n, o, width_, batch}, {queries_.data(), width_, Op::none, std::int64_t{n} * width_},
                 {synthesis_.data(), batch * o, Op::none, o}, {y.data(), o, std::int64_t{n} * o});
    add_bias<Scalar>(rows_of(y), output_.bias.value, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    output_backward(dy);
    query_sums_.add(queries_gradient_, query_.bias.gradient);
    query_.add_weight_gradient(rows_of(x), queries_gradient_);
    if (dx.data() != nullptr) query_.input_gradient(queries_gradient_, rows_of(dx));
    maps_backward();
    key_.backward(x, dx);
    value_.backward(x, dx);
  }

  Operations operations(const Shape& shape) const override {
    const int head_width = width_ / heads_;
    const double rows = shape.rows(), d = head_width;
    const double tokens = rows * width_ * (3.0 * width_ + d + output_.outputs());
    const double synthesis = d * width_ * shape.batch * output_.outputs();
    return {2 * (tokens + synthesis), 4 * (tokens + synthesis)};
  }

 private:
  static int read_heads(const Setup<Scalar>& setup) {
    const auto heads = setup.options.integer("heads");
    if (setup.inputs % heads != 0)
      throw setup.options.mistake("heads", "does not divide the width of " + std::to_string(setup.inputs) +
                                               ", which the heads share; it takes a divisor of it.");
    return static_cast<int>(heads);
  }

  Scalar token_weight() const { return Scalar(1) / Scalar(shape_.tokens); }

  /// A head's channels of tokens [B·N, D], a matrix [N, d] for each sample.
  Factor<Scalar> of_tokens(const Matrix<Scalar>& tokens, int head, Op op = Op::none) const {
    return {tokens.data() + head * (width_ / heads_), width_, op, std::int64_t{shape_.tokens} * width_};
  }

  // dF = qᵀ dy;  dWo += dFᵀ M, dM = dF Wo by head;  dq = dy Fᵀ.
  void output_backward(Tensor<const Scalar> dy) {
    const int o = output_.outputs(), n = shape_.tokens, batch = shape_.batch, d = width_ / heads_, rows = d * batch;
    const std::int64_t sample = std::int64_t{n} * width_, head = std::int64_t{rows} * d;
    output_sums_.add(rows_of(dy), output_.bias.gradient);
    gemm<Scalar>({width_, o, n, batch}, {queries_.data(), width_, Op::transpose, sample},
                 {dy.data(), o, Op::none, std::int64_t{n} * o}, {synthesis_gradient_.data(), batch * o, o});
    gemm<Scalar>({o, d, rows, heads_}, {synthesis_gradient_.data(), o, Op::transpose, std::int64_t{rows} * o},
                 {maps_.data(), d, Op::none, head}, {output_.weight.gradient.data(), width_, d}, {1, 1});
    gemm<Scalar>({rows, d, o, heads_}, {synthesis_gradient_.data(), o, Op::none, std::int64_t{rows} * o},
                 {output_.weight.value.data(), width_, Op::none, d}, {maps_gradient_.data(), d, head});
    gemm<Scalar>({n, width_, o, batch}, {dy.data(), o, Op::none, std::int64_t{n} * o},
                 {synthesis_.data(), batch * o, Op::transpose, o}, {queries_gradient_.data(), width_, sample});
  }

  // dk̃ = ṽ dMᵀ / N, dṽ = k̃ dM / N.
  void maps_backward() {
    const int n = shape_.tokens, batch = shape_.batch, d = width_ / heads_;
    const std::int64_t sample = std::int64_t{n} * width_;
    key_.make_scaled();
    value_.make_scaled();
    for (int head = 0; head < heads_; ++head) {
      const Scalar* gradient = row_pointer(maps_gradient_, head * d);
      gemm<Scalar>({n, d, d, batch}, of_tokens(value_.scaled(), head), {gradient, batch * d, Op::transpose, d},
                   {key_.gradient().data() + head * d, width_, sample}, {token_weight(), 0});
      gemm<Scalar>({n, d, d, batch}, of_tokens(key_.scaled(), head), {gradient, batch * d, Op::none, d},
                   {value_.gradient().data() + head * d, width_, sample}, {token_weight(), 0});
    }
  }

  int heads_, width_;  // the width is that of all heads together, D
  Linear<Scalar> query_;
  NormedProjection<Scalar> key_, value_;
  Linear<Scalar> output_;
  Shape shape_;
  Matrix<Scalar> queries_, queries_gradient_;      // [B·N, D]
  Tensor<Scalar> maps_, maps_gradient_;            // [D, B, d]: M
  Tensor<Scalar> synthesis_, synthesis_gradient_;  // [D, B, outputs]: F
  ColumnSums<Scalar> query_sums_, output_sums_;
};

RIDGELINE_REGISTER_LAYER("attention", "galerkin", GalerkinAttention,
                         "attention without softmax, of normalised keys and values (Cao 2021)");

}  // namespace

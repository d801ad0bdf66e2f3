// attention/physics: attention among a few slices that tokens are shared out to, the Transolver's (Wu and others 2024,
// arXiv 2402.02366). Linear in the number of tokens.
//
//   a, c = x Waᵀ+ba, x Wcᵀ+bc, in heads of d = D / H channels
//   per head: P = softmax((a Wsᵀ+bs) / τ), a row of S weights a token;  T = Pᵀ c / Pᵀ 1, a row a slice
//             E = softmax((T Wqᵀ)(T Wkᵀ)ᵀ / √d), R = E (T Wvᵀ);  out = P R;  heads side by side, then `output`
//
// Ws, Wq, Wk, Wv are the same for all heads. Shapes: a, c [B·N, H·d]; P [B·N, H·S]; T, R [B·H·S, d]; E [B·H·S, S].
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "layer/registry.hpp"
#include "math/elementary.hpp"
#include "math/linear.hpp"

namespace {

using namespace ridgeline;

/// Added to a slice's sum of weights: nothing beside any sum that counts, and where all weights are 0, no division by it.
/// (The authors add 1e-5, and with it the result depends on how finely a function is sampled.)
constexpr double least_sum = 1e-18;

/// How a sample's tokens are cut into chunks, by the shape alone: sums are the same bits on any number of threads.
struct TokenChunks {
  int tokens, size, count;  // of a sample

  explicit TokenChunks(const Shape& shape)
      : tokens(shape.tokens), size(std::min(shape.tokens, std::max(16, (shape.rows() + 255) / 256))) {
    count = (tokens + size - 1) / size;
  }
};

/// A matrix for each sample, as a factor or a target of a batch of products.
template <class Scalar>
struct Blocks {
  Scalar* data;
  int leading;
  std::int64_t stride;

  Factor<Scalar> factor(Op op = Op::none) const { return {data, leading, op, stride}; }
  Target<Scalar> target() const { return {data, leading, stride}; }
};

template <class Scalar>
KOKKOS_INLINE_FUNCTION void softmax(const Team& team, Scalar* z, int n) {
  const Scalar largest = max_lanes(team, n, [=](int j) { return z[j]; });
  for_lanes(team, n, [=](int j) { z[j] = exponential(z[j] - largest); });
  const Scalar scale = Scalar(1) / sum_lanes(team, n, [=](int j) { return z[j]; });
  for_lanes(team, n, [=](int j) { z[j] *= scale; });
}

/// Logits [B·N, H·S] become the weights softmax((logits + bias) / exp(log_temperature)); `inverse` [B·H·S] becomes
/// 1 / the slices' sums of weights. `partial` [B·chunks, H·S].
template <class Scalar>
void slice_weights(const Shape& shape, Matrix<Scalar> weights, Vector<const Scalar> bias,
                   Vector<const Scalar> log_temperature, Matrix<Scalar> partial, Vector<Scalar> inverse) {
  const TokenChunks chunks(shape);
  const int columns = extent(weights, 1), heads = extent(log_temperature, 0), slices = columns / heads;
  Kokkos::parallel_for(
      "physics::slice_weights", one_team_each(shape.batch * chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const int sample = team.league_rank() / chunks.count;
        const int begin = team.league_rank() % chunks.count * chunks.size;
        const int end = begin + chunks.size < chunks.tokens ? begin + chunks.size : chunks.tokens;
        Scalar* sums = &partial(team.league_rank(), 0);
        for_lanes(team, columns, [=](int j) { sums[j] = 0; });
        team.team_barrier();
        for (int token = begin; token < end; ++token) {
          for (int head = 0; head < heads; ++head) {
            Scalar* z = &weights(sample * chunks.tokens + token, head * slices);
            const Scalar* b = bias.data();
            Scalar* sum = sums + head * slices;
            const Scalar scale = exponential(-log_temperature(head));
            for_lanes(team, slices, [=](int j) { z[j] = (z[j] + b[j]) * scale; });
            softmax(team, z, slices);
            for_lanes(team, slices, [=](int j) { sum[j] += z[j]; });
          }
        }
      });
  Kokkos::parallel_for(
      "physics::slice_sums", RangePolicy(0, shape.batch * columns), KOKKOS_LAMBDA(int entry) {
        const int sample = entry / columns;
        Scalar sum = 0;
        for (int chunk = 0; chunk < chunks.count; ++chunk)
          sum += partial(sample * chunks.count + chunk, entry % columns);
        inverse(entry) = Scalar(1) / (sum + Scalar(least_sum));
      });
}

/// The weights' gradient, plus `shift` [B·H·S] for every token, becomes that of logits + bias, in place. `partial`
/// [chunks, H·S] becomes each chunk's sums of it.
template <class Scalar>
void slice_weights_backward(const Shape& shape, Matrix<const Scalar> weights, Vector<const Scalar> shift,
                            Vector<const Scalar> log_temperature, Matrix<Scalar> gradient, Matrix<Scalar> partial) {
  const int columns = extent(weights, 1), heads = extent(log_temperature, 0), slices = columns / heads;
  const int tokens = shape.tokens;
  const Chunks chunks(shape.rows());
  Kokkos::parallel_for(
      "physics::slice_weights_backward", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        Scalar* sums = &partial(team.league_rank(), 0);
        for_lanes(team, columns, [=](int j) { sums[j] = 0; });
        team.team_barrier();
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          for (int head = 0; head < heads; ++head) {
            const Scalar* p = &weights(row, head * slices);
            const Scalar* s = shift.data() + row / tokens * columns + head * slices;
            Scalar* d = &gradient(row, head * slices);
            Scalar* sum = sums + head * slices;
            const Scalar scale = exponential(-log_temperature(head));
            const Scalar mean = sum_lanes(team, slices, [=](int j) { return p[j] * (d[j] + s[j]); });
            for_lanes(team, slices, [=](int j) {
              const Scalar dz = p[j] * (d[j] + s[j] - mean) * scale;
              d[j] = dz;
              sum[j] += dz;
            });
          }
        }
      });
}

/// Sums over tokens [B·H·S, d] become means: slice tokens.
template <class Scalar>
void divide_by_sums(Matrix<Scalar> slices, Vector<const Scalar> inverse) {
  const int columns = extent(slices, 1);
  const Chunks chunks(extent(slices, 0));
  Kokkos::parallel_for(
      "physics::divide_by_sums", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          const Scalar scale = inverse(row);
          Scalar* t = &slices(row, 0);
          for_lanes(team, columns, [=](int j) { t[j] *= scale; });
        }
      });
}

/// The slice tokens' gradient becomes that of the sums over tokens, in place, and `shift` that of the sums of weights.
template <class Scalar>
void divide_by_sums_backward(Matrix<const Scalar> slices, Vector<const Scalar> inverse, Matrix<Scalar> gradient,
                             Vector<Scalar> shift) {
  const int columns = extent(slices, 1);
  const Chunks chunks(extent(slices, 0));
  Kokkos::parallel_for(
      "physics::divide_by_sums_backward", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          const Scalar scale = inverse(row);
          const Scalar* t = &slices(row, 0);
          Scalar* d = &gradient(row, 0);
          const Scalar product = sum_lanes(team, columns, [=](int j) { return d[j] * t[j]; });
          for_lanes(team, columns, [=](int j) { d[j] *= scale; });
          Kokkos::single(Kokkos::PerTeam(team), [=]() { shift(row) = -scale * product; });
        }
      });
}

/// Softmax of every row, in place.
template <class Scalar>
void affinities(Matrix<Scalar> scores) {
  const int columns = extent(scores, 1);
  const Chunks chunks(extent(scores, 0));
  Kokkos::parallel_for(
      "physics::affinities", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row)
          softmax(team, &scores(row, 0), columns);
      });
}

/// The affinities' gradient becomes the scores', in place.
template <class Scalar>
void affinities_backward(Matrix<const Scalar> affinity, Matrix<Scalar> gradient) {
  const int columns = extent(affinity, 1);
  const Chunks chunks(extent(affinity, 0));
  Kokkos::parallel_for(
      "physics::affinities_backward", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          const Scalar* p = &affinity(row, 0);
          Scalar* d = &gradient(row, 0);
          const Scalar mean = sum_lanes(team, columns, [=](int j) { return p[j] * d[j]; });
          for_lanes(team, columns, [=](int j) { d[j] = p[j] * (d[j] - mean); });
        }
      });
}

/// Adds to the gradients of the slice map's bias b [S] and of the log-temperatures t [H], from the logits' gradient summed
/// over tokens, `logits` [H·S], and a ∘ da summed over tokens, `products` [H·d]. As a change of t scales all logits of a
/// head down, dt = -Σ dlogits ∘ logits = -Σ da ∘ a - Σ dlogits b.
template <class Scalar>
void add_shared_gradients(Vector<const Scalar> logits, Vector<const Scalar> products, const Parameter<Scalar>& bias,
                          const Parameter<Scalar>& log_temperature) {
  const Vector<const Scalar> b = bias.value;
  const Vector<Scalar> db = bias.gradient, dt = log_temperature.gradient;
  const int heads = extent(dt, 0), slices = extent(db, 0), width = extent(products, 0) / heads;
  Kokkos::parallel_for(
      "physics::slice_bias_gradient", RangePolicy(0, slices), KOKKOS_LAMBDA(int slice) {
        Scalar sum = 0;
        for (int head = 0; head < heads; ++head) sum += logits(head * slices + slice);
        db(slice) += sum;
      });
  Kokkos::parallel_for(
      "physics::temperature_gradient", RangePolicy(0, heads), KOKKOS_LAMBDA(int head) {
        Scalar sum = 0;
        for (int j = 0; j < width; ++j) sum += products(head * width + j);
        for (int slice = 0; slice < slices; ++slice) sum += logits(head * slices + slice) * b(slice);
        dt(head) -= sum;
      });
}

/// Attention among the slice tokens of each sample and head.
template <class Scalar>
class SliceAttention {
 public:
  SliceAttention(const ParameterScope<Scalar>& parameters, int heads, int slices, int width)
      : heads_(heads), slices_(slices), width_(width) {
    const double bound = 1 / std::sqrt(static_cast<double>(width));
    const char* const names[] = {"query.weight", "key.weight", "value.weight"};
    for (int i = 0; i < 3; ++i)
      parameters.declare(weights_[i], names[i], {width, width}, Initial::uniform(-bound, bound));
  }

  void reserve(const Shape& shape, Arena& arena) {
    matrices_ = shape.batch * heads_;
    const std::size_t rows = static_cast<std::size_t>(matrices_) * slices_;
    for (Matrix<Scalar>& projected : projected_) projected = arena.kept<Scalar>(rows, width_);
    affinity_ = arena.kept<Scalar>(rows, slices_);
    for (Matrix<Scalar>& gradient : projected_gradient_) gradient = arena.passing<Scalar>(rows, width_);
    affinity_gradient_ = arena.passing<Scalar>(rows, slices_);
  }

  /// tokens and result [B·H·S, d]
  void forward(Matrix<const Scalar> tokens, Matrix<Scalar> result) const {
    for (int i = 0; i < 3; ++i)
      gemm<Scalar>({rows(), width_, width_}, {tokens.data(), width_}, {weights_[i].value.data(), width_, Op::transpose},
                   {projected_[i].data(), width_});
    gemm<Scalar>({slices_, slices_, width_, matrices_}, wide(projected_[0]), wide(projected_[1], Op::transpose),
                 {affinity_.data(), slices_, square()}, {score_scale(), 0});
    affinities<Scalar>(affinity_);
    gemm<Scalar>({slices_, width_, slices_, matrices_}, square_of(affinity_), wide(projected_[2]),
                 {result.data(), width_, block()});
  }

  /// Writes the tokens' gradient from the result's.
  void backward(Matrix<const Scalar> tokens, Matrix<const Scalar> dresult, Matrix<Scalar> dtokens) const {
    const auto& [dq, dk, dv] = projected_gradient_;
    gemm<Scalar>({slices_, width_, slices_, matrices_}, square_of(affinity_, Op::transpose), wide(dresult),
                 {dv.data(), width_, block()});
    gemm<Scalar>({slices_, slices_, width_, matrices_}, wide(dresult), wide(projected_[2], Op::transpose),
                 {affinity_gradient_.data(), slices_, square()});
    affinities_backward<Scalar>(affinity_, affinity_gradient_);
    gemm<Scalar>({slices_, width_, slices_, matrices_}, square_of(affinity_gradient_), wide(projected_[1]),
                 {dq.data(), width_, block()}, {score_scale(), 0});
    gemm<Scalar>({slices_, width_, slices_, matrices_}, square_of(affinity_gradient_, Op::transpose),
                 wide(projected_[0]), {dk.data(), width_, block()}, {score_scale(), 0});
    for (int i = 0; i < 3; ++i) {
      const Scalar* gradient = projected_gradient_[i].data();
      gemm<Scalar>({width_, width_, rows()}, {gradient, width_, Op::transpose}, {tokens.data(), width_},
                   {weights_[i].gradient.data(), width_}, {1, 1});
      gemm<Scalar>({rows(), width_, width_}, {gradient, width_}, {weights_[i].value.data(), width_},
                   {dtokens.data(), width_}, {1, i > 0 ? Scalar(1) : Scalar(0)});
    }
  }

  double operations(int batch) const {
    const double all = static_cast<double>(batch) * heads_ * slices_;
    return 2 * all * width_ * (3.0 * width_ + 2.0 * slices_);
  }

 private:
  int rows() const { return matrices_ * slices_; }
  std::int64_t block() const { return std::int64_t{slices_} * width_; }
  std::int64_t square() const { return std::int64_t{slices_} * slices_; }
  Scalar score_scale() const { return static_cast<Scalar>(1 / std::sqrt(static_cast<double>(width_))); }
  Factor<Scalar> wide(const Matrix<const Scalar>& rows, Op op = Op::none) const {
    return {rows.data(), width_, op, block()};
  }
  Factor<Scalar> square_of(const Matrix<Scalar>& rows, Op op = Op::none) const {
    return {rows.data(), slices_, op, square()};
  }

  int heads_, slices_, width_;
  int matrices_ = 0;                                              // B·H
  std::array<Parameter<Scalar>, 3> weights_;                      // [d, d]: Wq, Wk, Wv
  std::array<Matrix<Scalar>, 3> projected_, projected_gradient_;  // [B·H·S, d]: T Wqᵀ, T Wkᵀ, T Wvᵀ
  Matrix<Scalar> affinity_, affinity_gradient_;                   // [B·H·S, S]
};

template <class Scalar>
class PhysicsAttention final : public Layer<Scalar> {
 public:
  static void declare(OptionSet& options) {
    options.integer("heads", 8, "heads, which share the width").at_least(1).at_most(65536).trials({"1", "3"});
    options.integer("slices", 32, "slices of a head, which its tokens are shared out to")
        .at_least(1)
        .at_most(65536)
        .trials({"1", "5"});
  }

  /// Tokens meet in means over all of them.
  static Properties properties(const OptionValues&) { return {false, true, true}; }

  explicit PhysicsAttention(Setup<Scalar>& setup)
      : heads_(read_heads(setup)),
        slices_(read_slices(setup)),
        width_(setup.inputs),
        assign_(setup.parameters, "assign", width_, width_),
        content_(setup.parameters, "content", width_, width_),
        slice_(setup.parameters, "slice", width_ / heads_, slices_),
        attention_(setup.parameters, heads_, slices_, width_ / heads_),
        output_(setup.parameters, "output", width_, setup.outputs) {
    // Its logarithm is what is trained, so that no step makes the temperature 0 or negative.
    setup.parameters.declare(log_temperature_, "log_temperature", {heads_}, Initial::constant(std::log(0.5)));
  }

  void reserve(const Shape& shape, Arena& arena) override {
    shape_ = shape;
    const int rows = shape.rows(), columns = heads_ * slices_;
    const std::size_t slice_rows = static_cast<std::size_t>(shape.batch) * columns;
    for (Matrix<Scalar>* kept : {&assigned_, &contents_, &joined_}) *kept = arena.kept<Scalar>(rows, width_);
    weights_ = arena.kept<Scalar>(rows, columns);
    inverse_sums_ = arena.kept<Scalar>(slice_rows);
    for (Matrix<Scalar>* kept : {&tokens_, &results_}) *kept = arena.kept<Scalar>(slice_rows, width_ / heads_);
    attention_.reserve(shape, arena);
    for (Matrix<Scalar>* gradient : {&gradient_, &contents_gradient_}) *gradient = arena.passing<Scalar>(rows, width_);
    weights_gradient_ = arena.passing<Scalar>(rows, columns);
    for (Matrix<Scalar>* gradient : {&tokens_gradient_, &results_gradient_})
      *gradient = arena.passing<Scalar>(slice_rows, width_ / heads_);
    shift_ = arena.passing<Scalar>(slice_rows);
    logit_sums_ = arena.passing<Scalar>(columns);
    products_ = arena.passing<Scalar>(width_);
    partial_ = arena.passing<Scalar>(shape.batch * TokenChunks(shape).count, columns);
    weight_sums_.reserve(rows, columns, arena);
    channel_sums_.reserve(rows, width_, arena);
    output_sums_.reserve(rows, output_.outputs(), arena);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    const int d = width_ / heads_;
    assign_.product(rows_of(x), assigned_);
    add_bias<Scalar>(assigned_, assign_.bias.value, {});
    content_.product(rows_of(x), contents_);
    add_bias<Scalar>(contents_, content_.bias.value, {});
    slice_.product(of_heads(assigned_, d), of_heads(weights_, slices_));
    slice_weights<Scalar>(shape_, weights_, slice_.bias.value, log_temperature_.value, partial_, inverse_sums_);
    contract(contents_, tokens_);
    divide_by_sums<Scalar>(tokens_, inverse_sums_);
    attention_.forward(tokens_, results_);
    spread(results_, joined_);
    output_.product(joined_, rows_of(y));
    add_bias<Scalar>(rows_of(y), output_.bias.value, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    output_sums_.add(rows_of(dy), output_.bias.gradient);
    output_.add_weight_gradient(joined_, rows_of(dy));
    output_.input_gradient(rows_of(dy), gradient_);
    contract(gradient_, results_gradient_);
    multiply_slices(gradient_, results_, false);
    attention_.backward(tokens_, results_gradient_, tokens_gradient_);
    divide_by_sums_backward<Scalar>(tokens_, inverse_sums_, tokens_gradient_, shift_);
    multiply_slices(contents_, tokens_gradient_, true);
    spread(tokens_gradient_, contents_gradient_);
    slice_weights_backward<Scalar>(shape_, weights_, shift_, log_temperature_.value, weights_gradient_,
                                   weight_sums_.partial());
    assigned_backward();
    through(assign_, gradient_, x, dx, false);
    through(content_, contents_gradient_, x, dx, true);
  }

  Operations operations(const Shape& shape) const override {
    const int head_width = width_ / heads_;
    const double rows = shape.rows(), d = head_width;
    const double maps =
        assign_.operations(shape.rows()) + content_.operations(shape.rows()) + output_.operations(shape.rows());
    const double weights = 3 * 2.0 * rows * heads_ * slices_ * d;  // logits, contraction, spreading
    const double all = maps + weights + attention_.operations(shape.batch);
    return {all, 2 * all};
  }

 private:
  static int read_heads(const Setup<Scalar>& setup) {
    const auto heads = setup.options.integer("heads");
    if (setup.inputs % heads != 0)
      throw setup.options.mistake("heads", "does not divide the width of " + std::to_string(setup.inputs) +
                                               ", which the heads share; it takes a divisor of it.");
    return static_cast<int>(heads);
  }

  static int read_slices(const Setup<Scalar>& setup) {
    const auto heads = setup.options.integer("heads"), slices = setup.options.integer("slices");
    const auto most = std::numeric_limits<int>::max() / heads;
    if (slices > most)
      throw setup.options.mistake("slices",
                                  "makes, with " + std::to_string(heads) +
                                      " heads, more weights of a token than can be indexed; it takes at most " +
                                      std::to_string(most) + ".");
    return static_cast<int>(slices);
  }

  /// The same memory with a row for every head of a token.
  Matrix<Scalar> of_heads(const Matrix<Scalar>& rows, int columns) const {
    return Matrix<Scalar>(rows.data(), rows.extent(0) * heads_, columns);
  }
  // A head's columns of an array with a row a token, and its rows of one with a row a slice.
  Blocks<Scalar> of_tokens(const Matrix<Scalar>& array, int head) const {
    const int columns = extent(array, 1);
    return {array.data() + head * (columns / heads_), columns, std::int64_t{shape_.tokens} * columns};
  }
  Blocks<Scalar> of_slices(const Matrix<Scalar>& array, int head) const {
    return {row_pointer(array, static_cast<std::size_t>(head) * slices_), width_ / heads_,
            std::int64_t{slices_} * width_};
  }

  /// slices = Pᵀ tokens
  void contract(const Matrix<Scalar>& tokens, const Matrix<Scalar>& slices) const {
    for (int head = 0; head < heads_; ++head)
      gemm<Scalar>({slices_, width_ / heads_, shape_.tokens, shape_.batch},
                   of_tokens(weights_, head).factor(Op::transpose), of_tokens(tokens, head).factor(),
                   of_slices(slices, head).target());
  }

  /// tokens = P slices
  void spread(const Matrix<Scalar>& slices, const Matrix<Scalar>& tokens) const {
    for (int head = 0; head < heads_; ++head)
      gemm<Scalar>({shape_.tokens, width_ / heads_, slices_, shape_.batch}, of_tokens(weights_, head).factor(),
                   of_slices(slices, head).factor(), of_tokens(tokens, head).target());
  }

  /// dP = tokens slicesᵀ, or dP + that where `add`.
  void multiply_slices(const Matrix<Scalar>& tokens, const Matrix<Scalar>& slices, bool add) const {
    for (int head = 0; head < heads_; ++head)
      gemm<Scalar>({shape_.tokens, slices_, width_ / heads_, shape_.batch}, of_tokens(tokens, head).factor(),
                   of_slices(slices, head).factor(Op::transpose), of_tokens(weights_gradient_, head).target(),
                   {1, add ? Scalar(1) : Scalar(0)});
  }

  /// From the logits' gradient to that of a, and to those of the slice map and the temperatures.
  void assigned_backward() {
    const int d = width_ / heads_;
    weight_sums_.write_to(logit_sums_);
    slice_.add_weight_gradient(of_heads(assigned_, d), of_heads(weights_gradient_, slices_));
    slice_.input_gradient(of_heads(weights_gradient_, slices_), of_heads(gradient_, d));
    multiply_entries<Scalar>(gradient_, assigned_, assigned_, channel_sums_.partial());
    channel_sums_.write_to(products_);
    add_shared_gradients<Scalar>(logit_sums_, products_, slice_.bias, log_temperature_);
  }

  void through(Linear<Scalar>& map, const Matrix<Scalar>& gradient, Tensor<const Scalar> x, Tensor<Scalar> dx,
               bool add) {
    channel_sums_.add(gradient, map.bias.gradient);
    map.add_weight_gradient(rows_of(x), gradient);
    if (dx.data() != nullptr) map.input_gradient(gradient, rows_of(dx), add);
  }

  int heads_, slices_, width_;  // the width is that of all heads together, D
  Linear<Scalar> assign_, content_, slice_;
  SliceAttention<Scalar> attention_;
  Linear<Scalar> output_;
  Parameter<Scalar> log_temperature_;  // [H]
  Shape shape_;
  Matrix<Scalar> assigned_, contents_, joined_;  // [B·N, D]: a, which becomes a ∘ da; c; heads side by side
  Matrix<Scalar> weights_, weights_gradient_;    // [B·N, H·S]: P
  Vector<Scalar> inverse_sums_, shift_;          // [B·H·S]
  Matrix<Scalar> tokens_, tokens_gradient_;      // [B·H·S, d]: T
  Matrix<Scalar> results_, results_gradient_;    // [B·H·S, d]: R
  Matrix<Scalar> gradient_, contents_gradient_;  // [B·N, D]: of the heads side by side, then of a; of c
  Matrix<Scalar> partial_;                       // [B·chunks, H·S]
  Vector<Scalar> logit_sums_, products_;         // [H·S], [D]
  ColumnSums<Scalar> weight_sums_, channel_sums_, output_sums_;
};

RIDGELINE_REGISTER_LAYER("attention", "physics", PhysicsAttention,
                         "attention among slices of the tokens, Transolver (Wu et al. 2024)");

}  // namespace

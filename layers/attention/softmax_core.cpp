#include "softmax_core.hpp"

#include <cmath>
#include <stdexcept>

#include "math/elementary.hpp"
#include "softmax_kernels.hpp"

namespace ridgeline::softmax {
namespace {

/// Tiles are not alike in work: who is done takes the next.
using Policy = Kokkos::TeamPolicy<Execution, Kokkos::Schedule<Kokkos::Dynamic>>;

/// One team for each piece of work; with packs a thread each.
template <class Steps, class Scalar>
Policy policy_of(int teams) {
#ifdef RIDGELINE_HAS_PACKS
  if constexpr (!std::is_same_v<Steps, PortableTiles<Scalar>>) return Policy(teams, 1);
#endif
  return Policy(teams, Kokkos::AUTO);
}

/// Runs a kernel with its scratch in the fast level where it fits.
template <class Steps, class Scalar, class Kernel>
void run(const char* name, int teams, Kernel kernel) {
  const std::size_t bytes = Kernel::scratch_bytes(kernel.heads);
  kernel.level = bytes <= static_cast<std::size_t>(Policy::scratch_size_max(0)) ? 0 : 1;
  Kokkos::parallel_for(
      name, policy_of<Steps, Scalar>(teams).set_scratch_size(kernel.level, Kokkos::PerTeam(static_cast<int>(bytes))),
      kernel);
}

/// Of the next token of every sample and head: its key and value to the cache, and what it attends to.
template <class Scalar>
struct NextToken {
  Heads heads;  ///< tokens: 1
  const Scalar *queries, *keys_values;
  Scalar *keys, *values;  ///< [groups, embed or out, longest]
  Scalar* weights;        ///< [groups, longest]
  const Scalar* bias;     ///< [heads, 2 longest - 1], or null
  Scalar* attended;
  int token, seen, longest;
  Scalar scale;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int group = team.league_rank(), length = longest, last = token;
    const Scalar *query = queries + heads.first_query(group), *key = keys_values + heads.first_key(group),
                 *value = keys_values + heads.first_value(group);
    Scalar* own_keys = keys + std::int64_t{group} * heads.embed * longest;
    Scalar* own_values = values + std::int64_t{group} * heads.out * longest;
    for_lanes(team, heads.embed, [=](int d) { own_keys[std::int64_t{d} * length + last] = key[d]; });
    for_lanes(team, heads.out, [=](int c) { own_values[std::int64_t{c} * length + last] = value[c]; });
    team.team_barrier();

    Scalar* weight = weights + std::int64_t{group} * longest;
    const Scalar* ahead =
        bias == nullptr ? nullptr : bias + std::int64_t{group % heads.heads} * (2 * longest - 1) + longest - 1 - token;
    for_lanes(team, seen, [=](int j) { weight[j] = 0; });
    for (int d = 0; d < heads.embed; ++d) {
      const Scalar factor = query[d] * scale;
      const Scalar* row = own_keys + std::int64_t{d} * longest;
      for_lanes(team, seen, [=](int j) { weight[j] += factor * row[j]; });
    }
    if (ahead != nullptr) for_lanes(team, seen, [=](int j) { weight[j] += ahead[j]; });
    team.team_barrier();
    const Scalar largest = max_lanes(team, seen, [=](int j) { return weight[j]; });
    for_lanes(team, seen, [=](int j) { weight[j] = exponential(weight[j] - largest); });
    team.team_barrier();
    const Scalar total = sum_lanes(team, seen, [=](int j) { return weight[j]; });
    Scalar* to = attended + heads.first_attended(group);
    for (int c = 0; c < heads.out; ++c) {
      const Scalar* row = own_values + std::int64_t{c} * longest;
      const Scalar sum = sum_lanes(team, seen, [=](int j) { return weight[j] * row[j]; });
      Kokkos::single(Kokkos::PerTeam(team), [=]() { to[c] = seen_any(total) ? sum / total : Scalar(0); });
    }
  }

 private:
  KOKKOS_INLINE_FUNCTION static bool seen_any(Scalar total) { return total != 0; }
};

constexpr double log2_e = 1.44269504088896340736;

/// What a bias's distances [heads, 2 N - 1] are as the kernels read them, with zeros around.
template <class Scalar>
void lay_out(Matrix<const Scalar> distances, const Heads& heads, Matrix<Scalar> biases) {
  const int count = 2 * heads.tokens - 1, length = heads.bias_length();
  Kokkos::parallel_for(
      "ridgeline::softmax/lay_out_bias", one_team_each(heads.heads), KOKKOS_LAMBDA(const Team& team) {
        const Scalar* from = &distances(team.league_rank(), 0);
        Scalar* to = &biases(team.league_rank(), 0);
        for_lanes(team, query_tile, [=](int i) { to[i] = 0; });
        for_lanes(team, count, [=](int i) { to[query_tile + i] = from[i] * static_cast<Scalar>(log2_e); });
        for_lanes(team, length - query_tile - count, [=](int i) { to[query_tile + count + i] = 0; });
      });
}

/// The gradients of a head's distances, over slices and samples in their order.
template <class Scalar>
void sum_bias_gradients(Matrix<const Scalar> parts, const Heads& heads, Matrix<Scalar> gradients) {
  const int count = 2 * heads.tokens - 1, all = heads.heads, terms = heads.slices() * heads.batch;
  Kokkos::parallel_for(
      "ridgeline::softmax/sum_bias_gradients", one_team_each(heads.heads), KOKKOS_LAMBDA(const Team& team) {
        const int head = team.league_rank();
        Scalar* to = &gradients(head, 0);
        for_lanes(team, count, [=](int i) { to[i] = 0; });
        for (int term = 0; term < terms; ++term) {
          const Scalar* part = &parts(term * all + head, query_tile);
          for_lanes(team, count, [=](int i) { to[i] += part[i]; });
        }
      });
}

template <class Scalar>
class SoftmaxCore final : public AttentionCore<Scalar> {
 public:
  SoftmaxCore(const AttentionSizes& sizes, bool causal, std::unique_ptr<Position<Scalar>> bias, Tiles tiles)
      : sizes_(sizes), causal_(causal), bias_(std::move(bias)), tiles_(tiles) {}

  void reserve(const Shape& shape, Arena& arena) override {
    const Heads heads = heads_of(shape);
    const std::size_t groups = heads.groups(), keys = groups * heads.key_tiles() * key_tile,
                      own_queries = std::size_t(heads.query_tiles()) * query_tile, queries = groups * own_queries,
                      parts = heads.parts();
    log_sums_ = arena.kept<Scalar>(groups * heads.tokens);
    keys_ = arena.passing<Scalar>(keys * heads.padded_embed);
    values_ = arena.passing<Scalar>(keys * heads.padded_out);
    query_rows_ = arena.passing<Scalar>(queries * heads.padded_embed);
    gradient_rows_ = arena.passing<Scalar>(queries * heads.padded_out);
    row_log_sums_ = arena.passing<Scalar>(queries);
    row_products_ = arena.passing<Scalar>(queries);
    query_gradients_ = arena.passing<Scalar>(parts * own_queries * heads.padded_embed);
    if (!bias_) return;
    biases_ = arena.kept<Scalar>(heads.heads, heads.bias_length());
    distances_ = arena.passing<Scalar>(heads.heads, 2 * heads.tokens - 1);
    bias_gradients_ = arena.passing<Scalar>(parts, heads.bias_length());
    bias_->reserve(heads.tokens, arena);
  }

  void forward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<Scalar> attended) override {
    const Heads heads = heads_of(shape_of(queries));
    if (bias_) lay_out_bias(heads);
    with_tiles([&](auto steps) { forward<decltype(steps)>(heads, queries, keys_values, attended); });
  }

  void begin_backward(Tensor<const Scalar> queries, Tensor<const Scalar>, Tensor<const Scalar> attended,
                      Tensor<const Scalar> dattended) override {
    const Heads heads = heads_of(shape_of(queries));
    const int query_tiles = heads.query_tiles();
    Kokkos::parallel_for("ridgeline::softmax/lay_out_gradients", one_team_each(heads.groups() * query_tiles),
                         LayOutGradients<Scalar>{heads, queries.data(), attended.data(), dattended.data(),
                                                 log_sums_.data(), query_rows_.data(), gradient_rows_.data(),
                                                 row_log_sums_.data(), row_products_.data(), query_tiles, scale()});
  }

  void backward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<const Scalar>,
                Tensor<const Scalar>, Rows, Matrix<Scalar> dqueries, Matrix<Scalar> dkeys_values) override {
    const Heads heads = heads_of(shape_of(queries));
    const int query_tiles = heads.query_tiles();
    with_tiles([&](auto steps) { backward<decltype(steps)>(heads, keys_values, dkeys_values); });
    Kokkos::parallel_for("ridgeline::softmax/sum_query_gradients", one_team_each(heads.groups() * query_tiles),
                         SumQueryGradients<Scalar>{heads, query_gradients_.data(), dqueries.data(), heads.slices(),
                                                   query_tiles, static_cast<Scalar>(root())});
    if (bias_) bias_backward(heads);
  }

  void reserve_sequence(const Shape& longest, Arena& arena) override {
    longest_ = longest;
    const std::size_t cached = std::size_t(longest.batch) * longest.tokens;
    keys_ = arena.kept<Scalar>(cached * sizes_.embed);
    values_ = arena.kept<Scalar>(cached * sizes_.out);
    weights_ = arena.kept<Scalar>(cached * sizes_.heads);
    if (!bias_) return;
    distances_ = arena.kept<Scalar>(sizes_.heads, 2 * longest.tokens - 1);
    bias_->reserve(longest.tokens, arena);
  }

  void begin_sequence() override {
    token_ = 0;
    if (bias_) bias_->forward(distances_);
  }

  void next_token(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<Scalar> attended) override {
    if (token_ == longest_.tokens) throw std::logic_error("a sequence is longer than what was reserved for it");
    const Heads heads = heads_of({longest_.batch, 1});
    Kokkos::parallel_for(
        "ridgeline::softmax/next_token", one_team_each(heads.groups()),
        NextToken<Scalar>{heads, queries.data(), keys_values.data(), keys_.data(), values_.data(), weights_.data(),
                          bias_ ? distances_.data() : nullptr, attended.data(), token_,
                          token_ + (sizes_.mask_center ? 0 : 1), longest_.tokens, static_cast<Scalar>(root())});
    ++token_;
  }

  Operations operations(const Shape& shape) const override {
    const double n = shape.tokens,
                 seen = !causal_             ? n * n
                        : sizes_.mask_center ? n * (n - 1) / 2
                                             : n * (n + 1) / 2,
                 pairs = 2 * seen * shape.batch, forward = pairs * (sizes_.embed + sizes_.out),
                 backward = pairs * (3.0 * sizes_.embed + 2.0 * sizes_.out);
    return {forward, backward, forward, backward};
  }

 private:
  /// Calls `call` with the steps that the tiles of these heads take.
  template <class Call>
  void with_tiles(const Call& call) const {
#ifdef RIDGELINE_HAS_PACKS
    if (tiles_ == Tiles::fastest) {
      // Scores in double are made for accuracy, and of one way.
      if constexpr (std::is_same_v<Scalar, float>) {
        switch (width()) {
          case 8:
            return call(PackTiles<Scalar, 8>{});
          case 16:
            return call(PackTiles<Scalar, 16>{});
          case 32:
            return call(PackTiles<Scalar, 32>{});
          case 64:
            return call(PackTiles<Scalar, 64>{});
          default:
            break;
        }
      }
      return call(PackTiles<Scalar, 0>{});
    }
#endif
    call(PortableTiles<Scalar>{});
  }

  /// Channels that the tiles of a head are made for, or 0: any number.
  int width() const {
    const int largest = std::max(sizes_.head_embed(), sizes_.head_out());
    for (const int width : {8, 16, 32, 64})
      if (largest <= width) return width;
    return 0;
  }

  Heads heads_of(const Shape& shape) const {
    Heads heads{shape.batch, shape.tokens, sizes_.heads,      sizes_.head_embed(), sizes_.head_out(), 0,
                0,           causal_,      sizes_.mask_center};
    with_tiles([&](auto steps) {
      heads.padded_embed = decltype(steps)::padded(heads.embed);
      heads.padded_out = decltype(steps)::padded(heads.out);
    });
    return heads;
  }

  double root() const { return 1 / std::sqrt(static_cast<double>(sizes_.head_embed())); }
  Scalar scale() const { return static_cast<Scalar>(root() * log2_e); }

  template <class Steps>
  void forward(const Heads& heads, Tensor<const Scalar> queries, Tensor<const Scalar> keys_values,
               Tensor<Scalar> attended) const {
    const int query_tiles = heads.query_tiles(), key_tiles = heads.key_tiles();
    Kokkos::parallel_for("ridgeline::softmax/lay_out_keys", one_team_each(heads.groups() * key_tiles),
                         LayOutKeys<Scalar>{heads, keys_values.data(), keys_.data(), values_.data(), key_tiles});
    run<Steps, Scalar>("ridgeline::softmax/forward", heads.groups() * query_tiles,
                       Forward<Scalar, Steps>{heads, queries.data(), keys_.data(), values_.data(),
                                              bias_ ? biases_.data() : nullptr, attended.data(), log_sums_.data(),
                                              query_tiles, key_tiles, heads.bias_length(), scale(), 0});
  }

  template <class Steps>
  void backward(const Heads& heads, Tensor<const Scalar> keys_values, Matrix<Scalar> dkeys_values) const {
    const int slices = heads.slices();
    // The rows hold queries times the scale: of a key's gradient, the root and log2(e) too much.
    run<Steps, Scalar>(
        "ridgeline::softmax/backward", heads.groups() * slices,
        Backward<Scalar, Steps>{heads, keys_values.data(), query_rows_.data(), gradient_rows_.data(),
                                row_log_sums_.data(), row_products_.data(), bias_ ? biases_.data() : nullptr,
                                dkeys_values.data(), query_gradients_.data(), bias_ ? bias_gradients_.data() : nullptr,
                                slices, heads.query_tiles(), heads.key_tiles(), heads.bias_length(),
                                static_cast<Scalar>(1 / log2_e), 0});
  }

  void lay_out_bias(const Heads& heads) {
    bias_->forward(distances_);
    lay_out<Scalar>(distances_, heads, biases_);
  }

  void bias_backward(const Heads& heads) {
    sum_bias_gradients<Scalar>(bias_gradients_, heads, distances_);
    bias_->backward(distances_);
  }

  AttentionSizes sizes_;
  bool causal_;
  std::unique_ptr<Position<Scalar>> bias_;
  Tiles tiles_;
  Vector<Scalar> log_sums_;                             // [groups, tokens]
  Vector<Scalar> keys_, values_;                        // as LayOutKeys; of a sequence, as NextToken
  Vector<Scalar> query_rows_, gradient_rows_;           // as LayOutGradients
  Vector<Scalar> row_log_sums_, row_products_;          //
  Vector<Scalar> query_gradients_;                      // as Backward
  Matrix<Scalar> biases_, bias_gradients_, distances_;  // as Forward and Backward; [heads, 2 N - 1]
  Shape longest_;
  Vector<Scalar> weights_;
  int token_ = 0;
};

}  // namespace

template <class Scalar>
std::unique_ptr<AttentionCore<Scalar>> make_core(const AttentionSizes& sizes, bool causal,
                                                 std::unique_ptr<Position<Scalar>> bias, Tiles tiles) {
  return std::make_unique<SoftmaxCore<Scalar>>(sizes, causal, std::move(bias), tiles);
}

template std::unique_ptr<AttentionCore<float>> make_core(const AttentionSizes&, bool, std::unique_ptr<Position<float>>,
                                                         Tiles);
template std::unique_ptr<AttentionCore<double>> make_core(const AttentionSizes&, bool,
                                                          std::unique_ptr<Position<double>>, Tiles);

}  // namespace ridgeline::softmax

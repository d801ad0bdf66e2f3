// The kernels of softmax attention over all heads: what is laid out in tiles, forward, backward, and the sums at the end.
#pragma once

#include <algorithm>

#include "score_tiles.hpp"

namespace ridgeline::softmax {

/// Sizes of a call, and what follows from them.
struct Heads {
  int batch, tokens, heads;
  int embed, out;                ///< channels of a head
  int padded_embed, padded_out;  ///< and as tiles hold them
  bool causal, mask_center;

  int query_tiles() const { return (tokens + query_tile - 1) / query_tile; }
  int key_tiles() const { return (tokens + key_tile - 1) / key_tile; }
  int groups() const { return batch * heads; }
  /// Teams that share a head's keys in the backward pass, each with gradients of all queries: enough to keep many
  /// threads busy where heads are few. Depends on sizes alone, and so do the sums.
  int slices() const { return std::max(1, std::min({8, key_tiles(), 16 / std::max(1, groups())})); }
  /// At least slices() * groups(), and not fewer for more samples.
  int parts() const { return std::max(groups(), std::min({8 * groups(), key_tiles() * groups(), 16})); }
  /// Entries of a head's biases, with room on both sides for what tiles hang over.
  int bias_length() const { return 2 * tokens - 1 + query_tile + key_tile; }

  // Where a head's tokens begin in queries, keys and values; the distance of two tokens there.
  KOKKOS_INLINE_FUNCTION std::int64_t first_query(int group) const {
    return std::int64_t{group / heads} * tokens * query_stride() + (group % heads) * embed;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t first_key(int group) const {
    return std::int64_t{group / heads} * tokens * key_stride() + (group % heads) * embed;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t first_value(int group) const {
    return std::int64_t{group / heads} * tokens * key_stride() + heads * embed + (group % heads) * out;
  }
  KOKKOS_INLINE_FUNCTION std::int64_t first_attended(int group) const {
    return std::int64_t{group / heads} * tokens * attended_stride() + (group % heads) * out;
  }
  KOKKOS_INLINE_FUNCTION int query_stride() const { return heads * embed; }
  KOKKOS_INLINE_FUNCTION int key_stride() const { return heads * (embed + out); }
  KOKKOS_INLINE_FUNCTION int attended_stride() const { return heads * out; }

  /// What the queries from `query` on see of the keys from `key` on.
  KOKKOS_INLINE_FUNCTION Sight sight(int query, int key) const {
    const int left = tokens - key, most = left < key_tile ? left : key_tile;
    if (!causal) return {most, 0, most};
    return {query + (mask_center ? 0 : 1) - key, 1, most};
  }
  /// Tiles of keys of which the tile of queries sees any.
  KOKKOS_INLINE_FUNCTION int seen_tiles(int query_tile_number) const {
    const int all = (tokens + key_tile - 1) / key_tile;
    if (!causal) return all;
    const int last = (query_tile_number + 1) * query_tile - 1 + (mask_center ? 0 : 1);  // keys that the last one sees
    const int tiles = (last + key_tile - 1) / key_tile;
    return tiles < all ? tiles : all;
  }
  /// The first tile of queries that sees any of the tile of keys.
  KOKKOS_INLINE_FUNCTION int first_seeing(int key_tile_number) const {
    return causal ? (key_tile_number * key_tile + (mask_center ? 1 : 0)) / query_tile : 0;
  }
  /// Where the bias of query `query` and key `key` lies among a head's.
  KOKKOS_INLINE_FUNCTION int bias_entry(int query, int key) const { return query_tile + tokens - 1 + key - query; }
};

/// rows [tile, columns] of a tile from rows `stride` apart, times `factor`; zeros past `count` rows and `given` columns.
template <class Scalar>
KOKKOS_INLINE_FUNCTION void load_rows(const Team& team, const Scalar* from, int stride, int count, int given,
                                      Scalar factor, Scalar* to, int tile, int columns) {
  for (int r = 0; r < tile; ++r) {
    const Scalar* in = from + std::int64_t{r} * stride;
    Scalar* out = to + r * columns;
    const int there = r < count ? given : 0;
    for_lanes(team, there, [=](int c) { out[c] = in[c] * factor; });
    for_lanes(team, columns - there, [=](int c) { out[there + c] = 0; });
  }
}

/// The same transposed, [columns, tile].
template <class Scalar>
KOKKOS_INLINE_FUNCTION void load_columns(const Team& team, const Scalar* from, int stride, int count, int given,
                                         Scalar* to, int tile, int columns) {
  const int there = count < tile ? count : tile;
  for (int c = 0; c < columns; ++c) {
    Scalar* out = to + c * tile;
    const int filled = c < given ? there : 0;
    for_lanes(team, filled, [=](int r) { out[r] = from[std::int64_t{r} * stride + c]; });
    for_lanes(team, tile - filled, [=](int r) { out[filled + r] = 0; });
  }
}

template <class Scalar>
KOKKOS_INLINE_FUNCTION void clear(const Team& team, Scalar* numbers, int count, Scalar value = 0) {
  for_lanes(team, count, [=](int i) { numbers[i] = value; });
}

/// Takes pieces of a team's scratch memory one after another.
template <class Scalar>
class ScratchPieces {
 public:
  KOKKOS_INLINE_FUNCTION explicit ScratchPieces(void* memory) : next_(static_cast<Scalar*>(memory)) {}
  KOKKOS_INLINE_FUNCTION Scalar* take(int count) {
    Scalar* piece = next_;
    next_ += count;
    return piece;
  }

 private:
  Scalar* next_;
};

/// Keys and values as the tiles of the forward pass: [groups, key tiles, embed, key_tile], [groups, key tiles, key_tile,
/// out].
template <class Scalar>
struct LayOutKeys {
  Heads heads;
  const Scalar* keys_values;
  Scalar *keys, *values;
  int key_tiles;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int group = team.league_rank() / key_tiles, token = team.league_rank() % key_tiles * key_tile;
    const int stride = heads.key_stride(), count = heads.tokens - token;
    const std::int64_t before = std::int64_t{token} * stride, tile = team.league_rank();
    load_columns(team, keys_values + heads.first_key(group) + before, stride, count, heads.embed,
                 keys + tile * heads.padded_embed * key_tile, key_tile, heads.padded_embed);
    load_rows(team, keys_values + heads.first_value(group) + before, stride, count, heads.out, Scalar(1),
              values + tile * key_tile * heads.padded_out, key_tile, heads.padded_out);
  }
};

/// A team for each tile of queries, those that see most first.
template <class Scalar, class Steps>
struct Forward {
  Heads heads;
  const Scalar *queries, *keys, *values;
  const Scalar* bias;  ///< [heads, bias_length], or null
  Scalar* attended;    ///< [batch, tokens, heads out]
  Scalar* log_sums;    ///< [groups, tokens]
  int query_tiles, key_tiles, bias_length;
  Scalar scale;
  int level;  ///< of the scratch memory

  static std::size_t scratch_bytes(const Heads& heads) {
    const std::size_t rows = heads.padded_embed + heads.padded_out + key_tile + Steps::row_sums + 1;
    return rows * query_tile * sizeof(Scalar) + 64;
  }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int groups = heads.batch * heads.heads, group = team.league_rank() % groups,
              tile = query_tiles - 1 - team.league_rank() / groups, first = tile * query_tile;
    const int embed = heads.padded_embed, out = heads.padded_out;
    ScratchPieces<Scalar> scratch(
        team.team_scratch(level).get_shmem_aligned(rows_bytes(embed + out + key_tile + Steps::row_sums + 1), 64));
    Scalar* own_queries = scratch.take(query_tile * embed);
    Scalar* weights = scratch.take(query_tile * key_tile);
    Scalar* sum = scratch.take(query_tile * out);
    Scalar* sums = scratch.take(query_tile * Steps::row_sums);
    Scalar* reference = scratch.take(query_tile);
    load_rows(team, queries + heads.first_query(group) + std::int64_t{first} * heads.query_stride(),
              heads.query_stride(), heads.tokens - first, heads.embed, scale, own_queries, query_tile, embed);
    clear(team, sum, query_tile * out);
    clear(team, sums, query_tile * Steps::row_sums);
    // Not -infinity, of which a score of -infinity cannot be taken away.
    clear(team, reference, query_tile, Kokkos::reduction_identity<Scalar>::max());
    team.team_barrier();

    const int seen = heads.seen_tiles(tile);
    for (int k = 0; k < seen; ++k) {
      const std::int64_t number = std::int64_t{group} * key_tiles + k;
      const ForwardTile<Scalar> step{own_queries,
                                     keys + number * embed * key_tile,
                                     values + number * key_tile * out,
                                     biases(group, first, k * key_tile),
                                     reference,
                                     sums,
                                     sum,
                                     weights,
                                     heads.sight(first, k * key_tile),
                                     embed,
                                     out};
      if (k == 0) Steps::begin(team, step);
      Steps::forward(team, step);
    }
    finish(team, group, first, reference, sums, sum);
  }

 private:
  KOKKOS_INLINE_FUNCTION static std::size_t rows_bytes(int rows) {
    return std::size_t(rows) * query_tile * sizeof(Scalar);
  }

  KOKKOS_INLINE_FUNCTION const Scalar* biases(int group, int query, int key) const {
    if (bias == nullptr) return nullptr;
    return bias + std::int64_t{group % heads.heads} * bias_length + heads.bias_entry(query, key);
  }

  /// attended = sum / Σ sums, zeros where nothing was seen.
  KOKKOS_INLINE_FUNCTION void finish(const Team& team, int group, int first, const Scalar* reference,
                                     const Scalar* sums, const Scalar* sum) const {
    const int rows = heads.tokens - first < query_tile ? heads.tokens - first : query_tile;
    for (int r = 0; r < rows; ++r) {
      const Scalar total = Steps::total(sums + r * Steps::row_sums);
      const Scalar inverse = total == 0 ? Scalar(0) : 1 / total;
      const Scalar* row = sum + r * heads.padded_out;
      Scalar* to = attended + heads.first_attended(group) + std::int64_t{first + r} * heads.attended_stride();
      for_lanes(team, heads.out, [=](int c) { to[c] = row[c] * inverse; });
      const Scalar log_sum =
          total == 0 ? Kokkos::Experimental::infinity<Scalar>::value : reference[r] + std::log2(total);
      Scalar* to_log_sum = log_sums + std::int64_t{group} * heads.tokens + first + r;
      Kokkos::single(Kokkos::PerTeam(team), [=]() { *to_log_sum = log_sum; });
    }
  }
};

/// Queries, times their scale, and gradients of what was attended as the tiles of the backward pass, [groups, query
/// tiles, query_tile, …], and for every query the logarithm of its sum and its product of attended and gradient,
/// [groups, query tiles, query_tile]. Of a query that saw nothing, and of one whose gradient is zero, whatever its own
/// numbers are, the rows are zeros and the logarithm is infinite: it adds zeros to gradients, but NaN to its own and
/// to those of keys that it sees and that are NaN.
template <class Scalar>
struct LayOutGradients {
  Heads heads;
  const Scalar *queries, *attended, *attended_gradients, *log_sums;
  Scalar *query_rows, *gradient_rows, *row_log_sums, *row_products;
  int query_tiles;
  Scalar scale;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int group = team.league_rank() / query_tiles, first = team.league_rank() % query_tiles * query_tile;
    for (int r = 0; r < query_tile; ++r) row(team, group, first + r, std::int64_t{team.league_rank()} * query_tile + r);
  }

 private:
  KOKKOS_INLINE_FUNCTION void row(const Team& team, int group, int token, std::int64_t at) const {
    Scalar* query_row = query_rows + at * heads.padded_embed;
    Scalar* gradient_row = gradient_rows + at * heads.padded_out;
    Scalar log_sum = Kokkos::Experimental::infinity<Scalar>::value, product = 0;
    int embed = 0, out = 0;
    const Scalar *query = nullptr, *gradient = nullptr;
    if (token < heads.tokens) {
      query = queries + heads.first_query(group) + std::int64_t{token} * heads.query_stride();
      const std::int64_t offset = heads.first_attended(group) + std::int64_t{token} * heads.attended_stride();
      gradient = attended_gradients + offset;
      const Scalar* value = attended + offset;
      const int given = sum_lanes(team, heads.out, [=](int c) { return gradient[c] == 0 ? 0 : 1; });
      const Scalar found = log_sums[std::int64_t{group} * heads.tokens + token];
      if (given > 0 && found != Kokkos::Experimental::infinity<Scalar>::value) {
        log_sum = found;
        product = sum_lanes(team, heads.out, [=](int c) { return gradient[c] * value[c]; });
        embed = heads.embed;
        out = heads.out;
      }
    }
    const Scalar factor = scale;
    for_lanes(team, embed, [=](int c) { query_row[c] = query[c] * factor; });
    for_lanes(team, heads.padded_embed - embed, [=](int c) { query_row[embed + c] = 0; });
    for_lanes(team, out, [=](int c) { gradient_row[c] = gradient[c]; });
    for_lanes(team, heads.padded_out - out, [=](int c) { gradient_row[out + c] = 0; });
    Scalar *to_log_sum = row_log_sums + at, *to_product = row_products + at;
    Kokkos::single(Kokkos::PerTeam(team), [=]() {
      *to_log_sum = log_sum;
      *to_product = product;
    });
  }
};

/// A team for each slice of a head's keys: every so many-th tile of keys, against all queries that see any of it.
template <class Scalar, class Steps>
struct Backward {
  Heads heads;
  const Scalar* keys_values;
  const Scalar *query_rows, *gradient_rows, *row_log_sums, *row_products;  ///< as LayOutGradients
  const Scalar* bias;                                                      ///< as in Forward
  Scalar* keys_values_gradient;
  Scalar* query_gradients;  ///< [slices, groups, query tiles, query_tile, embed]
  Scalar* bias_gradients;   ///< [slices, groups, bias_length], or null
  int slices, query_tiles, key_tiles, bias_length;
  Scalar scale;  ///< of a key's gradient
  int level;

  static std::size_t scratch_bytes(const Heads& heads) {
    return numbers(heads.padded_embed, heads.padded_out) * sizeof(Scalar) + 64;
  }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int groups = heads.batch * heads.heads, group = team.league_rank() % groups,
              slice = team.league_rank() / groups, embed = heads.padded_embed, out = heads.padded_out;
    ScratchPieces<Scalar> scratch(team.team_scratch(level).get_shmem_aligned(numbers(embed, out) * sizeof(Scalar), 64));
    const Memories own{scratch.take(key_tile * embed),     scratch.take(key_tile * out),
                       scratch.take(key_tile * embed),     scratch.take(key_tile * embed),
                       scratch.take(key_tile * out),       scratch.take(query_tile * key_tile),
                       scratch.take(query_tile * key_tile)};
    const std::int64_t rows = std::int64_t{query_tiles} * query_tile, part = std::int64_t{slice} * groups + group;
    Scalar* own_query_gradients = query_gradients + part * rows * embed;
    Scalar* own_bias_gradients = bias_gradients == nullptr ? nullptr : bias_gradients + part * bias_length;
    for (int tile = 0; tile < query_tiles; ++tile)
      clear(team, own_query_gradients + std::int64_t{tile} * query_tile * embed, query_tile * embed);
    if (own_bias_gradients != nullptr) clear(team, own_bias_gradients, bias_length);
    for (int k = slice; k < key_tiles; k += slices)
      tile_of_keys(team, group, k, own, own_query_gradients, own_bias_gradients);
  }

 private:
  struct Memories {
    Scalar *keys, *values, *key_rows, *key_gradients, *value_gradients, *weights, *score_gradients;
  };

  KOKKOS_INLINE_FUNCTION static std::size_t numbers(int embed, int out) {
    return std::size_t(key_tile) * (3 * embed + 2 * out + 2 * query_tile);
  }

  KOKKOS_INLINE_FUNCTION void tile_of_keys(const Team& team, int group, int k, const Memories& own,
                                           Scalar* own_query_gradients, Scalar* own_bias_gradients) const {
    const int embed = heads.padded_embed, out = heads.padded_out, first = k * key_tile, count = heads.tokens - first,
              stride = heads.key_stride();
    const Scalar* keys = keys_values + heads.first_key(group) + std::int64_t{first} * stride;
    const Scalar* values = keys_values + heads.first_value(group) + std::int64_t{first} * stride;
    team.team_barrier();
    load_columns(team, keys, stride, count, heads.embed, own.keys, key_tile, embed);
    load_columns(team, values, stride, count, heads.out, own.values, key_tile, out);
    load_rows(team, keys, stride, count, heads.embed, Scalar(1), own.key_rows, key_tile, embed);
    clear(team, own.key_gradients, key_tile * embed);
    clear(team, own.value_gradients, key_tile * out);
    team.team_barrier();
    for (int tile = heads.first_seeing(k); tile < query_tiles; ++tile) {
      const int query = tile * query_tile;
      const std::int64_t row = (std::int64_t{group} * query_tiles + tile) * query_tile;
      const int entry = heads.bias_entry(query, first);
      Steps::backward(
          team, BackwardTile<Scalar>{
                    query_rows + row * embed, gradient_rows + row * out, own.keys, own.values, own.key_rows,
                    bias == nullptr ? nullptr : bias + std::int64_t{group % heads.heads} * bias_length + entry,
                    row_log_sums + row, row_products + row, own.weights, own.score_gradients,
                    own_query_gradients + std::int64_t{query} * embed, own.key_gradients, own.value_gradients,
                    own_bias_gradients == nullptr ? nullptr : own_bias_gradients + entry, heads.sight(query, first),
                    embed, out});
    }
    store(team, own.key_gradients, embed, heads.embed, count, scale,
          keys_values_gradient + heads.first_key(group) + std::int64_t{first} * stride);
    store(team, own.value_gradients, out, heads.out, count, Scalar(1),
          keys_values_gradient + heads.first_value(group) + std::int64_t{first} * stride);
  }

  KOKKOS_INLINE_FUNCTION void store(const Team& team, const Scalar* rows, int columns, int given, int count,
                                    Scalar factor, Scalar* to) const {
    for (int r = 0; r < key_tile && r < count; ++r) {
      const Scalar* row = rows + r * columns;
      Scalar* target = to + std::int64_t{r} * heads.key_stride();
      for_lanes(team, given, [=](int c) { target[c] = row[c] * factor; });
    }
  }
};

/// Gradients of queries: the sums over slices, times the scale.
template <class Scalar>
struct SumQueryGradients {
  Heads heads;
  const Scalar* parts;  ///< as Backward's
  Scalar* queries_gradient;
  int slices, query_tiles;
  Scalar scale;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int group = team.league_rank() / query_tiles, first = team.league_rank() % query_tiles * query_tile;
    const std::int64_t slice = std::int64_t{heads.batch} * heads.heads * query_tiles * query_tile * heads.padded_embed;
    const int count = slices;
    const Scalar factor = scale;
    for (int r = 0; r < query_tile && first + r < heads.tokens; ++r) {
      const Scalar* part = parts + (std::int64_t{team.league_rank()} * query_tile + r) * heads.padded_embed;
      Scalar* to = queries_gradient + heads.first_query(group) + std::int64_t{first + r} * heads.query_stride();
      for_lanes(team, heads.embed, [=](int c) {
        Scalar sum = part[c];
        for (int s = 1; s < count; ++s) sum += part[s * slice + c];
        to[c] = sum * factor;
      });
    }
  }
};

}  // namespace ridgeline::softmax

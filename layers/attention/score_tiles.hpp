// Tiles of softmax attention's scores: a few queries against a few keys, in the scratch memory of a team. Never more of
// the scores than that is there at a time.
//
// Scores are in units of ln 2, so that weights are powers of two: queries come multiplied by log2(e) / sqrt(E/H), and
// biases by log2(e). A key that a query does not see is left out by never reading its numbers together with that query's:
// zero times NaN is NaN. One whose bias is -infinity has no weight.
#pragma once

#include "core/tensor.hpp"
#include "math/lanes.hpp"
#include "math/pack.hpp"

namespace ridgeline::softmax {

inline constexpr int query_tile = 32;
inline constexpr int key_tile = 64;

/// Keys of a tile that its queries see: query r the first sight(r), never fewer than the query before it.
struct Sight {
  int first, step, most;

  KOKKOS_INLINE_FUNCTION int operator()(int query) const {
    const int count = first + step * query;
    return count < 0 ? 0 : count < most ? count : most;
  }
  /// Every query every key.
  KOKKOS_INLINE_FUNCTION bool whole() const { return (*this)(0) == key_tile; }
};

/// What one step forward works on; rows lie `embed` or `out` apart.
template <class Scalar>
struct ForwardTile {
  const Scalar* queries;  ///< [query_tile, embed]
  const Scalar* keys;     ///< [embed, key_tile]
  const Scalar* values;   ///< [key_tile, out]
  const Scalar* bias;     ///< of query r and key j at j - r; null: none
  Scalar* reference;      ///< [query_tile]: what is subtracted from a query's scores; the lowest number: none yet
  Scalar* sums;           ///< [query_tile, row_sums]: parts of the sums of weights so far
  Scalar* attended;       ///< [query_tile, out]: weights times values so far
  Scalar* weights;        ///< [query_tile, key_tile]
  Sight sight;
  int embed, out;
};

/// What one step backward works on; the last five are added to.
template <class Scalar>
struct BackwardTile {
  const Scalar* queries;             ///< [query_tile, embed]
  const Scalar* attended_gradients;  ///< [query_tile, out]
  const Scalar* keys;                ///< [embed, key_tile]
  const Scalar* values;              ///< [out, key_tile]
  const Scalar* key_rows;            ///< [key_tile, embed]
  const Scalar* bias;                ///< as in ForwardTile
  const Scalar* log_sums;            ///< [query_tile]: of the weights, in units of ln 2; infinite: no gradient
  const Scalar* products;            ///< [query_tile]: attended times its gradient
  Scalar* weights;                   ///< [query_tile, key_tile]
  Scalar* score_gradients;           ///< [query_tile, key_tile]
  Scalar* query_gradients;           ///< [query_tile, embed]
  Scalar* key_gradients;             ///< [key_tile, embed]
  Scalar* value_gradients;           ///< [key_tile, out]
  Scalar* bias_gradients;            ///< as bias; null: none
  Sight sight;
  int embed, out;
};

/// Beyond the reference, in units of ln 2, before another is taken: what float still holds, summed over any sequence.
template <class Scalar>
inline constexpr Scalar far_above = 64;

/// The steps as loops over the entries of what they write, shared out over a team of any size.
template <class Scalar>
struct PortableTiles {
  static constexpr int row_sums = 1;
  /// What a head's channels are rounded up to.
  static int padded(int channels) { return channels; }

  KOKKOS_INLINE_FUNCTION static Scalar score(const Scalar* query, const Scalar* keys, int key, int embed) {
    Scalar sum = 0;
    for (int d = 0; d < embed; ++d) sum += query[d] * keys[d * key_tile + key];
    return sum;
  }

  KOKKOS_INLINE_FUNCTION static Scalar total(const Scalar* sums) { return *sums; }

  /// The first tile's step takes a reference by itself.
  KOKKOS_INLINE_FUNCTION static void begin(const Team& /*team*/, const ForwardTile<Scalar>& /*tile*/) {}

  KOKKOS_INLINE_FUNCTION static void forward(const Team& team, const ForwardTile<Scalar>& tile) {
    for_lanes(team, query_tile * key_tile, [=](int entry) {
      const int r = entry / key_tile, j = entry % key_tile;
      if (j >= tile.sight(r)) return;
      const Scalar bias = tile.bias != nullptr ? tile.bias[j - r] : Scalar(0);
      tile.weights[entry] = score(tile.queries + r * tile.embed, tile.keys, j, tile.embed) + bias;
    });
    team.team_barrier();
    for_lanes(team, query_tile, [=](int r) { weigh(tile, r); });
    team.team_barrier();
    for_lanes(team, query_tile * tile.out, [=](int entry) {
      const int r = entry / tile.out, c = entry % tile.out;
      Scalar sum = tile.attended[entry];
      for (int j = 0; j < tile.sight(r); ++j) sum += tile.weights[r * key_tile + j] * tile.values[j * tile.out + c];
      tile.attended[entry] = sum;
    });
    team.team_barrier();
  }

  KOKKOS_INLINE_FUNCTION static void backward(const Team& team, const BackwardTile<Scalar>& tile) {
    for_lanes(team, query_tile * key_tile, [=](int entry) {
      const int r = entry / key_tile, j = entry % key_tile;
      if (j >= tile.sight(r)) return;
      const Scalar bias = tile.bias != nullptr ? tile.bias[j - r] : Scalar(0);
      const Scalar s = score(tile.queries + r * tile.embed, tile.keys, j, tile.embed) + bias;
      const Scalar dot = score(tile.attended_gradients + r * tile.out, tile.values, j, tile.out);
      const Scalar weight = std::exp2(s - tile.log_sums[r]);
      tile.weights[entry] = weight;
      tile.score_gradients[entry] = weight * (dot - tile.products[r]);
    });
    team.team_barrier();
    add_to_keys(team, tile, tile.weights, tile.attended_gradients, tile.out, tile.value_gradients);
    add_to_keys(team, tile, tile.score_gradients, tile.queries, tile.embed, tile.key_gradients);
    for_lanes(team, query_tile * tile.embed, [=](int entry) {
      const int r = entry / tile.embed, d = entry % tile.embed;
      Scalar sum = tile.query_gradients[entry];
      for (int j = 0; j < tile.sight(r); ++j)
        sum += tile.score_gradients[r * key_tile + j] * tile.key_rows[j * tile.embed + d];
      tile.query_gradients[entry] = sum;
    });
    if (tile.bias_gradients != nullptr)
      for_lanes(team, query_tile + key_tile - 1, [=](int diagonal) {
        const int ahead = diagonal - (query_tile - 1);
        Scalar sum = 0;
        for (int r = ahead < 0 ? -ahead : 0; r < query_tile && r + ahead < key_tile; ++r)
          if (r + ahead < tile.sight(r)) sum += tile.score_gradients[r * key_tile + r + ahead];
        tile.bias_gradients[ahead] += sum;
      });
    team.team_barrier();
  }

 private:
  /// Scores of one query to weights.
  KOKKOS_INLINE_FUNCTION static void weigh(const ForwardTile<Scalar>& tile, int r) {
    Scalar* row = tile.weights + r * key_tile;
    const int count = tile.sight(r);
    Scalar largest = tile.reference[r];
    for (int j = 0; j < count; ++j) largest = row[j] > largest ? row[j] : largest;
    if (largest > tile.reference[r]) {
      const Scalar factor = std::exp2(tile.reference[r] - largest);
      tile.sums[r] *= factor;
      for (int c = 0; c < tile.out; ++c) tile.attended[r * tile.out + c] *= factor;
      tile.reference[r] = largest;
    }
    for (int j = 0; j < count; ++j) {
      row[j] = std::exp2(row[j] - tile.reference[r]);
      tile.sums[r] += row[j];
    }
  }

  /// result[j] += Σ_r factors[r, j] rows[r] over the queries that see key j.
  KOKKOS_INLINE_FUNCTION static void add_to_keys(const Team& team, const BackwardTile<Scalar>& tile,
                                                 const Scalar* factors, const Scalar* rows, int channels,
                                                 Scalar* result) {
    for_lanes(team, key_tile * channels, [=](int entry) {
      const int j = entry / channels, c = entry % channels;
      Scalar sum = result[entry];
      for (int r = 0; r < query_tile; ++r)
        if (j < tile.sight(r)) sum += factors[r * key_tile + j] * rows[r * channels + c];
      result[entry] = sum;
    });
  }
};

#ifdef RIDGELINE_HAS_PACKS

/// The steps for one thread of a CPU, made of products of a block of eight rows and a register's width of columns, all
/// sums of which stay in registers. A tile's queries and keys have `Width` channels each, or with a width of 0 as many
/// as it says; values likewise.
template <class Scalar, int Width>
struct PackTiles {
  static constexpr int lanes = pack_size<Scalar>;
  static constexpr int block = 8;                                // rows of a block of scores
  static constexpr int key_block = register_count > 16 ? 8 : 4;  // and keys of one of their gradients, two sums each
  static constexpr int row_sums = lanes;
  static constexpr int channel_lanes = Width > 0 && Width < lanes ? Width : lanes;
  using Keys = Pack<Scalar, lanes>;
  using Channels = Pack<Scalar, channel_lanes>;
  static_assert(key_tile % lanes == 0 && query_tile % block == 0 && key_tile % key_block == 0);

  static int padded(int channels) { return Width > 0 ? Width : (channels + lanes - 1) / lanes * lanes; }

  static Scalar total(const Scalar* sums) { return sum_of<Scalar, lanes>(load_pack<Keys>(sums)); }

  static void begin(const Team& /*team*/, const ForwardTile<Scalar>& tile) {
    for (int i = 0; i < query_tile; i += block) raise(tile, i, 1);
  }

  static void forward(const Team& /*team*/, const ForwardTile<Scalar>& tile) {
    for (int i = 0; i < query_tile; i += block) {
      const int seen = tile.sight(i + block - 1);
      if (tile.sight(i) == key_tile)
        forward_block<false>(tile, i, key_tile / lanes);
      else if (seen > 0)
        forward_block<true>(tile, i, (seen + lanes - 1) / lanes);
    }
  }

  static void backward(const Team& /*team*/, const BackwardTile<Scalar>& tile) {
    for (int i = 0; i < query_tile; i += block) {
      const int seen = tile.sight(i + block - 1);
      if (seen == 0) continue;
      weigh_gradients(tile, i, (seen + lanes - 1) / lanes);
      add_rows(tile.score_gradients, tile.key_rows, tile.sight, i, embed(tile), tile.query_gradients);
    }
    if (tile.sight.whole())
      for (int j = 0; j < key_tile; j += key_block) key_block_gradients<false>(tile, j);
    else
      for (int j = 0; j < key_tile; j += key_block) key_block_gradients<true>(tile, j);
    if (tile.bias_gradients != nullptr) add_diagonals(tile);
  }

 private:
  template <class Tile>
  static int embed(const Tile& tile) {
    return Width > 0 ? Width : tile.embed;
  }
  template <class Tile>
  static int out(const Tile& tile) {
    return Width > 0 ? Width : tile.out;
  }

  static Keys counting() {
    Keys numbers{};
    for (int i = 0; i < lanes; ++i) numbers[i] = static_cast<Scalar>(i);
    return numbers;
  }

  /// sums[r] = Σ_d rows[r, d] columns[d, …]: of `block` rows of so many channels, and a register's width of keys.
  [[gnu::always_inline]] static void multiply(Keys (&sums)[block], const Scalar* rows, const Scalar* columns,
                                              int channels) {
    for (Keys& sum : sums) sum = Keys{};
#pragma GCC unroll 16
    for (int d = 0; d < channels; ++d) {
      const Keys column = load_pack<Keys>(columns + d * key_tile);
#pragma GCC unroll 8
      for (int r = 0; r < block; ++r) sums[r] += rows[r * channels + d] * column;
    }
  }

  template <class Tile>
  [[gnu::always_inline]] static void score(Keys (&scores)[block], const Tile& tile, int i, int j) {
    multiply(scores, tile.queries + i * embed(tile), tile.keys + j, embed(tile));
    if (tile.bias == nullptr) return;
#pragma GCC unroll 8
    for (int r = 0; r < block; ++r) scores[r] += load_pack<Keys>(tile.bias + j - i - r);
  }

  /// Takes another reference for queries whose scores are far above theirs, or that have none: the largest score.
  static void raise(const ForwardTile<Scalar>& tile, int i, int columns) {
    const Keys lowest = Keys{} - std::numeric_limits<Scalar>::infinity(), number = counting();
    Keys largest[block];
    for (Keys& each : largest) each = lowest;
    for (int j = 0; j < columns * lanes; j += lanes) {
      Keys scores[block];
      score(scores, tile, i, j);
      for (int r = 0; r < block; ++r)
        largest[r] = larger<Keys>(number < static_cast<Scalar>(tile.sight(i + r) - j) ? scores[r] : lowest, largest[r]);
    }
    for (int r = 0; r < block; ++r) {
      Scalar& reference = tile.reference[i + r];
      const Scalar found = largest_of<Scalar, lanes>(largest[r]);
      if (!(found > reference + far_above<Scalar>)) continue;
      if (reference > std::numeric_limits<Scalar>::lowest()) scale_row(tile, i + r, std::exp2(reference - found));
      reference = found;
    }
  }

  static void scale_row(const ForwardTile<Scalar>& tile, int query, Scalar factor) {
    for (int l = 0; l < row_sums; ++l) tile.sums[query * row_sums + l] *= factor;
    for (int c = 0; c < out(tile); ++c) tile.attended[query * out(tile) + c] *= factor;
  }

  /// Weights of a block of queries; returns the largest score less its reference, in any lane.
  template <bool Partly>
  [[gnu::always_inline]] static Scalar weigh(const ForwardTile<Scalar>& tile, int i, int columns, Keys (&sums)[block]) {
    for (Keys& sum : sums) sum = Keys{};
    const Keys lowest = Keys{} - std::numeric_limits<Scalar>::infinity(), number = counting();
    Keys worst = lowest;
    for (int j = 0; j < columns * lanes; j += lanes) {
      Keys scores[block];
      score(scores, tile, i, j);
#pragma GCC unroll 8
      for (int r = 0; r < block; ++r) {
        Keys above = scores[r] - tile.reference[i + r];
        if constexpr (Partly) above = number < static_cast<Scalar>(tile.sight(i + r) - j) ? above : lowest;
        worst = larger(above, worst);  // NaN is passed over
        const Keys weight = exp2_of<lanes>(above);
        sums[r] += weight;
        store_pack(tile.weights + (i + r) * key_tile + j, weight);
      }
    }
    return largest_of<Scalar, lanes>(worst);
  }

  template <bool Partly>
  static void forward_block(const ForwardTile<Scalar>& tile, int i, int columns) {
    Keys sums[block];
    if (weigh<Partly>(tile, i, columns, sums) > far_above<Scalar>) {
      raise(tile, i, columns);
      weigh<Partly>(tile, i, columns, sums);
    }
#pragma GCC unroll 8
    for (int r = 0; r < block; ++r) {
      Scalar* row = tile.sums + (i + r) * row_sums;
      store_pack(row, Keys(load_pack<Keys>(row) + sums[r]));
    }
    add_rows(tile.weights, tile.values, tile.sight, i, out(tile), tile.attended);
  }

  /// result[r] += Σ_j factors[r, j] rows[j] over the keys that query r sees, for a block of queries.
  [[gnu::always_inline]] static void add_rows(const Scalar* factors, const Scalar* rows, const Sight& sight, int i,
                                              int channels, Scalar* result) {
    const int all = sight(i), some = sight(i + block - 1);
    factors += i * key_tile;
    result += i * channels;
    for (int c = 0; c < channels; c += channel_lanes) {
      Channels sums[block];
#pragma GCC unroll 8
      for (int r = 0; r < block; ++r) sums[r] = load_pack<Channels>(result + r * channels + c);
#pragma GCC unroll 2
      for (int j = 0; j < all; ++j) {
        const Channels row = load_pack<Channels>(rows + j * channels + c);
#pragma GCC unroll 8
        for (int r = 0; r < block; ++r) sums[r] += factors[r * key_tile + j] * row;
      }
      for (int j = all; j < some; ++j) {
        const Channels row = load_pack<Channels>(rows + j * channels + c);
#pragma GCC unroll 8
        for (int r = 0; r < block; ++r)
          if (j < sight(i + r)) sums[r] += factors[r * key_tile + j] * row;
      }
#pragma GCC unroll 8
      for (int r = 0; r < block; ++r) store_pack(result + r * channels + c, sums[r]);
    }
  }

  /// Weights and gradients of the scores of a block of queries; those of keys that a query does not see are not read.
  [[gnu::always_inline]] static void weigh_gradients(const BackwardTile<Scalar>& tile, int i, int columns) {
    for (int j = 0; j < columns * lanes; j += lanes) {
      Keys weights[block], gradients[block];
      score(weights, tile, i, j);
#pragma GCC unroll 8
      for (int r = 0; r < block; ++r) {
        weights[r] = exp2_of<lanes>(Keys(weights[r] - tile.log_sums[i + r]));
        store_pack(tile.weights + (i + r) * key_tile + j, weights[r]);
      }
      multiply(gradients, tile.attended_gradients + i * out(tile), tile.values + j, out(tile));
#pragma GCC unroll 8
      for (int r = 0; r < block; ++r)
        store_pack(tile.score_gradients + (i + r) * key_tile + j,
                   Keys(weights[r] * (gradients[r] - tile.products[i + r])));
    }
  }

  /// result[j] += Σ_r factors[r, j] rows[r] over the queries that see key j, for a block of keys and one or two results.
  template <bool Partly>
  static void key_block_gradients(const BackwardTile<Scalar>& tile, int j) {
    if (Width > 0 || tile.embed == tile.out) {
      add_to_keys<Partly, true>(tile, j, embed(tile), tile.weights, tile.attended_gradients, tile.value_gradients,
                                tile.score_gradients, tile.queries, tile.key_gradients);
    } else {
      add_to_keys<Partly, false>(tile, j, tile.out, tile.weights, tile.attended_gradients, tile.value_gradients);
      add_to_keys<Partly, false>(tile, j, tile.embed, tile.score_gradients, tile.queries, tile.key_gradients);
    }
  }

  template <bool Partly, bool Both>
  [[gnu::always_inline]] static void add_to_keys(const BackwardTile<Scalar>& tile, int j, int channels,
                                                 const Scalar* factors, const Scalar* rows, Scalar* result,
                                                 const Scalar* more_factors = nullptr,
                                                 const Scalar* more_rows = nullptr, Scalar* more_results = nullptr) {
    int begin = 0, whole = 0;
    if constexpr (Partly) {
      while (begin < query_tile && tile.sight(begin) <= j) ++begin;
      whole = begin;
      while (whole < query_tile && tile.sight(whole) < j + key_block) ++whole;
    }
    for (int c = 0; c < channels; c += channel_lanes) {
      Channels sums[key_block], more[key_block];
#pragma GCC unroll 8
      for (int k = 0; k < key_block; ++k) {
        sums[k] = load_pack<Channels>(result + (j + k) * channels + c);
        if constexpr (Both) more[k] = load_pack<Channels>(more_results + (j + k) * channels + c);
      }
      for (int r = begin; r < whole; ++r) {
        const Channels row = load_pack<Channels>(rows + r * channels + c);
        Channels other{};
        if constexpr (Both) other = load_pack<Channels>(more_rows + r * channels + c);
#pragma GCC unroll 8
        for (int k = 0; k < key_block; ++k) {
          if (j + k >= tile.sight(r)) continue;
          sums[k] += factors[r * key_tile + j + k] * row;
          if constexpr (Both) more[k] += more_factors[r * key_tile + j + k] * other;
        }
      }
#pragma GCC unroll 2
      for (int r = whole; r < query_tile; ++r) {
        const Channels row = load_pack<Channels>(rows + r * channels + c);
        Channels other{};
        if constexpr (Both) other = load_pack<Channels>(more_rows + r * channels + c);
#pragma GCC unroll 8
        for (int k = 0; k < key_block; ++k) {
          sums[k] += factors[r * key_tile + j + k] * row;
          if constexpr (Both) more[k] += more_factors[r * key_tile + j + k] * other;
        }
      }
#pragma GCC unroll 8
      for (int k = 0; k < key_block; ++k) {
        store_pack(result + (j + k) * channels + c, sums[k]);
        if constexpr (Both) store_pack(more_results + (j + k) * channels + c, more[k]);
      }
    }
  }

  static void add_diagonals(const BackwardTile<Scalar>& tile) {
    for (int r = 0; r < query_tile; ++r) {
      const Scalar* row = tile.score_gradients + r * key_tile;
      Scalar* sums = tile.bias_gradients - r;
      const int count = tile.sight(r);
      RIDGELINE_SIMD()
      for (int j = 0; j < count; ++j) sums[j] += row[j];
    }
  }
};

#endif

}  // namespace ridgeline::softmax

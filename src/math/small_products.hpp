// Products of small matrices of doubles that one team takes by itself: a few rows of some length each.
#pragma once

#include "math/lanes.hpp"
#include "math/pack.hpp"

namespace ridgeline {

/// Entries of a matrix at any strides, so that a transpose is one of the same.
struct Entries {
  const double* data;
  int row_stride, column_stride;

  KOKKOS_INLINE_FUNCTION double operator()(int row, int column) const {
    return data[row * row_stride + column * column_stride];
  }
};

namespace detail {

/// Rows, or columns, of a result that a core of a CPU takes at a time, as far as its registers go.
constexpr int tile_rows = 4;

#ifdef RIDGELINE_HAS_PACKS
using Doubles = Pack<double, pack_size<double>>;
constexpr int tile_columns = register_count >= 32 ? 4 : 2;
constexpr int tile_packs = register_count >= 32 ? 4 : 2;

/// The first `count` numbers and zeros.
inline Doubles load_some(const double* from, int count) {
  Doubles pack = {};
  for (int i = 0; i < count; ++i) pack[i] = from[i];
  return pack;
}

/// A tile of the product with a transpose, from (row, column) on. Past the last row or column, that is taken again.
template <class Left, class Right, class Result>
inline void multiply_transposed_tile(const Left& a, const Right& b, int row, int column, bool both,
                                     const Result& result) {
  constexpr int lanes = pack_size<double>;
  const int length = static_cast<int>(a.extent(1)), last_row = static_cast<int>(a.extent(0)) - 1,
            last_column = static_cast<int>(b.extent(0)) - 1;
  const auto row_at = [=](int i) { return row + i < last_row ? row + i : last_row; };
  const auto column_at = [=](int j) { return column + j < last_column ? column + j : last_column; };
  const double *left[tile_rows], *right[tile_columns];
  for (int i = 0; i < tile_rows; ++i) left[i] = &a(row_at(i), 0);
  for (int j = 0; j < tile_columns; ++j) right[j] = &b(column_at(j), 0);
  Doubles sum[tile_rows][tile_columns] = {};
  const auto add = [&](const auto& load) {
    Doubles in[tile_columns];
    RIDGELINE_UNROLL
    for (int j = 0; j < tile_columns; ++j) in[j] = load(right[j]);
    RIDGELINE_UNROLL
    for (int i = 0; i < tile_rows; ++i) {
      const Doubles own = load(left[i]);
      RIDGELINE_UNROLL
      for (int j = 0; j < tile_columns; ++j) sum[i][j] += own * in[j];
    }
  };
  int d = 0;
  for (; d + lanes <= length; d += lanes) add([=](const double* from) { return load_pack<Doubles>(from + d); });
  if (d < length) add([=](const double* from) { return load_some(from + d, length - d); });
  for (int i = 0; i < tile_rows; ++i)
    for (int j = 0; j < tile_columns; ++j) {
      const double value = sum_of<double, lanes>(sum[i][j]);
      result(row_at(i), column_at(j)) = value;
      if (both) result(column_at(j), row_at(i)) = value;
    }
}

/// Rows of a product that are made at a time: where their factors lie, and what is made.
template <class Scalar>
struct RowTile {
  const double* factors[tile_rows];
  int step;  // from a factor to the next
  Scalar* out[tile_rows];
};

/// Some columns, from `column` on.
template <int packs, class Scalar, class Matrix>
inline void multiply_tile(const RowTile<Scalar>& rows, const Matrix& b, int column) {
  constexpr int lanes = pack_size<double>;
  Doubles sum[tile_rows][packs] = {};
  const double* from = &b(0, column);
  const std::int64_t row_step = b.stride(0);
  for (int k = 0; k < static_cast<int>(b.extent(0)); ++k, from += row_step) {
    Doubles in[packs];
    RIDGELINE_UNROLL
    for (int j = 0; j < packs; ++j) in[j] = load_pack<Doubles>(from + j * lanes);
    RIDGELINE_UNROLL
    for (int i = 0; i < tile_rows; ++i) {
      const double factor = rows.factors[i][k * rows.step];
      RIDGELINE_UNROLL
      for (int j = 0; j < packs; ++j) sum[i][j] += factor * in[j];
    }
  }
  RIDGELINE_UNROLL
  for (int i = 0; i < tile_rows; ++i) {
    Scalar* out = rows.out[i] + column;
    RIDGELINE_UNROLL
    for (int j = 0; j < packs; ++j)
      store_pack(out + j * lanes, __builtin_convertvector(sum[i][j], Pack<Scalar, lanes>));
  }
}

template <class Matrix, class Row>
inline void multiply_on_host(const Entries& a, int row_count, const Matrix& b, const Row& row_of) {
  constexpr int lanes = pack_size<double>;
  using Scalar = std::remove_pointer_t<decltype(row_of(0))>;
  const int columns = static_cast<int>(b.extent(1));
  for (int row = 0; row < row_count; row += tile_rows) {
    RowTile<Scalar> rows;
    rows.step = a.column_stride;
    for (int i = 0; i < tile_rows; ++i) {  // past the last, that is made again
      const int own = row + i < row_count ? row + i : row_count - 1;
      rows.factors[i] = a.data + own * a.row_stride;
      rows.out[i] = row_of(own);
    }
    int column = 0;
    for (; column + tile_packs * lanes <= columns; column += tile_packs * lanes)
      multiply_tile<tile_packs>(rows, b, column);
    for (; column + lanes <= columns; column += lanes) multiply_tile<1>(rows, b, column);
    for (; column < columns; ++column)
      for (int i = 0; i < tile_rows; ++i) {
        double sum = 0;
        for (int k = 0; k < static_cast<int>(b.extent(0)); ++k) sum += rows.factors[i][k * rows.step] * b(k, column);
        rows.out[i][column] = static_cast<Scalar>(sum);
      }
  }
}
#endif

template <class Team>
KOKKOS_INLINE_FUNCTION bool one_core([[maybe_unused]] const Team& team) {
#ifdef RIDGELINE_HAS_PACKS
  return team.team_size() == 1;
#else
  return false;
#endif
}

}  // namespace detail

/// result[i, j] = Σ_d a[i, d] b[j, d], for a [rows, length], b [columns, length] with entries of a row side by side;
/// where `a` and `b` are one matrix, a core of a CPU computes half of it. Between two barriers of the team.
template <class Team, class Left, class Right, class Result>
KOKKOS_INLINE_FUNCTION void multiply_transposed(const Team& team, const Left& a, const Right& b, const Result& result) {
  team.team_barrier();
  const int rows = static_cast<int>(a.extent(0)), columns = static_cast<int>(b.extent(0));
  if (detail::one_core(team)) {
#ifdef RIDGELINE_HAS_PACKS
    const bool same = a.data() == b.data();
    for (int i = 0; i < rows; i += detail::tile_rows)
      for (int j = 0; j < (same ? i + detail::tile_rows : columns); j += detail::tile_columns)
        if (j < columns) detail::multiply_transposed_tile(a, b, i, j, same, result);
#endif
  } else {
    const int length = static_cast<int>(a.extent(1));
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j) {
        const double *left = &a(i, 0), *right = &b(j, 0);
        const double sum = sum_lanes(team, length, [=](int d) { return left[d] * right[d]; });
        Kokkos::single(Kokkos::PerTeam(team), [=]() { result(i, j) = sum; });
      }
  }
  team.team_barrier();
}

/// Row i of the product, `row_of(i)[d]` = Σ_k a[i, k] b[k, d] for i in 0..rows, rounded to what is there; b [inner,
/// columns] with entries of a row side by side. No barrier follows.
template <class Team, class Matrix, class Row>
KOKKOS_INLINE_FUNCTION void multiply(const Team& team, const Entries& a, int rows, const Matrix& b, const Row& row_of) {
  if (detail::one_core(team)) {
#ifdef RIDGELINE_HAS_PACKS
    detail::multiply_on_host(a, rows, b, row_of);
#endif
  } else {
    using Scalar = std::remove_pointer_t<decltype(row_of(0))>;
    for (int i = 0; i < rows; ++i) {
      Scalar* out = row_of(i);
      for_lanes(team, static_cast<int>(b.extent(1)), [=](int d) {
        double sum = 0;
        for (int k = 0; k < static_cast<int>(b.extent(0)); ++k) sum += a(i, k) * b(k, d);
        out[d] = static_cast<Scalar>(sum);
      });
    }
  }
}

}  // namespace ridgeline

// A matrix turned, on a CPU.
#pragma once

#include <cstdint>
#include <utility>

#include "math/lanes.hpp"
#include "math/pack.hpp"

namespace ridgeline {

#ifdef RIDGELINE_HAS_PACKS
namespace detail {

/// The numbers of two packs by turns, from the start of both or from their middle.
template <bool from_middle, class P, std::size_t... Lane>
inline P by_turns(const P& a, const P& b, std::index_sequence<Lane...>) {
  constexpr std::size_t count = sizeof...(Lane), start = from_middle ? count / 2 : 0;
#if __has_builtin(__builtin_shufflevector)
  return __builtin_shufflevector(a, b, static_cast<int>(start + Lane / 2 + Lane % 2 * count)...);
#else  // GCC before 12
  using Lanes = Pack<std::int32_t, count>;
  return __builtin_shuffle(a, b, Lanes{static_cast<std::int32_t>(start + Lane / 2 + Lane % 2 * count)...});
#endif
}

/// A square of as many rows as a register has numbers: row i and the row that lies half the square below, number by number,
/// and that as often as the numbers can be halved.
inline void transpose_square(const float* from, std::int64_t from_leading, float* to, std::int64_t to_leading) {
  constexpr int side = pack_size<float>;
  using P = Pack<float, side>;
  constexpr std::make_index_sequence<side> lanes;
  P rows[side], next[side];
  RIDGELINE_UNROLL
  for (int i = 0; i < side; ++i) rows[i] = load_pack<P>(from + i * from_leading);
  RIDGELINE_UNROLL
  for (int half = side; half > 1; half /= 2) {
    RIDGELINE_UNROLL
    for (int i = 0; i < side / 2; ++i) {
      next[2 * i] = by_turns<false>(rows[i], rows[i + side / 2], lanes);
      next[2 * i + 1] = by_turns<true>(rows[i], rows[i + side / 2], lanes);
    }
    RIDGELINE_UNROLL
    for (int i = 0; i < side; ++i) rows[i] = next[i];
  }
  RIDGELINE_UNROLL
  for (int i = 0; i < side; ++i) store_pack(to + i * to_leading, rows[i]);
}

}  // namespace detail

/// to [columns, rows] = the transpose of from [rows, columns].
inline void transpose(const float* from, std::int64_t from_leading, int rows, int columns, float* to,
                      std::int64_t to_leading) {
  constexpr int side = pack_size<float>;
  const int whole_rows = rows / side * side, whole_columns = columns / side * side;
  const auto copy = [=](int row, int column) { to[column * to_leading + row] = from[row * from_leading + column]; };
  for (int row = 0; row < whole_rows; row += side) {
    for (int column = 0; column < whole_columns; column += side)
      detail::transpose_square(from + row * from_leading + column, from_leading, to + column * to_leading + row,
                               to_leading);
    for (int i = row; i < row + side; ++i)
      for (int column = whole_columns; column < columns; ++column) copy(i, column);
  }
  for (int row = whole_rows; row < rows; ++row)
    for (int column = 0; column < columns; ++column) copy(row, column);
}
#endif

}  // namespace ridgeline

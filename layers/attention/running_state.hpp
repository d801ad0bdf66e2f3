// A state that runs over the tokens of a chunk, and what each token reads from it. Linear attention's output and the
// gradients of its queries, keys and values are one such recurrence each, with other factors:
//
//   state[r, l] += factor(t, r) lane_factor(t, l)        result(t, l) = Σ_r weight(t, r) state[r, l]
//
// A block of the state stays in registers while all tokens go by: rows are numbers that are broadcast, lanes those of a
// vector register (on a GPU, a thread each). That asks for the fewest operations there are, and no product is masked: a
// token never meets those that it must not see.
#pragma once

#include <type_traits>

#include "core/kokkos.hpp"
#include "math/lanes.hpp"

namespace ridgeline::linear_attention {

/// A row of numbers of each token of a chunk.
template <class Scalar>
struct Panel {
  Scalar* data = nullptr;
  int stride = 0;
  KOKKOS_INLINE_FUNCTION Scalar* row(int token) const { return data + token * stride; }
  KOKKOS_INLINE_FUNCTION operator Panel<const Scalar>() const { return {data, stride}; }
};

/// A state in memory; where there is none it is zero.
template <class Scalar>
struct StoredState {
  Scalar* data = nullptr;
  int row_stride = 0;
  int lane_stride = 1;
};

enum class Direction { forward, reverse };
enum class Scaling { none, rows, lanes };

/// How tokens go by. A token reads after it has added its own product, or, where `exclusive`, before. With a scaling
/// the state before token t times scale(t, ·) is what the state after it begins from, and the reverse of that.
template <Direction direction_, bool exclusive_, Scaling scaling_>
struct Course {
  static constexpr Direction direction = direction_;
  static constexpr bool exclusive = exclusive_;
  static constexpr Scaling scaling = scaling_;
  static constexpr bool scaled = scaling != Scaling::none;
  static constexpr bool scaled_last = scaled && direction == Direction::reverse && !exclusive;
};

template <class Scalar>
struct Recurrence {
  int tokens, rows, lanes;
  StoredState<const Scalar> begin;
  Panel<const Scalar> factor, lane_factor, weight;
  Panel<Scalar> result;
  Panel<const Scalar> scale = {};
};

namespace detail {

/// body(constant, row) for blocks of as many rows as a constant says, which together are 0..rows.
template <class Body>
KOKKOS_INLINE_FUNCTION void for_row_blocks(int rows, const Body& body) {
  int row = 0;
  const auto take = [&](auto count) {
    body(count, row);
    row += count.value;
  };
  while (rows - row >= register_rows) {
    if (rows - row == register_rows + 1)
      take(std::integral_constant<int, register_rows + 1>());
    else
      take(std::integral_constant<int, register_rows>());
  }
  if (register_rows > 8 && rows - row >= 8) take(std::integral_constant<int, 8>());
  if (rows - row >= 4) take(std::integral_constant<int, 4>());
  while (rows - row >= 1) take(std::integral_constant<int, 1>());
}

template <int rows, class Scalar>
KOKKOS_INLINE_FUNCTION void load(const StoredState<const Scalar>& from, int row, int lane, int lanes,
                                 Scalar (&state)[rows][lane_width<Scalar>]) {
  RIDGELINE_UNROLL
  for (int r = 0; r < rows; ++r) {
    const Scalar* in = from.data + (row + r) * from.row_stride + lane * from.lane_stride;
    for (int l = 0; l < lane_width<Scalar>; ++l)
      state[r][l] = from.data != nullptr && lane + l < lanes ? in[l * from.lane_stride] : Scalar(0);
  }
}

template <class Course, int rows, class Scalar>
KOKKOS_INLINE_FUNCTION void run_block(const Recurrence<Scalar>& of, int row, int lane) {
  constexpr int width = lane_width<Scalar>, sums = 4;  // several, as each addition waits for the one before it
  Scalar state[rows][width];
  load<rows>(of.begin, row, lane, of.lanes, state);
  for (int i = 0; i < of.tokens; ++i) {
    const int token = Course::direction == Direction::forward ? i : of.tokens - 1 - i;
    const Scalar *factor = of.factor.row(token) + row, *weight = of.weight.row(token) + row;
    const Scalar* lane_factor = of.lane_factor.row(token) + lane;
    const Scalar* scale =
        Course::scaled ? of.scale.row(token) + (Course::scaling == Scaling::rows ? row : lane) : nullptr;
    Scalar* result = of.result.row(token) + lane;
    Scalar sum[sums][width];
    RIDGELINE_UNROLL
    for (int s = 0; s < sums; ++s) {
      RIDGELINE_SIMD()
      for (int l = 0; l < width; ++l) sum[s][l] = s == 0 && row > 0 ? result[l] : Scalar(0);
    }
    RIDGELINE_UNROLL
    for (int r = 0; r < rows; ++r) {
      RIDGELINE_SIMD()
      for (int l = 0; l < width; ++l) {
        Scalar value = state[r][l], times = 1;
        if constexpr (Course::scaling == Scaling::rows) times = scale[r];
        if constexpr (Course::scaling == Scaling::lanes) times = scale[l];
        if constexpr (Course::exclusive) sum[r % sums][l] += weight[r] * value;
        if constexpr (Course::scaled && !Course::scaled_last) value *= times;
        value += factor[r] * lane_factor[l];
        if constexpr (!Course::exclusive) sum[r % sums][l] += weight[r] * value;
        if constexpr (Course::scaled_last) value *= times;
        state[r][l] = value;
      }
    }
    RIDGELINE_SIMD()
    for (int l = 0; l < width; ++l) result[l] = (sum[0][l] + sum[1][l]) + (sum[2][l] + sum[3][l]);
  }
}

template <int rows, class Scalar>
KOKKOS_INLINE_FUNCTION void add_products(int tokens, const Panel<const Scalar>& factors,
                                         const Panel<const Scalar>& lane_factors, int row, int lane, int lanes,
                                         const StoredState<Scalar>& result) {
  constexpr int width = lane_width<Scalar>;
  Scalar state[rows][width];
  load<rows>(StoredState<const Scalar>{}, row, lane, lanes, state);
  for (int token = 0; token < tokens; ++token) {
    const Scalar *factor = factors.row(token) + row, *lane_factor = lane_factors.row(token) + lane;
    RIDGELINE_UNROLL
    for (int r = 0; r < rows; ++r) {
      RIDGELINE_SIMD()
      for (int l = 0; l < width; ++l) state[r][l] += factor[r] * lane_factor[l];
    }
  }
  for (int r = 0; r < rows; ++r)
    for (int l = 0; l < width; ++l)
      if (lane + l < lanes) result.data[(row + r) * result.row_stride + lane + l] = state[r][l];
}

}  // namespace detail

/// Panels are read and written in whole vector registers: their rows have room for the lanes, rounded up to
/// lane_width. Results are there after the team's next barrier.
template <class Course, class TeamMember, class Scalar>
KOKKOS_INLINE_FUNCTION void run(const TeamMember& team, const Recurrence<Scalar>& of) {
  constexpr int width = lane_width<Scalar>;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (of.lanes + width - 1) / width), [&](const int tile) {
    detail::for_row_blocks(of.rows, [&](auto count, int row) {
      detail::run_block<Course, decltype(count)::value>(of, row, tile * width);
    });
  });
}

/// result[r, l] = Σ_t factor(t, r) lane_factor(t, l); lanes as above, and next to each other in the result.
template <class TeamMember, class Scalar>
KOKKOS_INLINE_FUNCTION void sum_products(const TeamMember& team, int tokens, int rows, int lanes,
                                         const Panel<const Scalar>& factor, const Panel<const Scalar>& lane_factor,
                                         const StoredState<Scalar>& result) {
  constexpr int width = lane_width<Scalar>;
  Kokkos::parallel_for(Kokkos::TeamVectorRange(team, (lanes + width - 1) / width), [&](const int tile) {
    detail::for_row_blocks(rows, [&](auto count, int row) {
      detail::add_products<decltype(count)::value>(tokens, factor, lane_factor, row, tile * width, lanes, result);
    });
  });
}

}  // namespace ridgeline::linear_attention

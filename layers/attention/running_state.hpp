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
#include "math/pack.hpp"

namespace ridgeline::linear_attention {

/// What a thread has of a row: a vector register; on a GPU, where a thread has a lane for itself, one number.
#if defined(RIDGELINE_HAS_PACKS)
template <class Scalar>
inline constexpr int lane_width = pack_size<Scalar>;
template <class Scalar>
using Lanes = Pack<Scalar, lane_width<Scalar>>;
inline constexpr int register_rows = register_count / 2;
#else
template <class Scalar>
inline constexpr int lane_width = 1;
template <class Scalar>
using Lanes = Scalar;
inline constexpr int register_rows = 16;
#endif

/// A row of numbers of each token of a chunk.
template <class Scalar>
struct Panel {
  Scalar* data = nullptr;
  int stride = 0;
  KOKKOS_INLINE_FUNCTION Scalar* row(int token) const { return data + token * stride; }
  // As a view's own: numbers that may be written may be read.
  // NOLINTNEXTLINE(google-explicit-constructor)
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
  while (rows - row >= 1)  // NOLINT(bugprone-infinite-loop): take moves on
    take(std::integral_constant<int, 1>());
}

template <class Scalar>
KOKKOS_INLINE_FUNCTION Lanes<Scalar> load(const Scalar* from) {
#if defined(RIDGELINE_HAS_PACKS)
  return load_pack<Lanes<Scalar>>(from);
#else
  return *from;
#endif
}

template <class Scalar>
KOKKOS_INLINE_FUNCTION void store(const Lanes<Scalar>& lanes, Scalar* to) {
#if defined(RIDGELINE_HAS_PACKS)
  store_pack(to, lanes);
#else
  *to = lanes;
#endif
}

/// A block of a stored state, zero beyond the lanes that there are.
template <int rows, class Scalar>
KOKKOS_INLINE_FUNCTION void load(const StoredState<const Scalar>& from, int row, int lane, int lanes,
                                 Lanes<Scalar> (&state)[rows]) {
  constexpr int width = lane_width<Scalar>;
  Scalar numbers[rows][width] = {};
  if (from.data != nullptr) {
    const int count = lanes - lane < width ? lanes - lane : width;
    for (int r = 0; r < rows; ++r) {
      const Scalar* in = from.data + (row + r) * from.row_stride + lane * from.lane_stride;
      for (int l = 0; l < count; ++l) numbers[r][l] = in[l * from.lane_stride];
    }
  }
  RIDGELINE_UNROLL
  for (int r = 0; r < rows; ++r) state[r] = load(numbers[r]);
}

template <class Course, int rows, class Scalar>
KOKKOS_INLINE_FUNCTION void run_block(const Recurrence<Scalar>& of, int row, int lane) {
  constexpr int most = 4, sums = rows < most ? rows : most;  // several, as each addition waits for the one before it
  constexpr bool forward = Course::direction == Direction::forward;
  Lanes<Scalar> state[rows];
  load(of.begin, row, lane, of.lanes, state);
  for (int i = 0; i < of.tokens; ++i) {
    const int token = forward ? i : of.tokens - 1 - i;
    const Scalar *factor = of.factor.row(token) + row, *weight = of.weight.row(token) + row;
    const Lanes<Scalar> lane_factor = load(of.lane_factor.row(token) + lane);
    Scalar* result = of.result.row(token) + lane;
    [[maybe_unused]] const Scalar* row_scale = nullptr;
    [[maybe_unused]] Lanes<Scalar> scale{};
    if constexpr (Course::scaling == Scaling::rows) row_scale = of.scale.row(token) + row;
    if constexpr (Course::scaling == Scaling::lanes) scale = load(of.scale.row(token) + lane);
    Lanes<Scalar> sum[sums] = {};
    if (row > 0) sum[0] = load(static_cast<const Scalar*>(result));
    RIDGELINE_UNROLL
    for (int r = 0; r < rows; ++r) {
      if constexpr (Course::scaling == Scaling::rows) scale = row_scale[r] + Lanes<Scalar>{};
      Lanes<Scalar> value = state[r];
      if constexpr (Course::exclusive) sum[r % sums] += weight[r] * value;
      if constexpr (Course::scaled && !Course::scaled_last) value *= scale;
      value += factor[r] * lane_factor;
      if constexpr (!Course::exclusive) sum[r % sums] += weight[r] * value;
      if constexpr (Course::scaled_last) value *= scale;
      state[r] = value;
    }
    RIDGELINE_UNROLL
    for (int s = 1; s < sums; ++s) sum[0] += sum[s];
    store(sum[0], result);
  }
}

template <int rows, class Scalar>
KOKKOS_INLINE_FUNCTION void add_products(int tokens, const Panel<const Scalar>& factors,
                                         const Panel<const Scalar>& lane_factors, int row, int lane, int lanes,
                                         const StoredState<Scalar>& result) {
  constexpr int width = lane_width<Scalar>;
  Lanes<Scalar> state[rows] = {};
  for (int token = 0; token < tokens; ++token) {
    const Scalar* factor = factors.row(token) + row;
    const Lanes<Scalar> lane_factor = load(lane_factors.row(token) + lane);
    RIDGELINE_UNROLL
    for (int r = 0; r < rows; ++r) state[r] += factor[r] * lane_factor;
  }
  Scalar numbers[rows][width];
  RIDGELINE_UNROLL
  for (int r = 0; r < rows; ++r) store(state[r], numbers[r]);
  const int count = lanes - lane < width ? lanes - lane : width;
  for (int r = 0; r < rows; ++r) {
    Scalar* out = result.data + (row + r) * result.row_stride + lane;
    for (int l = 0; l < count; ++l) out[l] = numbers[r][l];
  }
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

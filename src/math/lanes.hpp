// The innermost loops of a kernel that runs as a Kokkos team: vector instructions on a CPU, the team's threads on a GPU.
//
// On a CPU, Kokkos' ranges inside a team leave it to the compiler whether a loop becomes vector instructions, and a sum
// never does, as the compiler may not reorder it. A loop under `omp simd` does, in an order that is fixed in a build.
//
// All take the body by value and are always inlined: of a body that is referred to, a compiler reads what it captured
// again in every pass, as the pass may have written it, and gathers numbers one by one that lie side by side.

#pragma once

#include <Kokkos_Core.hpp>

#include <type_traits>

// RIDGELINE_SIMD() or RIDGELINE_SIMD(reduction(+ : sum)) before a loop whose passes do not depend on one another. Empty
// where the kernels run on a GPU, whose compilers take no OpenMP. RIDGELINE_UNROLL before a loop of few passes, so that what
// they index stays in registers.
#if defined(KOKKOS_ENABLE_CUDA) || defined(KOKKOS_ENABLE_HIP) || defined(KOKKOS_ENABLE_SYCL)
#define RIDGELINE_SIMD(...)
#define RIDGELINE_UNROLL _Pragma("unroll")
#else
#define RIDGELINE_PRAGMA(...) _Pragma(#__VA_ARGS__)
#define RIDGELINE_SIMD(...) RIDGELINE_PRAGMA(omp simd __VA_ARGS__)
#define RIDGELINE_UNROLL RIDGELINE_PRAGMA(GCC unroll 32)
#endif

namespace ridgeline {

namespace detail {

template <class TeamMember>
inline constexpr bool team_on_host =
    std::is_same_v<typename TeamMember::execution_space::memory_space, Kokkos::HostSpace>;

struct LaneRange {
  int begin, end;
};

/// The part of 0..n that is this thread's, where a team on a CPU has several.
template <class TeamMember>
KOKKOS_INLINE_FUNCTION LaneRange own_lanes(const TeamMember& team, int n) {
  if (team.team_size() == 1) return {0, n};
  const auto bound = [&](int rank) { return static_cast<int>(static_cast<long long>(n) * rank / team.team_size()); };
  return {bound(team.team_rank()), bound(team.team_rank() + 1)};
}

}  // namespace detail

/// body(i) for i in 0..n, shared out over all lanes of the team, in any order. No barrier follows: where lanes then read
/// what others wrote, call team.team_barrier().
///
/// For passes that do not depend on one another. To be vectorised on a CPU, the body holds no branch that cannot be a
/// choice between two values, and calls nothing that is not inlined (of the functions of <cmath>, sqrt, fabs, fmin and
/// fmax are; math/elementary.hpp has others).
template <class TeamMember, class Body>
KOKKOS_FORCEINLINE_FUNCTION void for_lanes(const TeamMember& team, int n, Body body) {
  if constexpr (detail::team_on_host<TeamMember>) {
    const detail::LaneRange own = detail::own_lanes(team, n);
    RIDGELINE_SIMD()
    for (int i = own.begin; i < own.end; ++i) body(i);
  } else {
    Kokkos::parallel_for(Kokkos::TeamVectorRange(team, n), [&](const int i) { body(i); });
  }
}

/// The sum of body(i) over i in 0..n, the same on every lane of the team; 0 for n = 0. All lanes call it. The order of
/// the sum is fixed: the same bits on every call of one build, for one team size.
template <class TeamMember, class Body>
KOKKOS_FORCEINLINE_FUNCTION auto sum_lanes(const TeamMember& team, int n, Body body) {
  using Value = std::decay_t<decltype(body(0))>;
  Value sum = 0;
  if constexpr (detail::team_on_host<TeamMember>) {
    const detail::LaneRange own = detail::own_lanes(team, n);
    RIDGELINE_SIMD(reduction(+ : sum))
    for (int i = own.begin; i < own.end; ++i) sum += body(i);
    if (team.team_size() > 1) team.team_reduce(Kokkos::Sum<Value>(sum));
  } else {
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, n), [&](const int i, Value& partial) { partial += body(i); }, sum);
  }
  return sum;
}

template <class Value>
struct FourSums {
  Value first, second, third, fourth;
};

/// Four sums as sum_lanes makes them, of what four bodies give: on a CPU in one pass, where the additions of one do not
/// wait for those of another, and what the bodies share is read once.
template <class TeamMember, class A, class B, class C, class D>
KOKKOS_FORCEINLINE_FUNCTION auto sum_lanes(const TeamMember& team, int n, A a, B b, C c, D d) {
  using Value = std::decay_t<decltype(a(0))>;
  if constexpr (detail::team_on_host<TeamMember>) {
    if (team.team_size() == 1) {
      Value first = 0, second = 0, third = 0, fourth = 0;
      RIDGELINE_SIMD(reduction(+ : first, second, third, fourth))
      for (int i = 0; i < n; ++i) {
        first += a(i);
        second += b(i);
        third += c(i);
        fourth += d(i);
      }
      return FourSums<Value>{first, second, third, fourth};
    }
  }
  return FourSums<Value>{sum_lanes(team, n, a), sum_lanes(team, n, b), sum_lanes(team, n, c), sum_lanes(team, n, d)};
}

/// The largest of body(i) over i in 0..n, the same on every lane of the team; the lowest finite value for n = 0 and
/// where all are -infinity, so that exp(value - largest) is never NaN for want of a finite value. All lanes call it.
/// NaN among the values may or may not win.
template <class TeamMember, class Body>
KOKKOS_FORCEINLINE_FUNCTION auto max_lanes(const TeamMember& team, int n, Body body) {
  using Value = std::decay_t<decltype(body(0))>;
  constexpr Value lowest = Kokkos::reduction_identity<Value>::max();  // as numeric_limits has it, for devices too
  Value largest = lowest;
  if constexpr (detail::team_on_host<TeamMember>) {
    const detail::LaneRange own = detail::own_lanes(team, n);
    RIDGELINE_SIMD(reduction(max : largest))
    for (int i = own.begin; i < own.end; ++i) {
      const Value value = body(i);
      largest = value > largest ? value : largest;
    }
    if (team.team_size() > 1) team.team_reduce(Kokkos::Max<Value>(largest));
  } else {
    Kokkos::parallel_reduce(
        Kokkos::TeamVectorRange(team, n),
        [&](const int i, Value& partial) {
          const Value value = body(i);
          partial = value > partial ? value : partial;
        },
        Kokkos::Max<Value>(largest));
  }
  return largest;
}

}  // namespace ridgeline

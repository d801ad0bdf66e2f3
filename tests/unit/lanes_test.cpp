// for_lanes, sum_lanes and max_lanes inside a team, against plain loops.

#include "math/lanes.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/kokkos.hpp"

namespace ridgeline {
namespace {

constexpr int rows = 5;

struct Result {
  Kokkos::View<float**, Kokkos::LayoutRight, Memory> values;
  Kokkos::View<float*, Memory> sum, largest;
};

struct Kernel {
  Result out;
  int columns;

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int row = team.league_rank();
    for_lanes(team, columns, [&](int i) { out.values(row, i) = static_cast<float>((i * 37 + row) % 101 - 50); });
    team.team_barrier();
    const float sum = sum_lanes(team, columns, [&](int i) { return out.values(row, i); });
    const float largest = max_lanes(team, columns, [&](int i) { return out.values(row, i); });
    // Every lane has the results: a lane that had not would spoil its elements.
    for_lanes(team, columns, [&](int i) { out.values(row, i) += sum + largest; });
    Kokkos::single(Kokkos::PerTeam(team), [&] {
      out.sum(row) = sum;
      out.largest(row) = largest;
    });
  }
};

void check(int columns, int team_size) {
  SCOPED_TRACE(::testing::Message() << columns << " columns, teams of " << team_size);
  const Result out{decltype(Result::values)("values", rows, columns), decltype(Result::sum)("sum", rows),
                   decltype(Result::largest)("largest", rows)};
  const Kernel kernel{out, columns};
  Kokkos::parallel_for("lanes_test", TeamPolicy(rows, team_size), kernel);
  const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), kernel.out.values);
  const auto sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), kernel.out.sum);
  const auto maxima = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), kernel.out.largest);
  for (int row = 0; row < rows; ++row) {
    float sum = 0;
    float largest = std::numeric_limits<float>::lowest();
    for (int i = 0; i < columns; ++i) {
      const auto value = static_cast<float>((i * 37 + row) % 101 - 50);
      sum += value;  // whole numbers: exact in any order
      largest = std::max(largest, value);
    }
    EXPECT_EQ(sums(row), sum);
    EXPECT_EQ(maxima(row), largest);
    for (int i = 0; i < columns; ++i)
      ASSERT_EQ(values(row, i), static_cast<float>((i * 37 + row) % 101 - 50) + (sum + largest)) << i;
  }
}

TEST(Lanes, AgreeWithPlainLoopsAtAnyLength) {
  for (int columns : {0, 1, 7, 16, 17, 128, 1000}) check(columns, 1);
}

TEST(Lanes, ShareOutTheLoopAmongTheThreadsOfATeam) {
  const Kernel kernel{{}, 0};
  if (TeamPolicy(rows, 1).team_size_max(kernel, Kokkos::ParallelForTag()) < 2)
    GTEST_SKIP() << "teams are of one thread";
  for (int columns : {0, 1, 7, 128, 1000}) check(columns, 2);
}

/// Not inside the test, whose body is a private member: device compilers refuse a kernel there.
float largest_of_minus_infinities() {
  Kokkos::View<float*, Memory> largest("largest", 1);
  Kokkos::parallel_for(
      "lanes_test", TeamPolicy(1, 1), KOKKOS_LAMBDA(const Team& team) {
        const float found = max_lanes(team, 9, [&](int) { return -HUGE_VALF; });
        Kokkos::single(Kokkos::PerTeam(team), [&] { largest(0) = found; });
      });
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), largest);
  return host(0);
}

TEST(Lanes, LargestOfNothingButMinusInfinityIsFinite) {
  EXPECT_EQ(largest_of_minus_infinities(), std::numeric_limits<float>::lowest());
}

}  // namespace
}  // namespace ridgeline

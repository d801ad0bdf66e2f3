// Whether races are seen, and nothing else: kernels, reductions and teams that wait for each other as they should, and
// then, where it is asked for, one that does not.
//
// usage: race [none|kernel|team]
#include <Kokkos_Core.hpp>
#include <string>

namespace {

constexpr int length = 64, teams = 4, part = length / teams;

using Policy = Kokkos::TeamPolicy<>;
using Numbers = Kokkos::View<int*>;

void write_and_read_in_teams(Numbers x, Numbers y, bool wait) {
  Kokkos::parallel_for(
      "race/team", Policy(teams, 2), KOKKOS_LAMBDA(const Policy::member_type& team) {
        const int begin = part * team.league_rank();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, part), [&](int i) { x(begin + i) = i; });
        if (wait) team.team_barrier();
        Kokkos::parallel_for(Kokkos::TeamThreadRange(team, part),
                             [&](int i) { y(begin + i) = x(begin + part - 1 - i); });
      });
}

void wait_for_each_other(Numbers x, Numbers y) {
  for (int round = 0; round < 1000; ++round) {
    Kokkos::parallel_for(
        "race/fill", length, KOKKOS_LAMBDA(int i) { x(i) = i + round; });
    Kokkos::parallel_for(
        "race/turn", length, KOKKOS_LAMBDA(int i) { y(i) = x(length - 1 - i); });
    int sum = 0;
    Kokkos::parallel_reduce(
        "race/sum", length, KOKKOS_LAMBDA(int i, int& part_sum) { part_sum += y(i); }, sum);
    y(0) = x(length - 1) + sum;
    write_and_read_in_teams(x, y, true);
  }
}

}  // namespace

int main(int count, char** arguments) {
  const Kokkos::ScopeGuard kokkos(count, arguments);
  const std::string race = count > 1 ? arguments[1] : "";
  const Numbers x("x", length), y("y", length);
  wait_for_each_other(x, y);
  if (race == "kernel")
    Kokkos::parallel_for(
        "race/kernel", length, KOKKOS_LAMBDA(int i) { x(0) += i; });
  if (race == "team") write_and_read_in_teams(x, y, false);
}

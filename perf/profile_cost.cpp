// What `run --profile` costs: a training step of a deck with the profile, while its trace is recorded and after that,
// beside one without. All in one process, a few steps in turn, so that what else the machine does meets all.
//
// usage: profile_cost DECK [--rounds 40] [--set SECTION.KEY=VALUE]...
// Prints the median and the lower quantiles of each, in milliseconds, and the ratios.
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "core/region.hpp"
#include "driver/profile.hpp"
#include "driver/session.hpp"

namespace {

using namespace ridgeline;

constexpr int steps_a_round = 10;  // of each kind, after two that do not count

struct Arguments {
  std::string deck;
  std::vector<Override> overrides;
  int rounds = 40;
};

enum Kind { without, traced, profiled, kind_count };

/// Milliseconds of the next steps.
template <class Scalar>
void clock(Trainer<Scalar>& trainer, Kind kind, std::vector<double>& times) {
  std::optional<Profile> profile;
  if (kind != without) profile.emplace(kind == traced ? 2 + steps_a_round : 0, 1.0);
  const Region region("epoch");
  for (int i = 0; i < 2 + steps_a_round; ++i) {
    const double began = wall_time();
    trainer.step();
    if (i >= 2) times.push_back(1e3 * (wall_time() - began));
  }
}

double quantile(std::vector<double> times, double part) {
  const auto place = times.begin() + static_cast<std::ptrdiff_t>(part * static_cast<double>(times.size() - 1));
  std::nth_element(times.begin(), place, times.end());
  return *place;
}

template <class Scalar>
void measure(const Experiment& experiment, int rounds) {
  Session<Scalar> session(experiment);
  std::vector<double> times[kind_count], unused;
  clock(session.trainer(), without, unused);
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < kind_count; ++i) {
      const Kind kind = static_cast<Kind>((i + round) % kind_count);
      clock(session.trainer(), kind, times[kind]);
    }
  fmt::print("{:<15} {:>12} {:>12} {:>12}\n", "", "without", "traced", "profiled");
  for (const auto& [name, part] :
       {std::pair{"median", 0.5}, std::pair{"lower quartile", 0.25}, std::pair{"lowest tenth", 0.1}}) {
    const double base = quantile(times[without], part), trace = quantile(times[traced], part),
                 profile = quantile(times[profiled], part);
    fmt::print("{:<15} {:>9.4f} ms {:>9.4f} ms {:>9.4f} ms   ratios {:.4f} {:.4f}\n", name, base, trace, profile,
               trace / base, profile / base);
  }
}

}  // namespace

int main(int count, char** values) try {
  Arguments arguments;
  for (int i = 1; i < count; ++i) {
    const std::string argument = values[i];
    if (argument == "--rounds" && i + 1 < count)
      arguments.rounds = std::stoi(values[++i]);
    else if (argument == "--set" && i + 1 < count)
      arguments.overrides.push_back(Override::parse(values[++i]));
    else
      arguments.deck = argument;
  }
  if (arguments.deck.empty()) {
    fmt::print(stderr, "usage: profile_cost DECK [--rounds 40] [--set SECTION.KEY=VALUE]...\n");
    return 2;
  }
  const KokkosScope kokkos;
  const Experiment experiment = read_experiment(Deck::read(arguments.deck), arguments.overrides);
  if (experiment.single_precision)
    measure<float>(experiment, arguments.rounds);
  else
    measure<double>(experiment, arguments.rounds);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "profile_cost: {}\n", error.what());
  return 2;
}

// task = sine, the founding experiment of functional attention: regress y = α sin(x - γ) over a grid from a few points
// whose y is shown. Input channels: x, the shown y (0 elsewhere), and optionally 1 where it is shown.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "config/text.hpp"
#include "core/random.hpp"
#include "data/task.hpp"

namespace ridgeline {
namespace {

/// Points first, first + step, … below `past`. The last is not gained or lost to rounding: a distance to `past` of a
/// billionth of a step, or of what the rounding of three decimal numbers makes, counts as none.
double count_points(double first, double past, double step) {
  const double steps = (past - first) / step;
  if (!std::isfinite(steps)) return std::numeric_limits<double>::infinity();
  const double rounding = std::numeric_limits<double>::epsilon() * ((std::abs(first) + std::abs(past)) / step + steps);
  return std::max(1.0, std::ceil(steps - 1e-9 - rounding));
}

class Sine final : public Task {
 public:
  Sine(const OptionValues& data, const OptionValues& set, std::uint64_t seed, const std::string& purpose)
      : set_(set),
        samples_(static_cast<int>(set.integer("functions"))),
        context_(static_cast<int>(set.integer("context"))),
        mask_channel_(data.flag("mask_channel")),
        first_(set.reals("x")[0]),
        step_(set.reals("x")[2]),
        amplitude_(interval(set, "amplitude")),
        phase_(interval(set, "phase")),
        amplitudes_(seed, purpose + "/amplitude"),
        phases_(seed, purpose + "/phase"),
        contexts_(seed, purpose + "/context") {
    const double past = set.reals("x")[1];
    if (!(step_ > 0)) throw set.mistake("x", "has a step that is not above 0; it takes first, past the last, step.");
    if (!(past > first_))
      throw set.mistake("x", "has its last not above its first; it takes first, past the last, step.");
    const double points = count_points(first_, past, step_);
    if (points > 1e9)
      throw set.mistake("x", fmt::format("makes {:.3g} points a function; at most a billion can be indexed.", points));
    tokens_ = static_cast<int>(points);
    if (context_ > tokens_)
      throw set.mistake("context", fmt::format("is more than a function has: {}.", count_text(tokens_, "point")));
  }

  int samples() const override { return samples_; }
  int tokens() const override { return tokens_; }
  int shown_tokens() const override { return context_; }
  std::vector<std::string> channel_names() const override {
    return mask_channel_ ? std::vector<std::string>{"x", "shown y", "shown"} : std::vector<std::string>{"x", "shown y"};
  }
  std::vector<std::string> target_names() const override { return {"y"}; }

  void check_magnitude(double largest, const std::string& precision) const override {
    const auto check = [&](const std::string& name, double value) {
      if (std::abs(value) > largest)
        throw set_.mistake(name, fmt::format("reaches {}, beyond {}; it takes numbers of a magnitude up to {:.3g}.",
                                             number_text(value), precision, largest));
    };
    for (const double x : {first_, first_ + (tokens_ - 1) * step_}) check("x", x);
    for (const double amplitude : amplitude_) check("amplitude", amplitude);
  }

  void make(std::uint64_t index, double* inputs, double* targets, std::uint8_t* shown) const override {
    const double amplitude = amplitudes_.uniform(index, amplitude_[0], amplitude_[1]);
    const double phase = phases_.uniform(index, phase_[0], phase_[1]);
    choose_context(index, shown);
    for (int i = 0; i < tokens_; ++i) {
      const double x = first_ + i * step_;
      targets[i] = amplitude * std::sin(x - phase);
      *inputs++ = x;
      *inputs++ = shown[i] ? targets[i] : 0;
      if (mask_channel_) *inputs++ = shown[i];
    }
  }

 private:
  static std::vector<double> interval(const OptionValues& set, const std::string& name) {
    const std::vector<double>& bounds = set.reals(name);
    if (bounds[0] > bounds[1])
      throw set.mistake(name, "has its upper bound below its lower; it takes the lower first.");
    if (!std::isfinite(bounds[1] - bounds[0]))
      throw set.mistake(name, "has bounds further apart than double precision can hold.");
    return bounds;
  }

  /// Distinct points, each set of them as likely as any other (Floyd's method: no table of all points).
  void choose_context(std::uint64_t index, std::uint8_t* shown) const {
    std::fill(shown, shown + tokens_, std::uint8_t{0});
    for (int i = 0; i < context_; ++i) {
      const auto last = static_cast<std::uint32_t>(tokens_ - context_ + i);
      const std::uint64_t draw = index * static_cast<std::uint64_t>(context_) + static_cast<std::uint64_t>(i);
      const std::uint32_t point = contexts_.below(draw, last + 1);
      shown[shown[point] ? last : point] = 1;
    }
  }

  OptionValues set_;
  int samples_, context_, tokens_ = 0;
  bool mask_channel_;
  double first_, step_;
  std::vector<double> amplitude_, phase_;
  RandomStream amplitudes_, phases_, contexts_;
};

void declare_set(OptionSet& options) {
  options.integer("functions", 1000, "functions in the set").at_least(1).at_most(1e8);
  options.reals("x", {-6, 6, 0.1}, "the grid: first, past the last, step").count(3);
  options.reals("amplitude", {0.1, 5}, "α is drawn uniformly between these").count(2);
  options.reals("phase", {0, 3.141592653589793}, "γ is drawn uniformly between these").count(2).unit("radian");
  options.integer("context", 4, "points of each function whose y is shown").at_least(0).at_most(1e9);
}

TaskEntry sine() {
  TaskEntry entry;
  entry.name = "sine";
  entry.summary = "regress α sin(x - γ) from a few shown points";
  declare_set(entry.set_options);
  declare_set(entry.options);
  entry.options.flag("resample", false, "draw new functions for every epoch");
  entry.options.flag("mask_channel", false, "a third input channel: 1 where y is shown");
  entry.make = [](const OptionValues& data, const OptionValues& set, std::uint64_t seed, const std::string& purpose,
                  const Task*) { return std::make_unique<Sine>(data, set, seed, purpose); };
  return entry;
}

const bool registered = (TaskRegistry::instance().add(sine()), true);

}  // namespace
}  // namespace ridgeline

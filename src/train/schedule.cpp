#include "train/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ridgeline {
namespace {

/// Half a cosine from `begin` (progress 0) to `end` (progress 1).
double anneal(double begin, double end, double progress) {
  return end + (begin - end) / 2 * (1 + std::cos(3.14159265358979323846 * progress));
}

}  // namespace

Schedule schedule_named(const std::string& name) {
  if (name == "constant") return Schedule::constant;
  if (name == "cosine") return Schedule::cosine;
  if (name == "one_cycle") return Schedule::one_cycle;
  throw std::logic_error("no schedule is named " + name);
}

double learning_rate(Schedule schedule, double rate, std::int64_t step, std::int64_t steps) {
  const double now = static_cast<double>(step), all = static_cast<double>(steps);
  if (schedule == Schedule::cosine) return anneal(rate, 0, now / all);
  if (schedule == Schedule::constant) return rate;
  const double first = rate / 25, last = first / 1e4;
  const double top = std::max(0.0, 0.3 * all - 1), end = std::max(1.0, all - 1);
  if (now <= top) return anneal(first, rate, top > 0 ? now / top : 1);
  return anneal(rate, last, (now - top) / std::max(1.0, end - top));
}

}  // namespace ridgeline

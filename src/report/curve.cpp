#include "report/curve.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace ridgeline::report {

std::vector<Point> thinned(const std::vector<Point>& curve, std::size_t most) {
  if (curve.size() <= most) {
    return curve;
  }
  std::vector<Point> kept;
  const std::size_t stretches = std::max<std::size_t>(most / 2, 1);
  for (std::size_t stretch = 0; stretch < stretches; ++stretch) {
    const auto begin = curve.begin() + static_cast<std::ptrdiff_t>(stretch * curve.size() / stretches);
    const auto end = curve.begin() + static_cast<std::ptrdiff_t>((stretch + 1) * curve.size() / stretches);
    const auto [low, high] =
        std::minmax_element(begin, end, [](const Point& left, const Point& right) { return left.y < right.y; });
    kept.push_back(*std::min(low, high));
    if (low != high) {
      kept.push_back(*std::max(low, high));
    }
  }
  return kept;
}

void Range::include(double value) {
  if (!std::isfinite(value)) {
    return;
  }
  low = is_empty ? value : std::min(low, value);
  high = is_empty ? value : std::max(high, value);
  is_empty = false;
}

Range Range::padded(double fraction) const {
  if (is_empty) {
    return {-1, 1, false};
  }
  // gnuplot cannot draw a range much narrower than its numbers' digits.
  const double least = std::max(1e-6 * std::max(std::abs(low), std::abs(high)), 1e-30);
  const double margin = length() > least ? fraction * length() : std::max(0.5 * std::abs(high), 1.0);
  return {low - margin, high + margin, false};
}

std::string columns(const std::vector<Point>& curve) {
  std::string text;
  for (const Point& point : curve) {
    text += std::isfinite(point.x) && std::isfinite(point.y) ? fmt::format("{:.7g} {:.7g}\n", point.x, point.y) : "\n";
  }
  return text;
}

bool has_finite(const std::vector<Point>& curve) {
  return std::any_of(curve.begin(), curve.end(),
                     [](const Point& point) { return std::isfinite(point.x) && std::isfinite(point.y); });
}

}  // namespace ridgeline::report

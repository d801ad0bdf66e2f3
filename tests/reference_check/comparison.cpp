#include "comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ridgeline::reference {

double largest_magnitude(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

double relative_error(const std::vector<double>& a, const std::vector<double>& b, double largest) {
  double difference = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (std::isnan(a[i])) return a[i];
    difference = std::max(difference, std::abs(a[i] - b[i]));
  }
  const double own = largest_magnitude(b);
  const double scale = own > 1e-14 * largest ? own : largest;
  return scale > 0 ? difference / scale : difference;
}

void Worst::add(const std::string& what, double error, double allowed) {
  const double share = std::isnan(error) ? std::numeric_limits<double>::infinity() : error / allowed;
  if (share <= share_) return;
  share_ = share;
  error_ = error;
  allowed_ = allowed;
  what_ = what;
}

}  // namespace ridgeline::reference

#include "core.hpp"

#include <algorithm>
#include <cmath>

#include "conform/gradient_check.hpp"

namespace ridgeline::support {

CoreInputs::CoreInputs(int embed, int out, const Shape& shape)
    : queries(random_tokens(shape, embed, 1)),
      keys_values(random_tokens(shape, embed + out, 2)),
      gradient(random_tokens(shape, out, 3)) {}

double distance(const std::vector<double>& a, const std::vector<double>& b, double at_least) {
  double difference = 0, largest = at_least;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (!std::isfinite(a.at(i)) || !std::isfinite(b[i])) return INFINITY;
    difference = std::max(difference, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return difference / largest;
}

}  // namespace ridgeline::support

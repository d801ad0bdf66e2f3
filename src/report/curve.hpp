// A function's values as a line to draw.

#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace ridgeline::report {

struct Point {
  double x = 0;
  double y = 0;
};

/// At most about `most` points that look the same: of each stretch of a longer curve its lowest and highest point.
std::vector<Point> thinned(const std::vector<Point>& curve, std::size_t most);

/// The finite range of one or several curves' values.
struct Range {
  double low = 0;
  double high = 0;
  bool is_empty = true;
  void include(double value);
  /// Widened by a fraction of its length on both sides; around a single value, by something fitting.
  Range padded(double fraction) const;
  double length() const { return high - low; }
};

/// Two columns of text; a line of its own, empty, where a value is not finite, so that the drawn line breaks.
std::string columns(const std::vector<Point>& curve);

bool has_finite(const std::vector<Point>& curve);

}  // namespace ridgeline::report

// Figures of merit of a set, and metrics.json.
#pragma once

#include <filesystem>
#include <limits>
#include <string>
#include <vector>

namespace ridgeline {

/// NaN where a figure does not exist (no point is shown when `context = 0`): null in JSON.
struct Metrics {
  double mse = std::numeric_limits<double>::quiet_NaN();         // mean squared error over all points
  double mse_hidden = std::numeric_limits<double>::quiet_NaN();  // over the points whose y is not shown
  double mse_shown = std::numeric_limits<double>::quiet_NaN();   // over the points whose y is shown
  double relative_l2 =
      std::numeric_limits<double>::quiet_NaN();  // mean over functions of |prediction - truth| / |truth|
};

struct SetMetrics {
  std::string set;
  Metrics untrained;
  Metrics trained;
};

/// {"untrained": {SET: {"mse": …, "mse_hidden": …, "mse_shown": …, "relative_l2": …}, …}, "trained": {…}} with the sets
/// in the order given, numbers with every bit, a line break at the end.
std::string metrics_json(const std::vector<SetMetrics>& sets);

/// Writes metrics_json atomically. Throws Error(Exit::file).
void write_metrics(const std::filesystem::path& path, const std::vector<SetMetrics>& sets);

}  // namespace ridgeline

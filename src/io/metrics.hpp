// Figures of merit of a set, and metrics.json.
#pragma once

#include <filesystem>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace ridgeline {

/// A figure of merit that a task may have: what files and people call it.
struct MetricKind {
  const char* name;         ///< in files: "mse_hidden"
  const char* label;        ///< in a table on the screen: "mse hidden"
  const char* heading;      ///< over a table's column, as HTML: "MSE, hidden points"
  const char* title;        ///< in words: "mean squared error over hidden points"
  const char* explanation;  ///< a sentence below a table, as HTML; empty where the heading says it all
  bool larger_is_better;
};

/// Every figure that there is; those of one task in the order in which they are shown.
const std::vector<MetricKind>& metric_kinds();

/// nullptr where there is none of this name.
const MetricKind* find_metric(const std::string& name);

/// A set's figures by name, the one that curves and comparisons show first. NaN where a figure does not exist (no point
/// is shown when `context = 0`): null in JSON.
class Metrics {
 public:
  using Entry = std::pair<std::string, double>;

  Metrics() = default;
  Metrics(std::initializer_list<Entry> entries) : entries_(entries) {}

  bool has(const std::string& name) const;
  /// NaN where there is none of this name.
  double operator[](const std::string& name) const;
  void add(std::string name, double value) { entries_.emplace_back(std::move(name), value); }

  const std::vector<Entry>& entries() const { return entries_; }
  bool empty() const { return entries_.empty(); }

 private:
  std::vector<Entry> entries_;
};

struct SetMetrics {
  std::string set;
  Metrics untrained;
  Metrics trained;
};

/// The kinds of figure that any of the sets has, in metric_kinds' order.
std::vector<MetricKind> kinds_of(const std::vector<SetMetrics>& sets);

/// {"untrained": {SET: {"mse": …, "mse_hidden": …, …}, …}, "trained": {…}} with the sets in the order given, numbers with
/// every bit, a line break at the end.
std::string metrics_json(const std::vector<SetMetrics>& sets);

/// Writes metrics_json atomically. Throws Error(Exit::file).
void write_metrics(const std::filesystem::path& path, const std::vector<SetMetrics>& sets);

}  // namespace ridgeline

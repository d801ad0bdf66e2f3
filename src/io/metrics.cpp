#include "io/metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "io/files.hpp"
#include "io/json.hpp"

namespace ridgeline {

const std::vector<MetricKind>& metric_kinds() {
  static const std::vector<MetricKind> kinds{
      {"mse", "mse", "MSE, all points", "mean squared error", "MSE: mean squared error.", false},
      {"mse_hidden", "mse hidden", "MSE, hidden points", "mean squared error over hidden points", "", false},
      {"mse_shown", "mse shown", "MSE, shown points", "mean squared error over shown points",
       "“–”: there are no such points.", false},
      {"relative_l2", "relative L2", "relative L<sub>2</sub>", "relative L2 error",
       "Relative L<sub>2</sub>: the mean over functions of ‖prediction − truth‖ / ‖truth‖.", false},
      {"bits_per_dimension", "bits/dim", "bits per dimension", "bits per dimension",
       "Bits per dimension: how much of a surprise a pixel's level in a channel is to the model, −log<sub>2</sub> of "
       "its "
       "probability, the mean over all of them.",
       false},
      {"cross_entropy", "cross-entropy", "cross-entropy", "cross-entropy",
       "Cross-entropy: the same with the natural logarithm, as the loss is.", false},
      {"accuracy", "accuracy", "accuracy", "accuracy", "Accuracy: how often the most probable level is the true one.",
       true}};
  return kinds;
}

const MetricKind* find_metric(const std::string& name) {
  const std::vector<MetricKind>& kinds = metric_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const MetricKind& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

bool Metrics::has(const std::string& name) const {
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.first == name; });
}

double Metrics::operator[](const std::string& name) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.first == name; });
  return found == entries_.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
}

std::vector<MetricKind> kinds_of(const std::vector<SetMetrics>& sets) {
  std::vector<MetricKind> found;
  for (const MetricKind& kind : metric_kinds())
    if (std::any_of(sets.begin(), sets.end(),
                    [&](const SetMetrics& set) { return set.untrained.has(kind.name) || set.trained.has(kind.name); }))
      found.push_back(kind);
  return found;
}

namespace {

std::string object(const std::vector<SetMetrics>& sets, Metrics SetMetrics::*which) {
  std::string text = "{";
  for (const SetMetrics& set : sets) {
    std::string figures;
    for (const auto& [name, value] : (set.*which).entries())
      figures += fmt::format("{}{}: {}", figures.empty() ? "" : ", ", json_text(name), json_number(value));
    text += fmt::format("{}\n    {}: {{{}}}", text.size() > 1 ? "," : "", json_text(set.set), figures);
  }
  return text + (sets.empty() ? "}" : "\n  }");
}

}  // namespace

std::string metrics_json(const std::vector<SetMetrics>& sets) {
  return fmt::format("{{\n  \"untrained\": {},\n  \"trained\": {}\n}}\n", object(sets, &SetMetrics::untrained),
                     object(sets, &SetMetrics::trained));
}

void write_metrics(const std::filesystem::path& path, const std::vector<SetMetrics>& sets) {
  write_atomically(path, metrics_json(sets));
}

}  // namespace ridgeline

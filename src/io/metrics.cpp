#include "io/metrics.hpp"

#include <fmt/format.h>

#include "io/files.hpp"
#include "io/json.hpp"

namespace ridgeline {

namespace {

std::string object(const std::vector<SetMetrics>& sets, Metrics SetMetrics::*which) {
  std::string text = "{";
  for (const SetMetrics& set : sets) {
    const Metrics& metrics = set.*which;
    text +=
        fmt::format("{}\n    {}: {{\"mse\": {}, \"mse_hidden\": {}, \"mse_shown\": {}, \"relative_l2\": {}}}",
                    text.size() > 1 ? "," : "", json_text(set.set), json_number(metrics.mse),
                    json_number(metrics.mse_hidden), json_number(metrics.mse_shown), json_number(metrics.relative_l2));
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

#include "io/metrics.hpp"

#include <cmath>

#include <fmt/format.h>

#include "io/files.hpp"

namespace ridgeline {

namespace {

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(letter));
    } else {
      result += letter;
    }
  }
  return result + "\"";
}

/// The shortest decimal that reads back to the same bits; JSON has no word for what is not finite.
std::string number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

std::string object(const std::vector<SetMetrics>& sets, Metrics SetMetrics::*which) {
  std::string text = "{";
  for (const SetMetrics& set : sets) {
    const Metrics& metrics = set.*which;
    text += fmt::format("{}\n    {}: {{\"mse\": {}, \"mse_hidden\": {}, \"mse_shown\": {}, \"relative_l2\": {}}}",
                        text.size() > 1 ? "," : "", quoted(set.set), number(metrics.mse), number(metrics.mse_hidden),
                        number(metrics.mse_shown), number(metrics.relative_l2));
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

// The conformance kit: every check on every case of a layer, and what it says of them.
#pragma once

#include <string>
#include <vector>

#include "conform/cases.hpp"

namespace ridgeline::conform {

/// What a check came to, over all cases.
struct Outcome {
  const Check* check;
  Finding finding;            ///< of the first case that fails; not applicable where it is in every case
  std::optional<Case> tried;  ///< that case
  int cases = 0;              ///< to which the check applied
};

struct Conformance {
  LayerName layer;
  std::vector<Outcome> outcomes;
  std::vector<std::string> refused;  ///< as Cases
  double seconds = 0;

  int count(Finding::Result result) const;
  bool conforms() const { return count(Finding::Result::failed) == 0; }
};

/// Throws Error(Exit::mistake) where there is no such layer, an option is wrong, or the layer cannot be made.
Conformance examine(const LayerName& layer);

/// For people: a table, what failed in full, and a line that sums up. `plugins` stand in the commands that reproduce.
std::string report(const Conformance& conformance, const std::vector<std::string>& plugins);

/// For machines: {"layer": "KIND/NAME", "origin": …, "version": …, "options": {…}, "conforms": …, "seconds": …,
/// "passed": n, "failed": n, "not_applicable": n, "refused": […], "checks": [{"name": …, "purpose": …, "result":
/// "passed" | "failed" | "not applicable", "cases": n, "text": …, "number": … or null, "shape": {"batch": …, "tokens":
/// …, "inputs": …, "outputs": …} or null, "options": {…} or null, "command": … or null}, …]}, with a line break at the
/// end.
std::string report_json(const Conformance& conformance, const std::vector<std::string>& plugins);

}  // namespace ridgeline::conform

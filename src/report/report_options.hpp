// The keys of [report]: what the report of a run shows beyond what it always does.
#pragma once

#include <cstdint>
#include <vector>

#include "config/options.hpp"

namespace ridgeline {

OptionSet report_options();

/// The heads that `tisa_heads` names; empty for all. Throws Error(Exit::mistake) for what is no head.
std::vector<std::int64_t> asked_heads(const OptionValues& report);

/// Throws Error(Exit::mistake) where a value is none that can be shown of a model whose blocks have at most so many
/// `heads` with a bias by distance.
void check_report_options(const OptionValues& report, int heads);

}  // namespace ridgeline

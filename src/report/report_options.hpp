// The keys of [report]: what the report of a run shows beyond what it always does.
#pragma once

#include "config/options.hpp"

namespace ridgeline {

OptionSet report_options();

/// Throws Error(Exit::mistake) where a value is none that can be shown of a model whose blocks have at most so many
/// `heads` with a bias by distance.
void check_report_options(const OptionValues& report, int heads);

}  // namespace ridgeline

// The keys of [report]: what the report of a run shows beyond what it always does.
#pragma once

#include "config/options.hpp"

namespace ridgeline {

OptionSet report_options();

}  // namespace ridgeline

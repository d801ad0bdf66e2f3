// What the layer tests try.
#pragma once

#include <string>

#include "conform/cases.hpp"
#include "support/subject.hpp"

namespace ridgeline::support {

/// "attention/functional --option heads=3, 2 samples of 7 tokens, 5 to 3 channels", for messages.
std::string text(const LayerName& layer, const Sizes& sizes);

}  // namespace ridgeline::support

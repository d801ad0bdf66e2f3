// Where the time went, in a dozen words: data, each layer forward and backward, optimiser, evaluation, checkpoints.
#pragma once

#include <string>
#include <vector>

#include "core/region.hpp"

namespace ridgeline::report {

/// One part of a run. What is neither a layer's forward nor its backward pass is `other`.
struct TimeShare {
  std::string label;  // "block 0 attention", "data"
  double forward = 0;
  double backward = 0;
  double other = 0;
  double seconds() const { return forward + backward + other; }
};

/// The parts in the order in which a step goes through them, `rest` last: together they are the whole. The regions run,
/// eval, epoch and step are taken as wrappings of what is inside them; in forward and backward a part is a layer
/// ("encoder", "block 0 attention"); anything else is a part with all that is in it.
std::vector<TimeShare> time_summary(const std::vector<RegionTime>& regions);

}  // namespace ridgeline::report

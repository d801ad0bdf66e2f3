// Where the time went, as a tree: regions named by paths, with what is left over in each.

#pragma once

#include <string>
#include <vector>

#include "io/results.hpp"

namespace ridgeline::report {

/// A region, or the rest of one: the time spent in it and in none of the regions below.
struct TimeNode {
  std::string path;   // "train/forward/block 0/attention"
  std::string label;  // its last part; "(rest)" for a rest
  int depth = 0;      // 0: a top region
  double seconds = 0;
  double share = 0;        // of the whole time, 0 to 1
  std::int64_t calls = 0;  // 0: not counted
  bool is_leaf = false;    // nothing below it: the leaves' seconds add up to the whole
};

/// Parents before children, both in the order of first mention. A parent that is not listed takes the sum of its
/// children; a rest is listed where it is at least half a per cent of the whole. The whole is the top regions' sum.
std::vector<TimeNode> time_tree(const std::vector<RegionTime>& regions);

}  // namespace ridgeline::report

// What a call of a work launches: kernels, products and copies, with what they compute and move.
#pragma once

#include <functional>
#include <string>

namespace ridgeline::perf {

/// A JSON line: a list of "name", "place" (the regions around it), "calls", "operations" (of products and solves) and
/// "bytes" (of products and copies; elsewhere 0), each of one call of `work`, which was called before.
std::string launches_of(const std::function<void()>& work);

}  // namespace ridgeline::perf

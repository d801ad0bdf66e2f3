// Where perf/check counts instructions.
#pragma once

#include <functional>

// No C++ name, so that callgrind's options can say it: collection is switched on inside this function alone.
extern "C" void ridgeline_counted_call(const std::function<void()>& work);

namespace ridgeline::perf {

/// Calls the work twice so that memory and libraries are warm, then once to be counted, and prints the name: one line for
/// each dump that callgrind leaves.
void count(const char* name, const std::function<void()>& work);

}  // namespace ridgeline::perf

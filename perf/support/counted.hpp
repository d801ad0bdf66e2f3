// Where perf/check counts instructions.
#pragma once

#include <functional>

namespace ridgeline::perf {

/// Calls the work once so that memory and libraries are warm, then once to be counted, and prints the name. Under
/// callgrind that call leaves a dump of its own, where this was built with valgrind's headers.
void count(const char* name, const std::function<void()>& work);

}  // namespace ridgeline::perf

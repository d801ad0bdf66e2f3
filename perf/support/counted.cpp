#include "perf/support/counted.hpp"

#include <cstdio>

// Requests to callgrind are instructions that do nothing elsewhere.
#if __has_include(<valgrind/callgrind.h>)
#include <valgrind/callgrind.h>
#else
#define CALLGRIND_START_INSTRUMENTATION
#define CALLGRIND_STOP_INSTRUMENTATION
#define CALLGRIND_ZERO_STATS
#define CALLGRIND_DUMP_STATS
#endif

namespace ridgeline::perf {

void count(const char* name, const std::function<void()>& work) {
  work();
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  work();
  CALLGRIND_DUMP_STATS;
  CALLGRIND_STOP_INSTRUMENTATION;
  std::printf("%s\n", name);
  std::fflush(stdout);
}

}  // namespace ridgeline::perf

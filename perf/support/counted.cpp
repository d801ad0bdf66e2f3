#include "perf/support/counted.hpp"

#include <cstdio>

extern "C" __attribute__((noinline)) void ridgeline_counted_call(const std::function<void()>& work) { work(); }

namespace ridgeline::perf {

void count(const char* name, const std::function<void()>& work) {
  for (int i = 0; i < 2; ++i) work();
  ridgeline_counted_call(work);
  std::printf("%s\n", name);
  std::fflush(stdout);
}

}  // namespace ridgeline::perf

#include "perf/support/memory.hpp"

#include <fstream>
#include <limits>
#include <string>

#if defined(__GLIBC__)  // which the headers above say
#include <malloc.h>
#endif

namespace ridgeline::perf {
namespace {

double status_bytes(const std::string& wanted) {
  std::ifstream file("/proc/self/status");
  std::string key;
  while (file >> key) {
    double kibibytes = 0;
    if (key == wanted && file >> kibibytes) return 1024 * kibibytes;
    file.ignore(std::numeric_limits<std::streamsize>::max(), '\n');
  }
  return 0;
}

}  // namespace

double resident_bytes() { return status_bytes("VmRSS:"); }
double peak_bytes() { return status_bytes("VmHWM:"); }

void forget_peak() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
  std::ofstream("/proc/self/clear_refs") << "5\n";
}

}  // namespace ridgeline::perf

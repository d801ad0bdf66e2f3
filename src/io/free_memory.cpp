#include "io/free_memory.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <string>

namespace ridgeline {
namespace {

/// What a limit on the process (`ulimit -v`) leaves, or infinity. oneDNN writes its kernels when it first multiplies, and
/// crashes where it has no room for them.
double address_space_left() {
  constexpr double for_libraries = 32 * 0x1p20;
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<double>::infinity();
  double pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const double taken = pages * static_cast<double>(sysconf(_SC_PAGESIZE));
  return std::max(0.0, static_cast<double>(limit.rlim_cur) - taken - for_libraries);
}

/// What limits on the process or on its control group (a queue's) leave, or infinity.
double memory_limit() {
  double limit = address_space_left();
  double group = 0;
  if (std::ifstream("/sys/fs/cgroup/memory.max") >> group) limit = std::min(limit, group);  // "max" is no number
  return limit;
}

}  // namespace

double free_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  double kibibytes = 0;
  while (file >> key >> kibibytes) {
    std::getline(file, unit);
    if (key == "MemAvailable:") return std::min(kibibytes * 1024, memory_limit());
  }
  return memory_limit();
}

}  // namespace ridgeline

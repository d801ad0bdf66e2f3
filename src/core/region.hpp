// A named phase of the program: seen by Kokkos tools, and timed for the report.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline {

/// What one region cost, in itself and the regions inside it.
struct RegionTime {
  std::string name;  ///< a path, "train/forward/block 0/attention"
  double seconds = 0;
  std::int64_t calls = 0;
};

/// Opens a region for as long as it lives. Regions nest; the same name inside the same parent is one region. After its
/// first visit a region allocates nothing. Only the main thread opens regions, never inside a kernel.
class Region {
 public:
  explicit Region(const std::string& name);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
};

/// Every region visited so far, parents before their children, in the order of first visits; an open one as far as it
/// has come.
std::vector<RegionTime> region_times();

/// Forgets what was visited so far: from here on region_times tells of what comes. A region that is open begins anew.
void forget_regions();

/// Seconds of the monotonic clock.
double wall_time();

/// The moment of wall_time() at which the program was loaded.
double program_began();

}  // namespace ridgeline

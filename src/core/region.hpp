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

/// When the regions inside a region are timed. On a device kernels run behind the host's back: a time of their own takes
/// a wait, during which the host launches nothing. A region of many kernels that is visited again and again (a training
/// step) is therefore timed as one there, unless a tool listens, who asks for more.
enum class Parts { always_timed, timed_for_tools };

/// Opens a region for as long as it lives. Regions nest; the same name inside the same parent is one region. After its
/// first visit a region allocates nothing. Only the main thread opens regions, never inside a kernel.
class Region {
 public:
  explicit Region(const std::string& name, Parts parts = Parts::always_timed);
  ~Region();
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;

 private:
  bool timed_;
};

/// Every region visited so far, parents before their children, in the order of first visits; an open one as far as it
/// has come.
std::vector<RegionTime> region_times();

/// Forgets what was visited so far: from here on region_times tells of what comes. A region that is open begins anew.
void forget_regions();

namespace detail {
/// Whether regions wait for their kernels, as on a device. To be set by tests, outside all regions.
bool& regions_wait();
}  // namespace detail

/// Seconds of the monotonic clock.
double wall_time();

/// The moment of wall_time() at which the program was loaded.
double program_began();

}  // namespace ridgeline

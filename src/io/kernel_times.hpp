// Where the time of a run went, kernel by kernel: what `run --profile` measures, and its place in results.h5.
//
//   /time/kernels   attributes: seconds, operations_per_second; names, places, calls, seconds, operations: one entry a row
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "io/hdf5.hpp"

namespace ridgeline {

/// A kernel, or a call of a library, wherever in the run it has the same place.
struct KernelTime {
  std::string name;   ///< "ridgeline::gemm"
  std::string place;  ///< the regions around it, without run, epoch, step and the block: "forward/attention"
  std::int64_t calls = 0;
  double seconds = 0;
  double operations = 0;  ///< of all calls, floating-point, a multiply-add two; 0: not counted

  double operations_per_second() const { return seconds > 0 ? operations / seconds : 0; }
};

struct KernelTimes {
  double seconds = 0;                ///< of all that was measured, kernels or not
  double operations_per_second = 0;  ///< of a large product on this machine, in the run's precision
  std::vector<KernelTime> kernels;   ///< those with the most time first

  /// Whether people are shown it in a line of its own.
  bool is_large(const KernelTime& kernel) const { return kernel.seconds >= 0.01 * seconds; }
};

/// Inside hdf5::write_atomically, after write_time.
void write_kernel_times(hdf5::File& file, const KernelTimes& times);

/// Empty where the run was not profiled. Throws Error(Exit::file).
KernelTimes read_kernel_times(const hdf5::File& file);

}  // namespace ridgeline

// What the machine can do, measured in the minute in which something is measured against it.
#pragma once

namespace ridgeline::perf {

/// Two clocks: the one on the wall, and the processor time of all of the process's threads, which what else the machine
/// does does not lengthen. On one thread the two agree where nothing else runs; on several, waiting counts as work.
struct Clocks {
  double wall = 0;
  double processor = 0;
};

/// Seconds of both.
Clocks clocks();

/// GFLOP/s of gemm by each clock: of several large products the fastest one's median over a few tenths of a second.
template <class Scalar>
Clocks gemm_rate();

extern template Clocks gemm_rate<float>();
extern template Clocks gemm_rate<double>();

}  // namespace ridgeline::perf

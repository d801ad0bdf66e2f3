// How much memory there is to be had.
#pragma once

namespace ridgeline {

/// Bytes of main memory that may be had, or infinity where the system does not say: what is free, or what limits on the
/// process or its control group leave.
double free_memory();

}  // namespace ridgeline

// How much of the machine's memory this process has, as the kernel counts it.
#pragma once

namespace ridgeline::perf {

/// Bytes resident now, and the most since `forget_peak`. 0 where the system does not say.
double resident_bytes();
double peak_bytes();

/// Lets the peak begin anew at what is resident now; what was freed before is given back to the system.
void forget_peak();

}  // namespace ridgeline::perf

// The part of report.html that tells of kernels, where the run was profiled.
#pragma once

#include <string>

#include "io/kernel_times.hpp"

namespace ridgeline::report {

/// Heading, table and what it means; empty without kernels. Kernels that take little are folded away.
std::string kernel_section(const KernelTimes& times);

}  // namespace ridgeline::report

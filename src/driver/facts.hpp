// What was run, and on what: for the log, the report and --version.
#pragma once

#include <string>

#include "driver/experiment.hpp"
#include "io/results.hpp"

namespace ridgeline {

/// This machine's name.
std::string host_name();

/// Back end, Kokkos, threads and how they are bound, BLAS: a line each. After Kokkos was started.
std::string machine_text();

/// The report's facts of a run of an experiment that has `parameters` parameters and took `seconds`.
Facts facts_of(const Experiment& experiment, std::size_t parameters, double seconds);

}  // namespace ridgeline

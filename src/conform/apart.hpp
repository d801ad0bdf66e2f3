// An examination in child processes, so that no layer ends the program: whatever ends the process, or never comes back,
// is a check that failed.
#pragma once

#include <functional>
#include <string>

#include "conform/conformance.hpp"

namespace ridgeline::conform {

/// How long a layer may take to be made, or a check for one case.
constexpr double seconds_for_a_case = 120;

/// As examine, each process going on after the check in which another one ended. `surrounded` is called in a child, and
/// does the work that it is given with Kokkos there; this process must not have it. `progress` is told what is tried next.
/// Where a case does not come back, the checks after it are not tried. Throws as examine, Error(Exit::file) where there can
/// be no child or no folder for its temporary files, and what `surrounded` throws as Error.
Conformance examine_apart(const LayerName& layer,
                          const std::function<void(const std::function<void()>& work)>& surrounded,
                          const std::function<void(const std::string&)>& progress, double seconds = seconds_for_a_case);

}  // namespace ridgeline::conform

// What Ridgeline takes from Kokkos. Only this header and its source know versions of it.
#pragma once

#include <Kokkos_Core.hpp>
#include <string>
#include <vector>

#include "core/error.hpp"

namespace ridgeline {

/// Where kernels run, and where every tensor lives.
using Execution = Kokkos::DefaultExecutionSpace;
using Memory = Execution::memory_space;

using TeamPolicy = Kokkos::TeamPolicy<Execution>;
using Team = TeamPolicy::member_type;
using RangePolicy = Kokkos::RangePolicy<Execution>;

/// Whether host code may read the tensors' memory as it is.
inline constexpr bool host_reads_memory = Kokkos::SpaceAccessibility<Kokkos::HostSpace, Memory>::accessible;

/// Starts Kokkos with its own options (`--kokkos-…`) on `threads` threads (0: Kokkos' own choice). Its start-up warnings
/// (how threads are bound) are left to the program's log.
///
/// Throws Error(Exit::mistake) for an option that Kokkos does not know, or a value that it cannot read.
void start_kokkos(std::vector<std::string> options, int threads);

/// Kokkos from here to the end of a scope: what holds views lives inside it.
class KokkosScope {
 public:
  /// As start_kokkos.
  explicit KokkosScope(const std::vector<std::string>& options = {}, int threads = 0) {
    start_kokkos(options, threads);
  }
  ~KokkosScope() { Kokkos::finalize(); }
  KokkosScope(const KokkosScope&) = delete;
  KokkosScope& operator=(const KokkosScope&) = delete;
};

}  // namespace ridgeline

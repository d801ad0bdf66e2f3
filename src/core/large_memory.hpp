// Memory for the arrays that a training step goes through from end to end.
#pragma once

#include <cstddef>
#include <string>

#include "core/kokkos.hpp"

namespace ridgeline {

/// Asks the system to put this memory of the host on large pages, where it has any to give: before anything is written
/// there. A step goes through tens of megabytes, and a processor remembers where a few thousand pages are, which of
/// small ones is not enough.
void advise_large_pages(void* begin, std::size_t bytes);

/// A view of `length` numbers, on large pages where the system has them, not initialised.
template <class Scalar>
Kokkos::View<Scalar*, Memory> large_memory(const std::string& name, std::size_t length) {
  Kokkos::View<Scalar*, Memory> view(Kokkos::view_alloc(name, Kokkos::WithoutInitializing), length);
  if constexpr (host_reads_memory) advise_large_pages(view.data(), length * sizeof(Scalar));
  return view;
}

/// The same, all zero.
template <class Scalar>
Kokkos::View<Scalar*, Memory> large_zero_memory(const std::string& name, std::size_t length) {
  Kokkos::View<Scalar*, Memory> view = large_memory<Scalar>(name, length);
  Kokkos::deep_copy(view, Scalar(0));
  return view;
}

}  // namespace ridgeline

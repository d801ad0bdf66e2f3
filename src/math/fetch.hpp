// Numbers asked for before they are needed, where no processor foresees that they will be.
#pragma once

#include "core/kokkos.hpp"
#include "math/lanes.hpp"

namespace ridgeline {

/// Asks for `length` numbers in a row to come near, into the second cache. Nothing is read: the row may lie beyond its
/// array's end. Of use where a kernel goes through many short rows that lie far apart, each a cache line or a few, with
/// arithmetic between them; on a GPU other teams fill the wait, and nothing is done.
template <class Scalar>
KOKKOS_INLINE_FUNCTION void fetch([[maybe_unused]] const Scalar* row, [[maybe_unused]] int length) {
  if constexpr (detail::team_on_host<Team>) {
    constexpr int line = 64 / sizeof(Scalar), to_read = 0, second_cache = 2;
    for (int i = 0; i < length; i += line) __builtin_prefetch(row + i, to_read, second_cache);
  }
}

}  // namespace ridgeline

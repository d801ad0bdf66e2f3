#include "core/large_memory.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif

#include <cstdint>

namespace ridgeline {

void advise_large_pages([[maybe_unused]] void* begin, [[maybe_unused]] std::size_t bytes) {
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  constexpr std::uintptr_t large = std::uintptr_t{2} << 20;  // and where large pages are larger, the advice is ignored
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + large - 1) / large * large, last = (address + bytes) / large * large;
  // Advice: where it is not taken, the memory is as good, only slower.
  if (first < last) madvise(static_cast<char*>(begin) + (first - address), last - first, MADV_HUGEPAGE);
#endif
}

}  // namespace ridgeline

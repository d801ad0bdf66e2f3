// How a kernel tells the host that something went wrong, without a copy of its own.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/tensor.hpp"

namespace ridgeline {

/// One slot of 64 bits in device memory. A kernel that cannot go on raises it with where (which of many small systems)
/// and a number (the pivot that failed); of several the smallest `where` stays, whatever the order of threads. The
/// driver reads all slots once a step, together with the loss.
class Signal {
 public:
  static constexpr std::uint64_t silent = ~std::uint64_t{0};

  struct Content {
    bool raised = false;
    std::uint32_t where = 0;
    float number = 0;
  };

  Signal() = default;
  explicit Signal(std::uint64_t* slot) : slot_(slot) {}

  KOKKOS_INLINE_FUNCTION void raise(std::uint32_t where, float number) const {
    std::uint32_t bits;
    memcpy(&bits, &number, sizeof bits);
    Kokkos::atomic_fetch_min(reinterpret_cast<unsigned long long*>(slot_),
                             static_cast<unsigned long long>(where) << 32 | bits);
  }

  static Content decode(std::uint64_t slot) {
    Content content;
    content.raised = slot != silent;
    content.where = static_cast<std::uint32_t>(slot >> 32);
    const std::uint32_t bits = static_cast<std::uint32_t>(slot);
    std::memcpy(&content.number, &bits, sizeof bits);
    return content;
  }

 private:
  std::uint64_t* slot_ = nullptr;
};

}  // namespace ridgeline

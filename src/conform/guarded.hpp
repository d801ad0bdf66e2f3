// Memory with guard zones around what a layer is given of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "conform/subject.hpp"

namespace ridgeline::conform {

constexpr std::size_t guard_bytes = 1024;

/// What memory is filled with before a layer has it: all bits set, which in every precision is a NaN.
constexpr char untouched = static_cast<char>(0xff);

/// Whether all bytes but those of the pieces are untouched.
inline bool guards_hold(const Kokkos::View<char*, Memory>& memory, const std::vector<Arena::Piece>& pieces) {
  std::vector<char> bytes = host_copy(memory);
  for (const Arena::Piece& piece : pieces)
    std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(piece.begin), piece.size, untouched);
  return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return byte == untouched; });
}

/// Numbers on the device with guard zones around them.
template <class Scalar>
class GuardedNumbers {
 public:
  /// Untouched as well where there are no values.
  explicit GuardedNumbers(std::size_t count, const std::vector<double>& values = {})
      : count_(count), memory_("ridgeline::conform/guarded", 2 * guard_bytes + count * sizeof(Scalar)) {
    Kokkos::deep_copy(memory_, untouched);
    if (!values.empty()) Kokkos::deep_copy(numbers(), to_device<Scalar>(values));
  }

  Scalar* data() const { return reinterpret_cast<Scalar*>(memory_.data() + guard_bytes); }
  std::vector<double> values() const {
    const Kokkos::View<Scalar*, Memory> copy("ridgeline::conform/values", count_);
    Kokkos::deep_copy(copy, numbers());
    return to_host<Scalar>(copy);
  }
  bool guards_hold() const { return conform::guards_hold(memory_, {{guard_bytes, count_ * sizeof(Scalar)}}); }

 private:
  Vector<Scalar> numbers() const { return Vector<Scalar>(data(), count_); }

  std::size_t count_;
  Kokkos::View<char*, Memory> memory_;
};

}  // namespace ridgeline::conform

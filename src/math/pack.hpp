// Vector registers of a CPU as values, for kernels that have to keep blocks of sums in registers: what a loop under
// RIDGELINE_SIMD leaves to the compiler. Not there where kernels run on a GPU.
#pragma once

#include <Kokkos_Core.hpp>

#include <cmath>
#include <cstdint>
#include <cstring>

#if !defined(KOKKOS_ENABLE_CUDA) && !defined(KOKKOS_ENABLE_HIP) && !defined(KOKKOS_ENABLE_SYCL)
#define RIDGELINE_HAS_PACKS

namespace ridgeline {

/// `Count` numbers; arithmetic, comparisons and ?: go entry by entry, and a single number stands for as many of it.
template <class Scalar, int Count>
struct PackOf {
  using Number [[gnu::vector_size(Count * sizeof(Scalar))]] = Scalar;
};
template <class Scalar, int Count>
using Pack = typename PackOf<Scalar, Count>::Number;

#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
inline constexpr int register_count = 32;
#elif defined(__AVX__)
inline constexpr int register_bytes = 32;
inline constexpr int register_count = 16;
#else
inline constexpr int register_bytes = 16;
inline constexpr int register_count = 16;
#endif

/// As many numbers as a register holds.
template <class Scalar>
inline constexpr int pack_size = register_bytes / static_cast<int>(sizeof(Scalar));

/// From and to any address of a Scalar.
template <class P, class Scalar>
inline P load_pack(const Scalar* from) {
  P pack;
  std::memcpy(&pack, from, sizeof pack);
  return pack;
}
template <class P, class Scalar>
inline void store_pack(Scalar* to, const P& pack) {
  std::memcpy(to, &pack, sizeof pack);
}

template <class P>
inline P larger(const P& a, const P& b) {
  return a > b ? a : b;
}

/// One number of all of a pack's, by halves: combine(low, high) of packs of any size.
template <class Scalar, int Count, class Combine>
inline Scalar folded(const Pack<Scalar, Count>& pack, const Combine& combine) {
  if constexpr (Count == 1) {
    return pack[0];
  } else {
    Pack<Scalar, Count / 2> halves[2];
    std::memcpy(halves, &pack, sizeof pack);
    return folded<Scalar, Count / 2>(combine(halves[0], halves[1]), combine);
  }
}
/// The sum of a pack's entries, in a fixed order; the largest, where NaN may or may not win.
template <class Scalar, int Count>
inline Scalar sum_of(const Pack<Scalar, Count>& pack) {
  return folded<Scalar, Count>(pack, [](const auto& a, const auto& b) { return a + b; });
}
template <class Scalar, int Count>
inline Scalar largest_of(const Pack<Scalar, Count>& pack) {
  return folded<Scalar, Count>(pack, [](const auto& a, const auto& b) { return larger(a, b); });
}

/// 2^x, entry by entry; 0 where that is below 2^-125, NaN for NaN. Of floats up to 2^127, off by 1.5 units in the last
/// place at most.
///
/// With n the whole number nearest to x and f the rest: 2^n (1 + f q(f)), q of degree 4 fitted as in elementary.hpp:
/// off by 2^-23.4. A product with 2^n, where a sum of exponents would make a number of some NaN.
template <int Count>
inline Pack<float, Count> exp2_of(const Pack<float, Count>& x) {
  using Bits = Pack<std::uint32_t, Count>;
  constexpr float shift = 12582912 + 127;  // as in exponential_of_sum; the lowest bits are 2^n's exponent
  const Pack<float, Count> shifted = x + shift, f = x - (shifted - shift);
  const Pack<float, Count> q =
      0.693147F + f * (0.24022247F + f * (0.055507112F + f * (0.009671294F + f * 0.0013269407F)));
  Bits exponent;
  std::memcpy(&exponent, &shifted, sizeof exponent);
  exponent <<= 23;
  Pack<float, Count> power;
  std::memcpy(&power, &exponent, sizeof power);
  const Pack<float, Count> value = (1 + f * q) * power;
  return x < -125.0F ? Pack<float, Count>{} : value;
}

template <int Count>
inline Pack<double, Count> exp2_of(const Pack<double, Count>& x) {
  Pack<double, Count> value;
  for (int i = 0; i < Count; ++i) value[i] = std::exp2(x[i]);
  return value;
}

}  // namespace ridgeline

#endif

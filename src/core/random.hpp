// Counter-based random numbers: a draw depends on seed, purpose and index alone, so that data and initial parameters
// are the same bits on every back end, thread count and rank count.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <string_view>

namespace ridgeline {

/// Philox 4x32-10 (Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
inline std::array<std::uint32_t, 4> philox(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t low = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t high = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(high >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(high),
               static_cast<std::uint32_t>(low >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(low)};
    key[0] += 0x9E3779B9U;
    key[1] += 0xBB67AE85U;
  }
  return counter;
}

/// The stream of draws for one purpose ("parameters/head.weight", "data/train/phase"), keyed by the run's seed.
class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view purpose)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)} {
    std::uint64_t hash = 0xCBF29CE484222325U;  // FNV-1a, 64 bits: stable across machines, unlike std::hash
    for (const char letter : purpose) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001B3U;
    purpose_ = {static_cast<std::uint32_t>(hash), static_cast<std::uint32_t>(hash >> 32)};
  }

  /// 64 random bits.
  std::uint64_t bits(std::uint64_t index) const {
    const auto word = block(index);
    return std::uint64_t{word[0]} << 32 | word[1];
  }

  /// Uniform in [0, 1), in steps of 2^-53.
  double uniform(std::uint64_t index) const { return static_cast<double>(bits(index) >> 11) * 0x1p-53; }

  double uniform(std::uint64_t index, double low, double high) const { return low + (high - low) * uniform(index); }

  /// Uniform over the whole numbers 0 … count-1, count > 0; the bias, under count / 2^32, is beyond notice.
  std::uint32_t below(std::uint64_t index, std::uint32_t count) const {
    return static_cast<std::uint32_t>((bits(index) >> 32) * count >> 32);
  }

  /// Standard normal, by Box and Muller's method.
  double normal(std::uint64_t index) const {
    const auto word = block(index);
    const double radius = (static_cast<double>((std::uint64_t{word[0]} << 32 | word[1]) >> 11) + 1) * 0x1p-53;
    const double angle = static_cast<double>((std::uint64_t{word[2]} << 32 | word[3]) >> 11) * 0x1p-53;
    return std::sqrt(-2 * std::log(radius)) * std::cos(6.283185307179586476925 * angle);
  }

 private:
  std::array<std::uint32_t, 4> block(std::uint64_t index) const {
    return philox(
        {static_cast<std::uint32_t>(index), static_cast<std::uint32_t>(index >> 32), purpose_[0], purpose_[1]}, key_);
  }

  std::array<std::uint32_t, 2> key_;
  std::array<std::uint32_t, 2> purpose_{};
};

}  // namespace ridgeline

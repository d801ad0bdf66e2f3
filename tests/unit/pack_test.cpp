// Vector registers as values: their sums, and powers of two.
#include "math/pack.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#ifdef RIDGELINE_HAS_PACKS

namespace ridgeline {
namespace {

template <class Scalar>
Scalar exp2_by_pack(Scalar x) {
  constexpr int lanes = pack_size<Scalar>;
  return exp2_of<lanes>(Pack<Scalar, lanes>{} + x)[lanes - 1];
}

TEST(Pack, PowersOfTwoAreNearTheLibrarys) {
  double worst = 0;
  for (double x = -125; x <= 127; x += 1.0 / 1024) {
    const float power = exp2_by_pack(static_cast<float>(x));
    const double expected = std::exp2(static_cast<double>(static_cast<float>(x)));
    worst = std::max(worst, std::abs(power - expected) / expected);
  }
  EXPECT_LT(worst, 1.5 * std::numeric_limits<float>::epsilon());
  for (const double x : {-1000.5, -3.25, 0.0, 0.7, 1000.0}) EXPECT_EQ(exp2_by_pack(x), std::exp2(x));
}

TEST(Pack, PowersOfTwoAtTheEnds) {
  EXPECT_EQ(exp2_by_pack(0.0F), 1);
  EXPECT_EQ(exp2_by_pack(-126.0F), 0);
  EXPECT_EQ(exp2_by_pack(-1e30F), 0);
  EXPECT_EQ(exp2_by_pack(-std::numeric_limits<float>::infinity()), 0);
}

TEST(Pack, PowersOfTwoOfAnyNaNAreNaN) {
  for (const std::uint32_t bits : {0x7FC00000U, 0xFFC00000U, 0x7FC00001U, 0x7FFFFFFFU, 0xFFFFFFFFU, 0x7F800001U}) {
    float nan;
    std::memcpy(&nan, &bits, sizeof nan);
    EXPECT_TRUE(std::isnan(exp2_by_pack(nan))) << bits;
  }
}

TEST(Pack, FoldsAllEntries) {
  constexpr int lanes = pack_size<double>;
  Pack<double, lanes> numbers{};
  for (int i = 0; i < lanes; ++i) numbers[i] = 1 + (i + 1) % lanes;
  EXPECT_EQ((sum_of<double, lanes>(numbers)), lanes * (lanes + 1) / 2);
  EXPECT_EQ((largest_of<double, lanes>(numbers)), lanes);
}

}  // namespace
}  // namespace ridgeline

#endif

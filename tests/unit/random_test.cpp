// Philox against its published known answers, and the streams made from it.
#include "core/random.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace ridgeline {
namespace {

using Words = std::array<std::uint32_t, 4>;

// Random123's kat_vectors, philox4x32 10.
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

constexpr int draws = 20000;

TEST(RandomStream, UniformIsInRangeAndEven) {
  const RandomStream stream(3, "test/uniform");
  double sum = 0, square = 0, least = 1, most = 0;
  for (int i = 0; i < draws; ++i) {
    const double u = stream.uniform(i);
    sum += u;
    square += u * u;
    least = std::min(least, u);
    most = std::max(most, u);
  }
  EXPECT_GE(least, 0);
  EXPECT_LT(most, 1);
  EXPECT_LT(least, 1e-3);
  EXPECT_GT(most, 1 - 1e-3);
  EXPECT_NEAR(sum / draws, 0.5, 5 * std::sqrt(1.0 / 12 / draws));
  EXPECT_NEAR(square / draws, 1.0 / 3, 0.01);
}

TEST(RandomStream, UniformBetweenBounds) {
  const RandomStream stream(3, "test/bounds");
  for (int i = 0; i < 1000; ++i) {
    const double u = stream.uniform(i, -2.5, -1);
    EXPECT_GE(u, -2.5);
    EXPECT_LT(u, -1);
  }
}

TEST(RandomStream, BelowReachesEveryNumberEvenly) {
  const RandomStream stream(4, "test/below");
  std::array<int, 7> counts{};
  for (int i = 0; i < draws; ++i) ++counts.at(stream.below(i, 7));
  for (const int count : counts) EXPECT_NEAR(count, draws / 7.0, 5 * std::sqrt(draws / 7.0));
  EXPECT_EQ(stream.below(0, 1), 0U);
  EXPECT_LT(stream.below(1, 0xffffffffU), 0xffffffffU);
}

TEST(RandomStream, NormalHasItsMoments) {
  const RandomStream stream(5, "test/normal");
  double first = 0, second = 0, third = 0, fourth = 0;
  for (int i = 0; i < draws; ++i) {
    const double z = stream.normal(i);
    ASSERT_TRUE(std::isfinite(z));
    first += z;
    second += z * z;
    third += z * z * z;
    fourth += z * z * z * z;
  }
  EXPECT_NEAR(first / draws, 0, 5 / std::sqrt(draws));
  EXPECT_NEAR(second / draws, 1, 5 * std::sqrt(2.0 / draws));
  EXPECT_NEAR(third / draws, 0, 5 * std::sqrt(15.0 / draws));
  EXPECT_NEAR(fourth / draws, 3, 5 * std::sqrt(96.0 / draws));
}

TEST(RandomStream, SeedPurposeAndIndexEachMatter) {
  std::set<std::uint64_t> seen;
  int count = 0;
  for (const std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32})
    for (const char* purpose : {"", "a", "b", "ab", "ba"})
      for (const std::uint64_t index : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32}) {
        seen.insert(RandomStream(seed, purpose).bits(index));
        ++count;
      }
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(count));
}

TEST(RandomStream, SameAskedAgainIsTheSame) {
  const RandomStream one(7, "data"), other(7, "data");
  EXPECT_EQ(one.bits(12), other.bits(12));
  EXPECT_EQ(one.normal(3), other.normal(3));
  // Once released, these never change: runs must be repeatable across versions.
  EXPECT_EQ(RandomStream(0, "").bits(0), std::uint64_t{5384476215973716705U});
}

}  // namespace
}  // namespace ridgeline

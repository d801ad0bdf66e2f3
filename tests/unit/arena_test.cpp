// Where the arena puts what it is asked for.
#include "core/arena.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace ridgeline {
namespace {

struct Range {
  std::uintptr_t begin, end;
};

template <class ViewType>
Range range_of(const ViewType& view) {
  const auto begin = reinterpret_cast<std::uintptr_t>(view.data());
  return {begin, begin + view.size() * sizeof(typename ViewType::value_type)};
}

void expect_apart(const std::vector<Range>& ranges) {
  for (std::size_t i = 0; i < ranges.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_TRUE(ranges[i].end <= ranges[j].begin || ranges[j].end <= ranges[i].begin) << j << " and " << i;
}

std::vector<Range> lay_out(Arena& arena) {
  std::vector<Range> ranges;
  ranges.push_back(range_of(arena.kept<float>(7)));
  ranges.push_back(range_of(arena.passing<double>(3, 5)));
  ranges.push_back(range_of(arena.kept<double>(2, 3, 5)));
  ranges.push_back(range_of(arena.passing<float>(1)));
  ranges.push_back(range_of(arena.kept<double>(1, 1)));
  ranges.push_back(range_of(arena.passing<std::uint8_t>(2, 2, 301)));
  return ranges;
}

TEST(Arena, MeasuresWithoutMemoryThenHandsItOut) {
  Arena arena;
  for (const Range& range : lay_out(arena)) EXPECT_EQ(range.begin, 0U);
  const std::size_t measured = arena.bytes();
  EXPECT_GE(measured, 7 * 4 + 15 * 8 + 30 * 8 + 4 + 8 + 1204U);
  EXPECT_LE(measured, 8 * 1024U);
  arena.allocate();
  arena.restart();
  const std::vector<Range> ranges = lay_out(arena);
  expect_apart(ranges);
  for (const Range& range : ranges) {
    EXPECT_NE(range.begin, 0U);
    EXPECT_EQ(range.begin % 64, 0U);
  }
  EXPECT_EQ(arena.bytes(), measured);
}

TEST(Arena, SizesBeyondAllMemoryDoNotWrapRound) {
  Arena arena;
  const std::size_t large = std::size_t{1} << 40;
  for (int i = 0; i < 100; ++i) arena.kept<double>(large, large);
  EXPECT_GT(arena.bytes(), std::size_t{1} << 61);
  const std::size_t before = arena.bytes();
  arena.passing<double>(large, large, large);
  EXPECT_GT(arena.bytes(), before);
  EXPECT_FALSE(arena.fits());
}

TEST(Arena, ShapesAreThoseAskedFor) {
  Arena arena;
  const auto tensor = arena.kept<double>(2, 3, 5);
  EXPECT_EQ(tensor.extent(0), 2U);
  EXPECT_EQ(tensor.extent(1), 3U);
  EXPECT_EQ(tensor.extent(2), 5U);
  const auto matrix = arena.passing<float>(4, 9);
  EXPECT_EQ(matrix.extent(0), 4U);
  EXPECT_EQ(matrix.extent(1), 9U);
}

TEST(Arena, FramesSharePassingMemoryAndNotKept) {
  const auto lay_out_frames = [](Arena& arena, std::vector<Range>& kept, std::vector<Range>& passing) {
    passing.push_back(range_of(arena.passing<double>(10)));
    for (const int length : {50, 20}) {
      const Arena::Frame frame(arena);
      kept.push_back(range_of(arena.kept<double>(length)));
      passing.push_back(range_of(arena.passing<double>(length)));
    }
  };
  Arena arena;
  std::vector<Range> kept, passing;
  lay_out_frames(arena, kept, passing);
  arena.allocate();
  arena.restart();
  kept.clear();
  passing.clear();
  lay_out_frames(arena, kept, passing);
  EXPECT_EQ(passing[1].begin, passing[2].begin);
  expect_apart({kept[0], kept[1], passing[0], passing[1]});
}

TEST(Arena, RoomIsThatOfTheLargestLayout) {
  Arena arena;
  for (const int length : {100, 2000, 10}) {
    arena.restart();
    arena.kept<double>(length);
  }
  EXPECT_GE(arena.bytes(), 2000 * sizeof(double));
  EXPECT_LT(arena.bytes(), 2100 * sizeof(double));
  arena.allocate();
  arena.restart();
  EXPECT_NE(arena.kept<double>(2000).data(), nullptr);
}

TEST(Arena, MoreThanWasMeasuredIsNotHandedOut) {
  Arena arena;
  arena.kept<double>(64);
  arena.allocate();
  arena.restart();
  EXPECT_NE(arena.kept<double>(10).data(), nullptr);
  EXPECT_TRUE(arena.fits());
  EXPECT_EQ(arena.kept<double>(65).data(), nullptr);
  EXPECT_FALSE(arena.fits());
  arena.restart();
  EXPECT_TRUE(arena.fits());
  {
    const Arena::Frame frame(arena);
    EXPECT_EQ(arena.passing<double>(1).data(), nullptr);
  }
  EXPECT_FALSE(arena.fits());
}

TEST(Arena, GuardsLeaveRoomAroundEveryView) {
  Arena arena(256);
  const auto lay_out_guarded = [&] {
    std::vector<Range> ranges = lay_out(arena);
    for (const int length : {50, 20}) {
      const Arena::Frame frame(arena);
      ranges.push_back(range_of(arena.passing<double>(length)));
    }
    return ranges;
  };
  lay_out_guarded();
  arena.allocate();
  arena.restart();
  std::vector<Range> ranges = lay_out_guarded();
  for (Range& range : ranges) {
    range.begin -= 256;
    range.end += 256;
  }
  expect_apart(ranges);
  ASSERT_EQ(arena.kept_block().pieces.size(), 3U);
  ASSERT_EQ(arena.passing_block().pieces.size(), 5U);
  const Arena::Piece last = arena.passing_block().pieces.back();
  EXPECT_EQ(last.size, 20 * sizeof(double));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.passing_block().storage.data()) + last.begin - 256,
            ranges.back().begin);
  EXPECT_LE(last.begin + last.size + 256, arena.passing_block().storage.size());
}

}  // namespace
}  // namespace ridgeline

#include "report/image_figures.hpp"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "report/gnuplot.hpp"

namespace ridgeline::report {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

Tiles tiles(int count, Grid grid, int channels) {
  Tiles made{"it's a {title}", grid, channels, {}, 3};
  for (int i = 0; i < count; ++i) {
    std::vector<double> image;
    for (int j = 0; j < grid.rows * grid.columns * channels; ++j) image.push_back((i + j) % 4);
    made.images.push_back(image);
  }
  return made;
}

void expect_drawn(const Figure& figure) {
  const auto gnuplot = find_program("gnuplot");
  if (!gnuplot) GTEST_SKIP() << "gnuplot is not installed";
  ASSERT_FALSE(figure.script.empty());
  const Rendered drawn = render(figure, *gnuplot);
  EXPECT_EQ(drawn.complaint, "");
  EXPECT_NE(drawn.svg.find("<svg"), std::string::npos);
  EXPECT_EQ(drawn.png.substr(1, 3), "PNG");
}

TEST(ImageFigures, OfAnyShape) {
  for (const Grid grid : {Grid{8, 8}, Grid{1, 1}, Grid{2, 30}, Grid{30, 2}}) {
    SCOPED_TRACE(grid.rows);
    expect_drawn(groups_figure("groups", {tiles(7, grid, 1), tiles(9, grid, 1)}, 3));
    expect_drawn(rows_figure("rows", {tiles(4, grid, 1), tiles(4, grid, 1)}));
    expect_drawn(groups_figure("one", {tiles(1, grid, 1)}, 6));
  }
}

TEST(ImageFigures, InColourAndWithAScale) {
  expect_drawn(groups_figure("colour", {tiles(5, {4, 3}, 3)}, 3));
  Tiles scaled = tiles(5, {4, 3}, 1);
  scaled.scale = "bits";
  scaled.images[2][5] = nan;
  expect_drawn(rows_figure("rows", {tiles(5, {4, 3}, 3), scaled}));
  expect_drawn(groups_figure("two channels", {tiles(5, {4, 3}, 2)}, 3));
}

TEST(ImageFigures, MayBeDrawnAsPngAlone) {
  const auto gnuplot = find_program("gnuplot");
  if (!gnuplot) GTEST_SKIP() << "gnuplot is not installed";
  const Rendered drawn = render(groups_figure("one", {tiles(3, {2, 2}, 1)}, 3), *gnuplot, Forms::png);
  EXPECT_EQ(drawn.complaint, "");
  EXPECT_EQ(drawn.svg, "");
  EXPECT_EQ(drawn.png.substr(1, 3), "PNG");
}

TEST(ImageFigures, OfNothingAreNone) {
  EXPECT_EQ(groups_figure("none", {}, 3).script, "");
  EXPECT_EQ(groups_figure("none", {tiles(0, {2, 2}, 1)}, 3).script, "");
  EXPECT_EQ(rows_figure("none", {}).script, "");
  EXPECT_EQ(bias_figure("none", {}).script, "");
}

TEST(ImageFigures, BiasesOfAnyNumberOfBlocksAndHeads) {
  for (const int blocks : {1, 2, 5})
    for (const int heads : {1, 4, 13}) {
      std::vector<BiasCurves> all;
      for (int block = 0; block < blocks; ++block) {
        BiasCurves curves{"block " + std::to_string(block), {}, {}, -9};
        for (int head = 0; head < heads; ++head) {
          curves.heads.push_back(head);
          curves.values.emplace_back(10, head == 0 ? 0.0 : std::sin(head));
        }
        all.push_back(curves);
      }
      expect_drawn(bias_figure("biases", all));
    }
  expect_drawn(bias_figure("one distance", {{"block 0", {0}, {{2}}, 0}}));
  expect_drawn(bias_figure("not finite", {{"block 0", {0}, {{nan, nan}}, -1}}));
}

/// One image of two pixels, one channel, three levels.
TEST(ImageFigures, SurpriseIsInBits) {
  ResultSet<double> set;
  set.samples = 1;
  set.tokens = 2;
  set.targets = 1;
  set.outputs = 3;
  set.grid = {1, 2};
  set.truth = {2, nan};
  set.predictions = {0, 0, std::log(2.0), std::log(6.0), 0, 0};
  const std::vector<Tiles> rows = tiles_of(set);
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[1].images[0], (std::vector<double>{2, 0}));
  EXPECT_NEAR(rows[2].images[0][0], 1, 1e-12);
  EXPECT_NEAR(rows[2].images[0][1], -std::log2(6.0 / 8), 1e-12);
}

}  // namespace
}  // namespace ridgeline::report

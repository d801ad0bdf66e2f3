#include "report/image_figures.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/curve.hpp"
#include "report/gnuplot.hpp"
#include "report/plot_style.hpp"

namespace ridgeline::report {
namespace {

constexpr int width = 1080;       // of a picture, in pixels
constexpr double title_row = 32;  // height of a title
constexpr double edge = 20;

/// Where a group's images stand: `across` in a row, one pixel's room between two.
struct Arrangement {
  int across, down;
  double units_wide, units_high;  // in pixels of the images
};

Arrangement arrangement_of(const Tiles& tiles, int across) {
  const int count = std::max(1, static_cast<int>(tiles.images.size()));
  const int columns = std::min(count, across), rows = (count + columns - 1) / columns;
  const double gap = std::max(1.0, 0.06 * tiles.grid.columns);
  return {columns, rows, columns * (tiles.grid.columns + gap) - gap, rows * (tiles.grid.rows + gap) - gap};
}

/// A line for every pixel: its left, right, upper and lower edge, and its grey, or its middle and its colour. Edges reach
/// a little under the next pixel: where two only touch, what is behind them shines through.
std::string pixels_of(const Tiles& tiles, const Arrangement& place) {
  const double gap = std::max(1.0, 0.06 * tiles.grid.columns);
  const bool is_colour = tiles.channels == 3 && tiles.scale.empty();
  std::string data;
  for (std::size_t i = 0; i < tiles.images.size(); ++i) {
    const auto across = static_cast<std::size_t>(place.across);
    const std::size_t number_down = i / across, number_across = i % across;
    const double left = static_cast<double>(number_across) * (tiles.grid.columns + gap);
    const double top = static_cast<double>(number_down) * (tiles.grid.rows + gap);
    for (int row = 0; row < tiles.grid.rows; ++row)
      for (int column = 0; column < tiles.grid.columns; ++column) {
        const double* pixel =
            tiles.images[i].data() + (static_cast<std::size_t>(row) * tiles.grid.columns + column) * tiles.channels;
        if (!std::isfinite(pixel[0])) continue;
        const double right = column + 1 < tiles.grid.columns ? 0.54 : 0.5,
                     below = row + 1 < tiles.grid.rows ? 0.54 : 0.5;
        const double x = left + column, y = top + row;
        data += is_colour ? fmt::format("{:g} {:g}", x, y)
                          : fmt::format("{:g} {:g} {:g} {:g}", x - 0.5, x + right, y - 0.5, y + below);
        for (int c = 0; c < (is_colour ? 3 : 1); ++c)
          data += fmt::format(" {:.4g}", is_colour ? 255 * pixel[c] / tiles.largest : pixel[c]);
        data += "\n";
      }
  }
  return data;
}

/// A group's panel, its lower left corner at x, y of the picture in pixels, `unit` pixels for each of the images'.
std::string panel(const Tiles& tiles, const Arrangement& place, std::size_t number, double x, double y, double unit,
                  Figure& figure) {
  const std::string file = fmt::format("pixels{}.txt", number);
  figure.data.emplace_back(file, pixels_of(tiles, place));
  const double height = figure.height;
  std::string script = fmt::format(
      "set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n"
      "set tmargin at screen {:.6f}\nset xrange [-0.5:{:g}]\nset yrange [{:g}:-0.5]\n",
      x / width, (x + unit * place.units_wide) / width, y / height, (y + unit * place.units_high) / height,
      place.units_wide - 0.5, place.units_high - 0.5);
  script += fmt::format("set cbrange [0:{:g}]\n", tiles.largest);
  const bool is_colour = tiles.channels == 3 && tiles.scale.empty();
  // Each pixel a square of its own: an image would be made smooth by some viewers.
  if (tiles.scale.empty())
    script += "set palette gray\nunset colorbox\n";
  else
    script += fmt::format(
        "set palette defined (0 '#FFF7EC', 0.25 '#FDBB84', 0.5 '#EF6548', 0.75 '#B30000', 1 '#4A0000')\n"
        "set colorbox user origin screen {:.6f},{:.6f} size screen {:.6f},{:.6f} noborder\n"
        "set cblabel {} offset -0.6,0\nset cbtics 0,{:g} scale 0.4 offset -0.6,0\n",
        (x + unit * place.units_wide + 12) / width, y / height, 12.0 / width, unit * place.units_high / height,
        gnuplot_string(tiles.scale), tiles.largest);
  if (is_colour)
    script += fmt::format("plot '{}' using 1:2:3:4:5 with rgbimage pixels notitle\n", file);
  else
    script += fmt::format(
        "plot '{}' using 1:3:1:2:3:4:5 with boxxyerror "
        "fillstyle solid 1.0 noborder linecolor palette notitle\n",
        file);
  return script;
}

std::string title_at(const std::string& title, double x, double y, double height, const char* side) {
  return fmt::format("set label {} at screen {:.6f},{:.6f} {} noenhanced front\n", gnuplot_string(title), x / width,
                     y / height, side);
}

std::string without_axes() { return "unset border\nunset tics\nunset grid\nunset key\nunset xlabel\nunset ylabel\n"; }

}  // namespace

Tiles tiles_of(const Images& images, double largest, int count) {
  Tiles tiles{"", {images.rows, images.columns}, images.channels, {}, std::max(1.0, largest)};
  for (int i = 0; i < count; ++i) {
    const std::uint16_t* image = images.image(i);
    tiles.images.emplace_back(image, image + images.tokens() * images.channels);
  }
  return tiles;
}

std::vector<Tiles> tiles_of(const ResultSet<double>& set) {
  const auto channels = static_cast<int>(set.targets);
  const std::int64_t levels = set.outputs / std::max<std::int64_t>(1, set.targets);
  const double largest = std::max(1.0, static_cast<double>(levels - 1));
  Tiles truth{"image", set.grid, channels, {}, largest}, guess{"most probable", set.grid, channels, {}, largest};
  Tiles surprise{"surprise", set.grid, 1, {}, 1, channels == 1 ? "bits" : "bits a channel"};
  const auto tokens = static_cast<std::size_t>(set.tokens), targets = static_cast<std::size_t>(set.targets);
  double most = 1;
  for (std::size_t i = 0; i < static_cast<std::size_t>(set.samples); ++i) {
    std::vector<double> levels_of, guessed, bits;
    for (std::size_t pixel = 0; pixel < tokens; ++pixel) {
      double sum = 0;
      for (std::size_t c = 0; c < targets; ++c) {
        const std::size_t at = (i * tokens + pixel) * targets + c;
        const double* logits = set.predictions.data() + at * static_cast<std::size_t>(levels);
        const double* best = std::max_element(logits, logits + levels);
        double exponentials = 0;
        for (std::int64_t level = 0; level < levels; ++level) exponentials += std::exp(logits[level] - *best);
        const double truth_here = std::isfinite(set.truth[at]) ? set.truth[at] : 0;
        const double own = std::clamp(truth_here, 0.0, static_cast<double>(levels - 1));
        levels_of.push_back(set.truth[at]);
        guessed.push_back(static_cast<double>(best - logits));
        sum += (std::log(exponentials) + *best - logits[static_cast<std::size_t>(own)]) / std::log(2.0);
      }
      bits.push_back(sum / static_cast<double>(targets));
      if (std::isfinite(bits.back())) most = std::max(most, bits.back());
    }
    truth.images.push_back(std::move(levels_of));
    guess.images.push_back(std::move(guessed));
    surprise.images.push_back(std::move(bits));
  }
  surprise.largest = std::ceil(most);
  return {truth, guess, surprise};
}

Figure groups_figure(const std::string& name, const std::vector<Tiles>& groups, int columns) {
  Figure figure{name, width, 0, "", {}};
  if (groups.empty() || std::any_of(groups.begin(), groups.end(), [](const Tiles& g) { return g.images.empty(); }))
    return figure;
  constexpr double between = 44;
  double units_wide = 0, units_high = 0;
  std::vector<Arrangement> places;
  for (const Tiles& group : groups) {
    places.push_back(arrangement_of(group, columns));
    units_wide += places.back().units_wide;
    units_high = std::max(units_high, places.back().units_high);
  }
  const double room = width - 2 * edge - between * static_cast<double>(groups.size() - 1);
  const double unit = std::min(room / units_wide, 1200 / units_high);
  const bool has_title = std::any_of(groups.begin(), groups.end(), [](const Tiles& g) { return !g.title.empty(); });
  const double above = has_title ? title_row + 8 : edge;
  figure.height = static_cast<int>(std::lround(unit * units_high + above + edge));
  figure.script = common_style() + without_axes() + "set multiplot\n";
  double x = (width - unit * units_wide - between * static_cast<double>(groups.size() - 1)) / 2;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double y = figure.height - above - unit * places[i].units_high;
    figure.script += "unset label\n";
    if (has_title) figure.script += title_at(groups[i].title, x, figure.height - 20, figure.height, "left");
    figure.script += panel(groups[i], places[i], i, x, y, unit, figure);
    x += unit * places[i].units_wide + between;
  }
  figure.script += "unset multiplot\n";
  return figure;
}

Figure rows_figure(const std::string& name, const std::vector<Tiles>& groups) {
  Figure figure{name, width, 0, "", {}};
  if (groups.empty() || groups.front().images.empty()) return figure;
  constexpr double left = 150, right = 78, between = 14;
  const Arrangement place = arrangement_of(groups.front(), static_cast<int>(groups.front().images.size()));
  const double unit = std::min((width - left - right) / place.units_wide, 200 / place.units_high);
  const double row = unit * place.units_high + between;
  figure.height = static_cast<int>(std::lround(row * static_cast<double>(groups.size()) + edge / 2));
  figure.script = common_style() + without_axes() + "set multiplot\n";
  for (std::size_t i = 0; i < groups.size(); ++i) {
    const double y = figure.height - edge / 2 - row * static_cast<double>(i + 1) + between;
    figure.script +=
        "unset label\n" + title_at(groups[i].title, left - 14, y + unit * place.units_high / 2, figure.height, "right");
    figure.script += panel(groups[i], place, i, left, y, unit, figure);
  }
  figure.script += "unset multiplot\n";
  return figure;
}

Figure bias_figure(const std::string& name, const std::vector<BiasCurves>& blocks) {
  Figure figure{name, width, 0, "", {}};
  if (blocks.empty() || blocks.front().values.empty() || blocks.front().values.front().empty()) return figure;
  constexpr std::size_t across = 2;
  constexpr double panel_height = 250, below = 62, above = 34, left = 76, between = 70;
  const std::size_t in_a_row = std::min(across, blocks.size()), rows = (blocks.size() + in_a_row - 1) / in_a_row;
  figure.height = static_cast<int>(12 + static_cast<double>(rows) * (panel_height + below + above));
  const double panel_width =
      (width - left - 120 - between * static_cast<double>(in_a_row - 1)) / static_cast<double>(in_a_row);
  Range values;
  for (const BiasCurves& block : blocks)
    for (const std::vector<double>& curve : block.values)
      for (const double value : curve) values.include(value);
  const Range shown = values.padded(0.06);
  figure.script = common_style() + "set multiplot\n";
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    const BiasCurves& block = blocks[i];
    const std::size_t row = i / in_a_row + 1, column = i % in_a_row;
    const double x = left + static_cast<double>(column) * (panel_width + between);
    const double y = figure.height - static_cast<double>(row) * (panel_height + below + above) + below;
    figure.script += fmt::format(
        "set lmargin at screen {:.6f}\nset rmargin at screen {:.6f}\nset bmargin at screen {:.6f}\n"
        "set tmargin at screen {:.6f}\n",
        x / width, (x + panel_width) / width, y / figure.height, (y + panel_height) / figure.height);
    const double last = static_cast<double>(block.first) + static_cast<double>(block.values.front().size()) - 1;
    figure.script += fmt::format("set xrange [{}:{}]\nset yrange [{:.8g}:{:.8g}]\n", block.first,
                                 last > static_cast<double>(block.first) ? last : last + 1, shown.low, shown.high);
    figure.script += fmt::format("set title {} offset 0,-0.6 noenhanced\n", gnuplot_string(block.title));
    figure.script += "set xlabel 'key − query, in tokens'\n";
    figure.script += i % in_a_row == 0 ? "set ylabel 'added to the score'\n" : "unset ylabel\n";
    // One key for all panels, on the right of the last of a row.
    const bool has_key = i % in_a_row == in_a_row - 1 || i + 1 == blocks.size();
    figure.script +=
        has_key ? "set key at graph 1.04,graph 1 left top Left reverse samplen 1.6 spacing 1.1\n" : "unset key\n";
    std::string plots;
    for (std::size_t head = 0; head < block.values.size(); ++head) {
      const std::string file = fmt::format("bias{}_{}.txt", i, head);
      std::vector<Point> curve;
      for (std::size_t d = 0; d < block.values[head].size(); ++d)
        curve.push_back({static_cast<double>(block.first) + static_cast<double>(d), block.values[head][d]});
      figure.data.emplace_back(file, report::columns(curve));
      const std::size_t colour = head % set_colours.size(), dash = head / set_colours.size() % 3;
      plots += fmt::format("{}'{}' with lines linecolor rgb '{}' linewidth 2.2 dashtype {} title 'head {}'",
                           plots.empty() ? "plot " : ", \\\n     ", file, set_colours[colour],
                           dash == 0   ? "solid"
                           : dash == 1 ? "(9,4)"
                                       : "(3.5,3)",
                           block.heads[head]);
    }
    figure.script += plots + "\n";
  }
  figure.script += "unset multiplot\n";
  return figure;
}

}  // namespace ridgeline::report

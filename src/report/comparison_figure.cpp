// The picture of a comparison: training on the left, what came of it on the right.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "config/text.hpp"
#include "report/comparison.hpp"
#include "report/curve.hpp"
#include "report/gnuplot.hpp"
#include "report/plot_style.hpp"

namespace ridgeline::report {

namespace {

constexpr int width = 1080;     // of the picture, in pixels
constexpr double letter = 7.7;  // width of most of a label's letters
constexpr int legend_row = 23;  // height of a line of the legend
constexpr std::size_t longest_name = 40, longest_set = 22;
constexpr std::size_t most_points = 1600;

/// How a run is drawn in both panels: the same colour and symbol.
struct RunStyle {
  const char* colour;
  int symbol;  // gnuplot's pointtype
};

RunStyle style_of(std::size_t run) {
  constexpr std::array<const char*, 8> colours{blue, vermillion, green, orange, purple, sky_blue, black, grey};
  constexpr std::array<int, 7> symbols{7, 5, 9, 13, 11, 15, 6};
  return {colours[run % colours.size()], symbols[run % symbols.size()]};
}

/// The runs' names as far as there is room, numbered where what is left of two of them is the same.
std::vector<std::string> labels_of(const std::vector<ComparedRun>& runs) {
  std::vector<std::string> labels;
  std::set<std::string> different;
  for (const ComparedRun& run : runs) {
    labels.push_back(fitting(run.name, longest_name));
    different.insert(labels.back());
  }
  for (std::size_t i = 0; different.size() < runs.size() && i < labels.size(); ++i)
    labels[i] = fmt::format("{}: {}", i + 1, labels[i]);
  return labels;
}

/// A strip at the top of the picture that names the runs.
struct Legend {
  std::string script;
  int height = 0;
};

/// How wide the legend's columns are, in pixels, with entries row by row.
std::vector<double> column_widths(const std::vector<std::string>& labels, std::size_t count) {
  std::vector<double> widths(count);
  for (std::size_t i = 0; i < labels.size(); ++i)
    widths[i % count] = std::max(widths[i % count], 66 + letter * static_cast<double>(character_count(labels[i])));
  return widths;
}

double sum(const std::vector<double>& numbers) { return std::accumulate(numbers.begin(), numbers.end(), 0.0); }

/// Above a panel and an axis that take `height_below`.
Legend legend_of(const std::vector<std::string>& labels, int height_below) {
  std::size_t count = labels.size();
  while (count > 1 && sum(column_widths(labels, count)) > width - 20) --count;
  const std::size_t rows = (labels.size() + count - 1) / count;
  count = (labels.size() + rows - 1) / rows;  // evenly filled
  const std::vector<double> widths = column_widths(labels, count);
  Legend legend{"", 14 + legend_row * static_cast<int>(rows)};
  const double height = height_below + legend.height;
  double x = 0;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (i % count == 0) x = (width - sum(widths)) / 2 + 10;
    const std::size_t row = i / count;
    const double y = 1 - (18 + legend_row * static_cast<double>(row)) / height;
    const RunStyle style = style_of(i);
    // The name is a label of its own: beside a point, gnuplot's SVG sets text too high.
    legend.script += fmt::format(
        "set arrow from screen {0:.5f},{2:.5f} to screen {1:.5f},{2:.5f} nohead linecolor rgb '{3}' linewidth 2.2\n"
        "set label '' at screen {4:.5f},{2:.5f} point pointtype {5} pointsize 0.9 linecolor rgb '{3}'\n"
        "set label {6} at screen {7:.5f},{2:.5f} left noenhanced\n",
        x / width, (x + 34) / width, y, style.colour, (x + 17) / width, style.symbol, gnuplot_string(labels[i]),
        (x + 43) / width);
    x += widths[i % count];
  }
  return legend;
}

/// Where a panel's axes are, in pixels from the picture's left and lower edge.
struct Frame {
  double left, right, bottom, top;
};

std::string margins(const Frame& frame, double height) {
  return fmt::format(
      "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n"
      "set tmargin at screen {:.5f}\n",
      frame.left / width, frame.right / width, frame.bottom / height, frame.top / height);
}

std::vector<Point> loss_curve(const ComparedRun& run) {
  std::vector<Point> curve;
  for (const HistoryRow& row : run.history.rows)
    if (can_be_logarithmic(row.loss)) curve.push_back({static_cast<double>(row.epoch), row.loss});
  return thinned(curve, most_points);
}

/// Empty where no run has a loss to draw.
std::string loss_panel(const std::vector<ComparedRun>& runs, Figure& figure) {
  Range epochs, losses;
  std::string plots;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::vector<Point> curve = loss_curve(runs[i]);
    if (curve.empty()) continue;
    for (const Point& point : curve) {
      epochs.include(point.x);
      losses.include(point.y);
    }
    const std::string file = fmt::format("loss{}.txt", i);
    figure.data.emplace_back(file, columns(curve));
    // A few symbols on every line, not at the same epochs.
    const std::size_t interval = std::max<std::size_t>(1, curve.size() / 6);
    const std::size_t first = interval * i / runs.size();
    const RunStyle style = style_of(i);
    plots += fmt::format(
        "{0}'{1}' with lines linecolor rgb '{2}' linewidth 2.2 notitle, \\\n"
        "     '{1}' every {3}::{4} with points pointtype {5} pointsize 0.9 linecolor rgb '{2}' notitle",
        plots.empty() ? "plot " : ", \\\n     ", file, style.colour, interval, first, style.symbol);
  }
  if (plots.empty()) return "";
  const bool is_one_epoch = epochs.length() < 1;
  std::string script = "set xlabel 'epoch'\nset ylabel 'training loss'\n";
  script += fmt::format("set xrange [{}:{}]\n", is_one_epoch ? epochs.low - 1 : epochs.low,
                        is_one_epoch ? epochs.high + 1 : epochs.high);
  script += epochs.length() <= 8 ? "set xtics 1\n" : "set xtics autofreq\n";
  return script + logarithmic_tics("y", losses.low / 1.25, losses.high * 1.25) + plots + "\n";
}

/// Each set has a band, and each run a row in it, both from the top.
double row_of(std::size_t set, std::size_t sets, std::size_t run, std::size_t runs) {
  const double spacing = std::min(0.84 / static_cast<double>(runs), 0.24);
  return static_cast<double>(sets - set) + spacing * (0.5 * static_cast<double>(runs - 1) - static_cast<double>(run));
}

/// Empty where no set has an error to draw.
std::string error_panel(const std::vector<ComparedRun>& runs, Figure& figure) {
  const std::vector<std::string> sets = sets_of(runs);
  const MetricKind& metric = compared_metric(runs);
  Range errors;
  for (const ComparedRun& run : runs)
    for (const SetMetrics& set : run.sets)
      if (const double value = set.trained[metric.name]; can_be_logarithmic(value)) errors.include(value);
  if (errors.is_empty) return "";
  const double margin = std::max(1.5, std::pow(errors.high / errors.low, 0.06));
  const double low = errors.low / margin;
  std::string plots;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    std::string data;
    for (std::size_t set = 0; set < sets.size(); ++set) {
      const SetMetrics* metrics = runs[i].find_set(sets[set]);
      const double value = metrics != nullptr ? metrics->trained[metric.name] : 0;
      if (can_be_logarithmic(value))
        data += fmt::format("{:.10g} {:.6g} {:.10g}\n", value, row_of(set, sets.size(), i, runs.size()), low - value);
    }
    if (data.empty()) continue;
    const std::string file = fmt::format("error{}.txt", i);
    figure.data.emplace_back(file, data);
    const RunStyle style = style_of(i);
    plots += fmt::format(
        "{0}'{1}' using 1:2:3:(0) with vectors nohead linecolor rgb '{2}' linewidth 1.2 notitle, \\\n"
        "     '{1}' using 1:2 with points pointtype {3} pointsize 0.9 linecolor rgb '{2}' notitle",
        plots.empty() ? "plot " : ", \\\n     ", file, style.colour, style.symbol);
  }
  std::string labels,
      script = fmt::format("set xlabel '{} after training'\nunset ylabel\nunset grid\nset grid x\n", metric.title);
  for (std::size_t set = 0; set < sets.size(); ++set) {
    labels +=
        fmt::format("{}{} {}", set > 0 ? ", " : "", gnuplot_string(fitting(sets[set], longest_set)), sets.size() - set);
    if (set > 0)
      script +=
          fmt::format("set arrow from graph 0, first {0} to graph 1, first {0} nohead back linecolor rgb '#BDBDBD'\n",
                      static_cast<double>(sets.size() - set) + 0.5);
  }
  script += fmt::format("unset logscale y\nset yrange [0.5:{}]\nset ytics ({}) noenhanced scale 0\n",
                        static_cast<double>(sets.size()) + 0.5, labels);
  return script + logarithmic_tics("x", low, errors.high * margin) + plots + "\n";
}

}  // namespace

Figure comparison_figure(const std::vector<ComparedRun>& runs) {
  const std::vector<std::string> sets = sets_of(runs);
  Figure figure{"comparison", width, 0, "", {}};
  const std::string losses = loss_panel(runs, figure), errors = error_panel(runs, figure);
  if (losses.empty() && errors.empty()) return figure;

  const double band = 16 + 13 * static_cast<double>(runs.size());
  const double panel = std::clamp(band * static_cast<double>(sets.size()), 320.0, 680.0);
  constexpr double below = 58, beside = 84;  // room for an axis and what it is called
  const Legend legend = legend_of(labels_of(runs), static_cast<int>(panel + below));
  figure.height = static_cast<int>(panel + below) + legend.height;
  std::size_t longest = 0;
  for (const std::string& set : sets) longest = std::max(longest, character_count(fitting(set, longest_set)));
  const double set_names = 30 + letter * static_cast<double>(longest);
  const double middle = errors.empty() ? width - 20 : (width + beside - set_names) / 2;  // panels of the same width
  const Frame left{beside, middle - 20, below, below + panel};
  const Frame right{losses.empty() ? set_names : middle + set_names, width - 24.0, below, below + panel};

  figure.script = common_style() + "set multiplot\nunset key\n" + legend.script;
  if (!losses.empty()) figure.script += margins(left, figure.height) + losses + "unset arrow\nunset label\n";
  if (!errors.empty()) figure.script += margins(right, figure.height) + errors;
  figure.script += "unset multiplot\n";
  return figure;
}

}  // namespace ridgeline::report

#include "report/figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "config/text.hpp"
#include "core/error.hpp"
#include "io/files.hpp"
#include "io/temporary_folder.hpp"
#include "report/curve.hpp"
#include "report/gnuplot.hpp"
#include "report/plot_style.hpp"

namespace ridgeline::report {

namespace {

constexpr const char* font = "Helvetica";
constexpr int font_size = 14;
constexpr std::size_t most_panels = 6;
constexpr std::size_t most_curve_points = 800;

/// Tics of a linear axis, at most `most`, with a power of ten apart where numbers would be long: "×10⁻¹⁰" then stands at
/// the axis' end (`label_place`).
std::string linear_tics(const char* axis, const Range& range, int most, const std::string& label_place) {
  const double rough = range.length() / most;
  const double decade = std::pow(10.0, std::floor(std::log10(rough)));
  const double step = rough <= decade       ? decade
                      : rough <= 2 * decade ? 2 * decade
                      : rough <= 5 * decade ? 5 * decade
                                            : 10 * decade;
  const double largest = std::max(std::abs(range.low), std::abs(range.high));
  const int power = largest >= 1e5 || largest < 1e-2 ? static_cast<int>(std::floor(std::log10(largest))) : 0;
  const double unit = std::pow(10.0, power);
  const int digits = std::clamp(static_cast<int>(-std::floor(std::log10(step / unit) + 1e-9)), 0, 9);
  std::string tics;
  const double first = std::ceil(range.low / step - 1e-9);
  for (int index = 0; index <= most + 1 && (first + index) * step <= range.high + 1e-9 * range.length(); ++index) {
    const double value = (first + index) * step;
    const double shown = value / unit;
    const bool is_negative = shown < -0.5 * std::pow(10.0, -digits);
    tics += fmt::format("{}'{}{:.{}f}' {:.12g}", tics.empty() ? "" : ", ", is_negative ? "−" : "", std::abs(shown),
                        digits, value);
  }
  const std::string label =
      power == 0 ? "" : fmt::format("set label '×10^{{{}}}' at {}\n", minus_sign(std::to_string(power)), label_place);
  return fmt::format("set {0}range [{1:.12g}:{2:.12g}]\nset {0}tics ({3})\n", axis, range.low, range.high, tics) +
         label;
}

/// A line of the loss picture.
struct Line {
  std::string title;
  std::vector<Point> points;
  std::string style;
};

std::vector<Line> loss_lines(const History& history) {
  std::vector<Line> lines;
  // The loss beside the sets, in their unit: it has the natural logarithm, they that of base 2.
  const double unit = history.metric == "bits_per_dimension" ? std::log(2.0) : 1;
  Line loss{"training loss", {}, fmt::format("linecolor rgb '{}' linewidth 2.2", black)};
  for (const HistoryRow& row : history.rows) {
    const double value = row.loss / unit;
    if (can_be_logarithmic(value)) {
      loss.points.push_back({static_cast<double>(row.epoch), value});
    }
  }
  lines.push_back(std::move(loss));
  // Colours first, then dashes: neighbours differ in both.
  constexpr std::array<const char*, 4> dashes{"solid", "(9,4)", "(9,4,3,4)", "(3.5,3)"};
  for (std::size_t set = 0; set < history.sets.size(); ++set) {
    const std::size_t dash = (set + set / set_colours.size()) % dashes.size();
    Line line{fitting(history.sets[set]), {}, ""};
    line.style = fmt::format("linecolor rgb '{}' linewidth 2.2 dashtype {}", set_colours[set % set_colours.size()],
                             dashes[dash]);
    for (const HistoryRow& row : history.rows) {
      if (set < row.set_values.size() && row.set_values[set] && can_be_logarithmic(*row.set_values[set])) {
        line.points.push_back({static_cast<double>(row.epoch), *row.set_values[set]});
      }
    }
    lines.push_back(std::move(line));
  }
  lines.erase(std::remove_if(lines.begin(), lines.end(), [](const Line& line) { return line.points.empty(); }),
              lines.end());
  return lines;
}

}  // namespace

Figure loss_figure(const History& history) {
  const std::vector<Line> lines = loss_lines(history);
  Figure figure{"loss", 900, std::max(460, 100 + 26 * static_cast<int>(lines.size())), "", {}};
  if (lines.empty()) {
    return figure;
  }
  Range epochs;
  Range values;
  std::string plots;
  for (std::size_t index = 0; index < lines.size(); ++index) {
    const Line& line = lines[index];
    for (const Point& point : line.points) {
      epochs.include(point.x);
      values.include(point.y);
    }
    const std::string file = fmt::format("line{}.txt", index);
    figure.data.emplace_back(file, columns(thinned(line.points, 2 * most_curve_points)));
    const char* kind = line.points.size() <= 25 ? "linespoints pointtype 7 pointsize 0.6" : "lines";
    plots += fmt::format("{}'{}' with {} {} title {} noenhanced", plots.empty() ? "plot " : ", \\\n     ", file, kind,
                         line.style, gnuplot_string(line.title));
  }
  const bool is_one_epoch = epochs.length() < 1;
  figure.script = common_style();
  const MetricKind* metric = find_metric(history.metric);
  figure.script += fmt::format("set xlabel 'epoch'\nset ylabel '{}'\n", metric != nullptr ? metric->title : "");
  figure.script +=
      fmt::format("set xrange [{}:{}]\n", epochs.low - (is_one_epoch ? 1 : 0), epochs.high + (is_one_epoch ? 1 : 0));
  figure.script += epochs.length() <= 12 ? "set xtics 1\n" : "";
  figure.script += logarithmic_tics("y", values.low / 1.25, values.high * 1.25);
  figure.script += "set key outside right center vertical maxcols 1 Left reverse samplen 2.5 spacing 1.1\n";
  figure.script += plots + "\n";
  return figure;
}

namespace {

/// Where a function's tokens lie on the abscissa, and the order in which lines visit them.
struct Abscissa {
  std::vector<double> positions;
  std::vector<std::size_t> order;
  bool is_coordinate = true;  // else the token's number
};

Abscissa abscissa_of(const ResultSet<double>& set, std::size_t sample) {
  const auto tokens = static_cast<std::size_t>(set.tokens);
  const auto channels = static_cast<std::size_t>(set.channels);
  Abscissa abscissa{std::vector<double>(tokens), std::vector<std::size_t>(tokens), channels > 0};
  std::iota(abscissa.order.begin(), abscissa.order.end(), std::size_t{0});
  for (std::size_t token = 0; token < tokens && channels > 0; ++token) {
    abscissa.positions[token] = set.inputs[(sample * tokens + token) * channels];
  }
  const std::vector<double>& x = abscissa.positions;
  std::stable_sort(abscissa.order.begin(), abscissa.order.end(),
                   [&x](std::size_t left, std::size_t right) { return x[left] < x[right]; });
  const bool is_repeated =
      std::adjacent_find(abscissa.order.begin(), abscissa.order.end(), [&x](std::size_t left, std::size_t right) {
        return !(x[left] < x[right]);  // catches what is no number, too
      }) != abscissa.order.end();
  if (is_repeated || channels == 0) {
    abscissa.is_coordinate = false;
    std::iota(abscissa.positions.begin(), abscissa.positions.end(), 0.0);
    std::iota(abscissa.order.begin(), abscissa.order.end(), std::size_t{0});
  }
  return abscissa;
}

std::vector<Point> curve_of(const ResultSet<double>& set, const std::vector<double>& values, std::size_t sample,
                            const Abscissa& abscissa) {
  const auto tokens = static_cast<std::size_t>(set.tokens);
  const auto targets = static_cast<std::size_t>(set.targets);
  std::vector<Point> curve;
  for (const std::size_t token : abscissa.order) {
    if (targets > 0 && !values.empty()) {
      curve.push_back({abscissa.positions[token], values[(sample * tokens + token) * targets]});
    }
  }
  return curve;
}

/// At most 40 of the shown points: more would hide the lines.
std::vector<Point> shown_of(const ResultSet<double>& set, std::size_t sample, const Abscissa& abscissa,
                            const std::vector<Point>& truth) {
  constexpr std::size_t most_shown = 40;
  std::vector<Point> shown;
  for (std::size_t index = 0; index < truth.size(); ++index) {
    if (set.shown[sample * static_cast<std::size_t>(set.tokens) + abscissa.order[index]] != 0) {
      shown.push_back(truth[index]);
    }
  }
  if (shown.size() <= most_shown) {
    return shown;
  }
  std::vector<Point> some;
  for (std::size_t index = 0; index < most_shown; ++index) {
    some.push_back(shown[index * shown.size() / most_shown]);
  }
  return some;
}

double relative_error(const std::vector<Point>& prediction, const std::vector<Point>& truth) {
  double difference = 0;
  double norm = 0;
  for (std::size_t index = 0; index < truth.size(); ++index) {
    difference += std::pow(prediction[index].y - truth[index].y, 2);
    norm += std::pow(truth[index].y, 2);
  }
  return std::sqrt(difference / norm);
}

std::string remark_on(const std::vector<Point>& trained, double error) {
  const bool is_finite =
      std::all_of(trained.begin(), trained.end(), [](const Point& point) { return std::isfinite(point.y); });
  if (!is_finite) {
    return "   (prediction not finite)";
  }
  return std::isfinite(error) && error > 0 ? fmt::format("   (relative error {:.2g})", error) : "";
}

/// The four things drawn of a function.
struct Panel {
  std::vector<Point> truth, untrained, trained, shown;
  Range x, y;
  bool is_coordinate = true;
  std::string remark;  // beside the function's number
};

Panel panel_of(const ResultSet<double>& set, std::size_t sample) {
  const Abscissa abscissa = abscissa_of(set, sample);
  Panel panel;
  panel.truth = curve_of(set, set.truth, sample, abscissa);
  panel.trained = curve_of(set, set.predictions, sample, abscissa);
  panel.untrained = curve_of(set, set.untrained_predictions, sample, abscissa);
  panel.shown = shown_of(set, sample, abscissa, panel.truth);
  panel.is_coordinate = abscissa.is_coordinate;
  panel.remark = remark_on(panel.trained, set.targets == 1 ? relative_error(panel.trained, panel.truth) : 0);
  for (const std::vector<Point>* curve : {&panel.truth, &panel.trained}) {
    for (const Point& point : *curve) {
      panel.x.include(point.x);
      panel.y.include(point.y);
    }
  }
  // An untrained model may be far off: it must not flatten the rest.
  Range with_untrained = panel.y;
  for (const Point& point : panel.untrained) {
    with_untrained.include(point.y);
  }
  const double size = std::max({panel.y.length(), std::abs(panel.y.low), std::abs(panel.y.high)});
  if (panel.y.is_empty || with_untrained.length() <= 2.5 * size) {
    panel.y = with_untrained;
  }
  return panel;
}

/// How each of the four is drawn; the legend's entries have the same styles.
struct CurveStyle {
  const char* title;
  const char* lines;   // linestyle of a curve, empty: points only
  const char* points;  // pointstyle
};
constexpr std::array<CurveStyle, 4> curve_styles{{
    {"truth", "linecolor rgb '#000000' linewidth 2.6 dashtype solid", "pointtype 6 pointsize 0.7"},
    {"untrained", "linecolor rgb '#56B4E9' linewidth 2.4 dashtype (3.5,3)", "pointtype 4 pointsize 0.6"},
    {"trained", "linecolor rgb '#D55E00' linewidth 2.4 dashtype (9,4)", "pointtype 9 pointsize 0.7"},
    {"shown to the model", "", "linecolor rgb '#0072B2' pointtype 7 pointsize 0.8"},
}};

std::string with_style(const CurveStyle& style, bool has_markers) {
  if (style.lines[0] == '\0') {
    return fmt::format("points {}", style.points);
  }
  return has_markers ? fmt::format("linespoints {} {}", style.lines, style.points)
                     : fmt::format("lines {}", style.lines);
}

std::string panel_plots(const Panel& panel, std::size_t index, Figure& figure) {
  constexpr std::size_t few_tokens = 16;  // a line through so few hides where they are; a single one draws no line
  const std::array<const std::vector<Point>*, 4> curves{&panel.truth, &panel.untrained, &panel.trained, &panel.shown};
  std::string plots;
  for (std::size_t curve = 0; curve < curves.size(); ++curve) {
    if (!has_finite(*curves[curve])) {
      continue;
    }
    const std::string file = fmt::format("panel{}_{}.txt", index, curve);
    figure.data.emplace_back(file, columns(thinned(*curves[curve], most_curve_points)));
    plots += fmt::format("{}'{}' with {} notitle", plots.empty() ? "" : ", \\\n     ", file,
                         with_style(curve_styles[curve], panel.truth.size() <= few_tokens));
  }
  return plots;
}

/// A strip at the top with a key of all panels: a plot without axes or points.
std::string legend_script(const ResultSet<double>& set, double top_margin, std::size_t few) {
  const bool has_untrained = !set.untrained_predictions.empty();
  const bool has_shown = std::any_of(set.shown.begin(), set.shown.end(), [](std::uint8_t flag) { return flag != 0; });
  std::string plots;
  for (std::size_t curve = 0; curve < curve_styles.size(); ++curve) {
    if ((curve == 1 && !has_untrained) || (curve == 3 && !has_shown)) {
      continue;
    }
    plots += fmt::format("{}NaN with {} title '{}'", plots.empty() ? "" : ", ",
                         with_style(curve_styles[curve], set.tokens <= static_cast<std::int64_t>(few)),
                         curve_styles[curve].title);
  }
  return fmt::format(
      "unset label\nunset border\nunset tics\nunset grid\nunset xlabel\nunset ylabel\nunset title\n"
      "set xrange [0:1]\nset yrange [0:1]\n"
      "set lmargin at screen 0.02\nset rmargin at screen 0.98\n"
      "set bmargin at screen {:.4f}\nset tmargin at screen 0.995\n"
      "set key center center horizontal Left reverse maxrows 1 samplen 3 width 1\nplot {}\n",
      1 - top_margin, plots);
}

}  // namespace

Figure predictions_figure(const ResultSet<double>& set, const std::vector<std::int64_t>& numbers,
                          const std::string& name) {
  const std::size_t panels = std::min(numbers.size(), most_panels);
  const std::size_t panel_columns = std::min<std::size_t>(panels, 3);
  const std::size_t panel_rows = panels > 3 ? 2 : 1;
  Figure figure{name, 1080, panel_rows == 2 ? 660 : 380, "", {}};
  if (panels == 0 || set.tokens == 0 || set.targets == 0) {
    return figure;
  }
  const double top = 48.0 / figure.height;
  const double bottom = 60.0 / figure.height;
  const double row_gap = 58.0 / figure.height;
  const double left = 0.065;
  const double column_gap = 0.06;
  const double width =
      (0.985 - left - column_gap * static_cast<double>(panel_columns - 1)) / static_cast<double>(panel_columns);
  const double title = 24.0 / figure.height;
  const double height =
      (1 - top - bottom - title - (panel_rows == 2 ? row_gap + title : 0)) / static_cast<double>(panel_rows);
  figure.script = common_style() + "set multiplot\nunset key\n";
  for (std::size_t index = 0; index < panels; ++index) {
    const std::size_t row = index / panel_columns;
    const std::size_t column = index % panel_columns;
    const bool is_lowest = index + panel_columns >= panels;
    const double x = left + static_cast<double>(column) * (width + column_gap);
    const double y = 1 - top - title - height - static_cast<double>(row) * (height + row_gap + title);
    const Panel panel = panel_of(set, index);
    const Range x_range = panel.x.length() > 0 ? panel.x : panel.x.padded(0);
    const Range y_range = panel.y.padded(0.08);
    const std::string plots = panel_plots(panel, index, figure);
    figure.script += fmt::format("set lmargin at screen {:.4f}\nset rmargin at screen {:.4f}\n", x, x + width);
    figure.script += fmt::format("set bmargin at screen {:.4f}\nset tmargin at screen {:.4f}\n", y, y + height);
    figure.script += "unset label\n" + linear_tics("x", x_range, 6, "graph 1,0 right offset 0,-1.9") +
                     linear_tics("y", y_range, 8, "graph 0,1 left offset -2,0.75");
    figure.script += fmt::format("set title 'function {}{}' offset 0,-0.6\n", numbers[index], panel.remark);
    const std::string x_label = !panel.is_coordinate        ? "token"
                                : set.channel_names.empty() ? "x"
                                                            : fitting(set.channel_names.front());
    const std::string y_label = set.target_names.empty() ? "y" : fitting(set.target_names.front());
    figure.script +=
        is_lowest ? fmt::format("set xlabel {} noenhanced offset 0,0.6\n", gnuplot_string(x_label)) : "unset xlabel\n";
    figure.script +=
        column == 0 ? fmt::format("set ylabel {} noenhanced\n", gnuplot_string(y_label)) : "unset ylabel\n";
    figure.script += fmt::format("plot {}\n", plots.empty() ? "NaN notitle" : plots);
  }
  figure.script += legend_script(set, top, 16) + "unset multiplot\n";
  return figure;
}

Figure metrics_figure(const std::vector<SetMetrics>& sets) {
  Figure figure{"metrics", 900, 120 + 34 * static_cast<int>(sets.size()), "", {}};
  Range values;
  std::string labels;
  std::vector<Point> untrained;
  std::vector<Point> trained;
  std::string arrows;
  const std::vector<MetricKind> kinds = kinds_of(sets);
  if (kinds.empty()) {
    return figure;
  }
  const std::string metric = kinds.front().name;
  for (std::size_t index = 0; index < sets.size(); ++index) {
    const auto row = static_cast<double>(sets.size() - index);
    const SetMetrics& set = sets[index];
    labels += fmt::format("{}{} {}", labels.empty() ? "" : ", ", gnuplot_string(fitting(set.set)), row);
    const double before = set.untrained[metric];
    const double after = set.trained[metric];
    if (can_be_logarithmic(before)) {
      untrained.push_back({before, row});
      values.include(before);
    }
    if (can_be_logarithmic(after)) {
      trained.push_back({after, row});
      values.include(after);
    }
    if (can_be_logarithmic(before) && can_be_logarithmic(after)) {
      arrows += fmt::format("{:.10g} {} {:.10g} 0\n", before, row, after - before);
    }
  }
  if (values.is_empty) {
    return figure;
  }
  std::string plots;
  const auto add = [&](const std::string& file, const std::string& content, const std::string& style) {
    if (!content.empty()) {
      figure.data.emplace_back(file, content);
      plots += fmt::format("{}'{}' {}", plots.empty() ? "plot " : ", \\\n     ", file, style);
    }
  };
  add("change.txt", arrows, fmt::format("with vectors nohead linecolor rgb '#BDBDBD' linewidth 3 notitle"));
  add("untrained.txt", columns(untrained),
      fmt::format("with points pointtype 6 pointsize 1.1 linewidth 2 linecolor rgb '{}' title 'untrained'", sky_blue));
  add("trained.txt", columns(trained),
      fmt::format("with points pointtype 7 pointsize 1.1 linecolor rgb '{}' title 'trained'", vermillion));
  const double margin = std::max(1.5, std::pow(values.high / values.low, 0.03));
  figure.script = common_style();
  figure.script +=
      fmt::format("set xlabel '{}'\n", metric == "mse" ? "mean squared error over all points" : kinds.front().title);
  figure.script += fmt::format("set yrange [0.4:{}]\n", static_cast<double>(sets.size()) + 0.6);
  figure.script += fmt::format("set ytics ({}) noenhanced scale 0\n", labels);
  figure.script += logarithmic_tics("x", values.low / margin, values.high * margin);
  figure.script += "set key above center horizontal Left reverse samplen 1 width 1\n";
  figure.script += plots + "\n";
  return figure;
}

namespace {

std::string seconds_text(double seconds) {
  std::string text = seconds >= 99.95 ? fmt::format("{:.0f}", seconds) : fmt::format("{:#.3g}", seconds);
  text.erase(text.find_last_not_of('.') + 1);
  return text + " s";
}

/// One segment of every bar: where it begins and ends, and in which row.
std::string segments(const std::vector<TimeShare>& shares, double TimeShare::*begin, double TimeShare::*length) {
  std::string data;
  for (std::size_t index = 0; index < shares.size(); ++index) {
    const double from = begin != nullptr ? shares[index].*begin : 0;
    data += fmt::format("{:.8g} {:.8g} {}\n", from, from + shares[index].*length, shares.size() - index);
  }
  return data;
}

}  // namespace

Figure time_figure(const std::vector<TimeShare>& shares) {
  Figure figure{"time", 900, 130 + 28 * static_cast<int>(shares.size()), "", {}};
  if (shares.empty()) {
    return figure;
  }
  std::string labels;
  std::string values;
  double longest = 0;
  double whole = 0;
  for (const TimeShare& share : shares) {
    longest = std::max(longest, share.seconds());
    whole += share.seconds();
  }
  for (std::size_t index = 0; index < shares.size(); ++index) {
    const std::size_t row = shares.size() - index;
    const double seconds = shares[index].seconds();
    labels += fmt::format("{}{} {}", labels.empty() ? "" : ", ", gnuplot_string(fitting(shares[index].label)), row);
    values += fmt::format("set label '{}  ({:.1f} %)' at {:.8g},{} left offset 0.6,0\n", seconds_text(seconds),
                          100 * seconds / whole, seconds, row);
  }
  figure.data.emplace_back("forward.txt", segments(shares, nullptr, &TimeShare::forward));
  figure.data.emplace_back("backward.txt", segments(shares, &TimeShare::forward, &TimeShare::backward));
  figure.data.emplace_back("other.txt", segments(shares, nullptr, &TimeShare::other));
  figure.script = common_style() + values;
  figure.script += "set xlabel 'time in seconds'\nunset grid\nset style fill solid 1.0 noborder\n";
  figure.script += "set key above center horizontal Left reverse samplen 1 width 1\n";
  figure.script += fmt::format("set xrange [0:{:.8g}]\nset yrange [0.4:{}]\n", 1.3 * longest,
                               static_cast<double>(shares.size()) + 0.6);
  figure.script += fmt::format("set ytics ({}) noenhanced scale 0\n", labels);
  const auto boxes = [](const char* file, const char* colour, const char* title) {
    return fmt::format("'{}' using 1:3:1:2:($3-0.34):($3+0.34) with boxxyerror linecolor rgb '{}' title '{}'", file,
                       colour, title);
  };
  figure.script += "plot " + boxes("forward.txt", blue, "forward pass of training") + ", " +
                   boxes("backward.txt", orange, "backward pass") + ", " + boxes("other.txt", grey, "other") + "\n";
  return figure;
}

std::vector<std::string> prediction_names(const std::vector<std::string>& set_names) {
  constexpr std::size_t longest = 100;
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const std::string& set : set_names) {
    std::string name = "predictions_";
    for (const char letter : set.substr(0, longest)) {
      const bool is_plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                            (letter >= '0' && letter <= '9') || letter == '-' || letter == '.';
      name += is_plain ? letter : '_';
    }
    std::string unique = name;
    for (int number = 2; !taken.insert(unique).second; ++number) {
      unique = fmt::format("{}_{}", name, number);
    }
    names.push_back(unique);
  }
  return names;
}

namespace {

/// The whole script, which draws the figure once for each form.
std::string script_of(const Figure& figure, Forms forms) {
  std::string script;
  if (forms == Forms::both)
    script += fmt::format(
        "set terminal svg enhanced size {},{} font '{},{}' background rgb 'white'\n"
        "set output 'figure.svg'\n{}set output\n",
        figure.width, figure.height, font, font_size, figure.script);
  return script +
         fmt::format(
             "if (strstrt(GPVAL_TERMINALS, ' pngcairo ') > 0) set terminal pngcairo enhanced size {0},{1} font "
             "'{2},{3}' fontscale 1.5 linewidth 2 pointscale 2 background rgb 'white'; "
             "else set terminal png enhanced size {0},{1} font '{2},{4}' linewidth 2\n"
             "set output 'figure.png'\n{5}set output\n",
             2 * figure.width, 2 * figure.height, font, font_size, 2 * font_size, figure.script);
}

/// Helvetica is on few machines under that name: says what may stand in.
std::string with_fallback_fonts(std::string svg) {
  const std::string one = fmt::format("font-family=\"{}\"", font);
  const std::string several = "font-family=\"Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif\"";
  for (std::size_t place = svg.find(one); place != std::string::npos; place = svg.find(one, place + several.size())) {
    svg.replace(place, one.size(), several);
  }
  return svg;
}

/// Draws with `work` as gnuplot's folder.
Rendered render_in(const std::filesystem::path& work, const Figure& figure, const std::filesystem::path& gnuplot,
                   Forms forms) {
  for (const auto& [name, content] : figure.data) {
    write_atomically(work / name, content);
  }
  if (const std::optional<std::string> complaint = run_gnuplot(gnuplot, script_of(figure, forms), work)) {
    return {"", "", *complaint};
  }
  const std::filesystem::path svg = work / "figure.svg", png = work / "figure.png";
  std::error_code error;
  if ((forms == Forms::both && !std::filesystem::exists(svg, error)) || !std::filesystem::exists(png, error)) {
    return {"", "", "it drew nothing"};
  }
  return {forms == Forms::both ? with_fallback_fonts(read_text(svg)) : "", read_text(png), ""};
}

}  // namespace

Rendered render(const Figure& figure, const std::filesystem::path& gnuplot, Forms forms) {
  try {
    const TemporaryFolder work;
    return render_in(work.path(), figure, gnuplot, forms);
  } catch (const Error& error) {
    return {"", "", clause(error.what())};
  }
}

Drawn draw(const Figure& figure, const std::filesystem::path& gnuplot, const std::filesystem::path& folder) {
  Drawn drawn;
  auto [svg, png, complaint] = render(figure, gnuplot);
  drawn.svg = std::move(svg);
  drawn.complaint = std::move(complaint);
  if (!drawn.complaint.empty()) {
    return drawn;
  }
  drawn.written = {folder / (figure.name + ".svg"), folder / (figure.name + ".png")};
  write_atomically(drawn.written[0], drawn.svg);
  write_atomically(drawn.written[1], png);
  return drawn;
}

}  // namespace ridgeline::report

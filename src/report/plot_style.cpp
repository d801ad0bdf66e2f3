#include "report/plot_style.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "config/text.hpp"

namespace ridgeline::report {

std::string common_style() {
  return fmt::format(
      "reset\n"
      "set encoding utf8\n"
      "set border 3 linecolor rgb '#404040' linewidth 1\n"
      "set tics nomirror out scale 0.6 textcolor rgb '{0}'\n"
      "set grid back linetype 1 linecolor rgb '#E4E4E4' linewidth 0.8\n"
      "set xtics offset 0,0.35\n"
      "set xlabel offset 0,0.6\n"
      "set samples 2\n"
      "if (GPVAL_VERSION >= 5.4) set minussign\n",
      black);
}

std::string fitting(const std::string& label, std::size_t longest) {
  if (find_invalid_utf8(label) != std::string_view::npos) {
    return excerpt(label, longest);
  }
  std::vector<std::size_t> begins;  // of every character
  for (std::size_t place = 0; place < label.size(); ++place) {
    if ((static_cast<unsigned char>(label[place]) & 0xC0U) != 0x80U) {
      begins.push_back(place);
    }
  }
  if (begins.size() <= longest) {
    return label;
  }
  const std::size_t front = longest / 2;
  const std::size_t back = longest - front - 1;
  return label.substr(0, begins[front]) + "…" + label.substr(begins[begins.size() - back]);
}

std::string minus_sign(const std::string& number) {
  return number.substr(0, 1) == "-" ? "−" + number.substr(1) : number;
}

std::string logarithmic_tics(const char* axis, double low, double high) {
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  const double decades = std::log10(high / low);
  const int stride = std::max(1, static_cast<int>(std::ceil(decades / 9)));
  const std::vector<int> steps = decades < 0.5   ? std::vector<int>{10, 12, 15, 20, 25, 30, 40, 50, 60, 70, 80, 90}
                                 : decades < 2.2 ? std::vector<int>{10, 20, 50}
                                                 : std::vector<int>{10};
  std::string tics;
  for (int decade = first; decade <= last; ++decade) {
    if (decade % stride != 0) {
      continue;
    }
    for (const int step : steps) {
      const double value = step / 10.0 * std::pow(10.0, decade);
      if (value < low * 0.999 || value > high * 1.001) {
        continue;
      }
      const bool is_plain = std::abs(decade) <= 3 && decades < 6;
      const std::string label = is_plain ? fmt::format("{:g}", value)
                                : step == 10
                                    ? fmt::format("10^{{{}}}", minus_sign(std::to_string(decade)))
                                    : fmt::format("{:g}×10^{{{}}}", step / 10.0, minus_sign(std::to_string(decade)));
      tics += fmt::format("{}'{}' {:.10g}", tics.empty() ? "" : ", ", label, value);
    }
  }
  return fmt::format("set logscale {0}\nset {0}range [{1:.10g}:{2:.10g}]\nset {0}tics ({3})\n", axis, low, high, tics);
}

bool can_be_logarithmic(double value) { return std::isfinite(value) && value > 0; }

}  // namespace ridgeline::report

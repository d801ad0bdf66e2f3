#include "report/kernel_section.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "report/html.hpp"

namespace ridgeline::report {
namespace {

/// As duration, with units for what is short.
std::string short_time(double seconds) {
  if (seconds >= 1 || seconds <= 0) return duration(seconds);
  if (seconds >= 1e-3) return fmt::format("{} ms", short_number(1e3 * seconds));
  return fmt::format("{} µs", short_number(1e6 * seconds));
}

std::string row(const std::string& name, const std::string& place, std::int64_t calls, double seconds, double whole,
                const std::string& rates) {
  const double share = whole > 0 ? 100 * seconds / whole : 0;
  const std::string a_call = calls > 0 ? short_time(seconds / static_cast<double>(calls)) : "";
  return fmt::format(
      "<tr><td class=\"name\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.1f} %</td>{}"
      "<td class=\"bar\"><span style=\"width:{:.2f}%\"></span></td></tr>\n",
      escaped(name), escaped(place), calls > 0 ? std::to_string(calls) : "", short_time(seconds), a_call, share, rates,
      share);
}

std::string kernel_row(const KernelTime& kernel, const KernelTimes& times) {
  const double rate = kernel.operations_per_second();
  const std::string rates = rate > 0 ? fmt::format("<td>{}</td><td>{:.0f} %</td>", short_number(1e-9 * rate),
                                                   100 * rate / times.operations_per_second)
                                     : "<td></td><td></td>";
  return row(kernel.name, kernel.place, kernel.calls, kernel.seconds, times.seconds, rates);
}

std::string table(const std::string& rows) {
  return "<div class=\"wide\"><table "
         "class=\"kernels\">\n<thead><tr><th>kernel</th><th>in</th><th>calls</th><th>time</th>"
         "<th>a call</th><th>share</th><th>GFLOP/s</th><th>of GEMM</th><th></th></tr></thead>\n<tbody>\n" +
         rows + "</tbody>\n</table></div>\n";
}

}  // namespace

std::string kernel_section(const KernelTimes& times) {
  if (times.kernels.empty()) return "";
  std::string large, small;
  double small_seconds = 0, all_seconds = 0;
  std::int64_t small_kernels = 0;
  for (const KernelTime& kernel : times.kernels) {
    all_seconds += kernel.seconds;
    (times.is_large(kernel) ? large : small) += kernel_row(kernel, times);
    if (times.is_large(kernel)) continue;
    small_seconds += kernel.seconds;
    ++small_kernels;
  }
  const std::string no_rates = "<td></td><td></td>";
  if (small_kernels > 0)
    large += row(fmt::format("{} other{}, below", small_kernels, small_kernels == 1 ? "" : "s"), "", 0, small_seconds,
                 times.seconds, no_rates);
  large += row("outside kernels", "", 0, std::max(0.0, times.seconds - all_seconds), times.seconds, no_rates);
  std::string html = "<h2>Kernels</h2>\n" + table(large);
  if (small_kernels > 0) html += "<details><summary>The others</summary>\n" + table(small) + "</details>\n";
  return html + fmt::format(
                    "<p class=\"small\">Of the {} that were profiled. GFLOP/s: where a kernel counts its operations, a "
                    "multiply-add as two. Of GEMM: that rate over the {} GFLOP/s of a large matrix product, measured "
                    "when the run began. profile.json holds a trace of the first steps.</p>\n",
                    duration(times.seconds), short_number(1e-9 * times.operations_per_second));
}

}  // namespace ridgeline::report

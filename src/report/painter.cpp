#include "report/painter.hpp"

#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/stop.hpp"
#include "io/files.hpp"
#include "io/temporary_folder.hpp"
#include "report/gnuplot.hpp"

namespace ridgeline::report {

Painter::Painter(std::filesystem::path folder, Report& report) : folder_(std::move(folder)), report_(report) {
  gnuplot_ = find_program("gnuplot");
  if (!gnuplot_) {
    report_.without_pictures =
        "pictures need gnuplot, which is not on PATH: install it and run `ridgeline report` on this folder";
    return;
  }
  try {
    const TemporaryFolder probe;
  } catch (const Error& error) {
    report_.without_pictures = "pictures need a temporary folder (TMPDIR): " + clause(error.what());
    gnuplot_.reset();
    return;
  }
  make_directory(folder_);
}

std::string Painter::draw(const Figure& figure) {
  if (!gnuplot_ || figure.script.empty()) {
    return "";
  }
  Drawn drawn = report::draw(figure, *gnuplot_, folder_);
  check_stop();  // an interrupt from the keyboard ends gnuplot as well
  if (!drawn.complaint.empty()) {
    report_.without_pictures =
        fmt::format("{} could not draw {}: {}", gnuplot_->string(), figure.name, drawn.complaint);
    return "";
  }
  report_.figures.insert(report_.figures.end(), drawn.written.begin(), drawn.written.end());
  return std::move(drawn.svg);
}

std::string title_of(const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path full = std::filesystem::weakly_canonical(folder, error);
  const std::filesystem::path path = error ? folder : full;
  const std::string name = (path.has_filename() ? path : path.parent_path()).filename().string();
  return name.empty() ? "run" : name;
}

}  // namespace ridgeline::report

// Draws the pictures of a report, as far as there is something to draw with.

#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "report/figures.hpp"
#include "report/report.hpp"

namespace ridgeline::report {

/// Draws pictures as long as gnuplot is there and does what it is told; after that the report says why not.
class Painter {
 public:
  /// `folder` is made where there is something to draw with. Throws Error(Exit::file).
  Painter(std::filesystem::path folder, Report& report);

  /// The picture as SVG, empty where there is none. Throws Error(Exit::file), and as check_stop.
  std::string draw(const Figure& figure);

 private:
  std::filesystem::path folder_;
  Report& report_;
  std::optional<std::filesystem::path> gnuplot_;
};

/// A title for what is in this folder, also where it is given as "." or with a slash at its end.
std::string title_of(const std::filesystem::path& folder);

}  // namespace ridgeline::report

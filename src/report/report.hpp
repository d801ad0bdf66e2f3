// The pictures and report.html of a run directory, drawn from its files alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ridgeline {

struct Report {
  std::filesystem::path html;                  // report.html
  std::vector<std::filesystem::path> figures;  // what was drawn into figures/, SVG and PNG
  std::string without_pictures;                // empty, or the one line that says why there are no pictures
};

/// Draws figures/*.svg, figures/*.png and report.html from deck.ini, history.csv and results.h5, whichever are there
/// (results.h5 or history.csv at least). Without gnuplot on PATH, or a temporary folder for it, the page is written
/// without pictures and `without_pictures` says so: print it, it is no failure. Pictures of sets that are gone
/// (figures/predictions_*) are removed. Throws Error(Exit::file) when the folder holds no run, a
/// file in it cannot be understood, or something cannot be written.
Report draw_report(const std::filesystem::path& run_directory);

}  // namespace ridgeline

// The pictures and report.html of a run directory, drawn from its files alone.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "io/image_file.hpp"

namespace ridgeline {

struct Report {
  std::filesystem::path html;                  // report.html
  std::vector<std::filesystem::path> figures;  // what was drawn into figures/, SVG and PNG
  std::string without_pictures;                // empty, or the one line that says why there are no pictures
};

/// Draws figures/*.svg, figures/*.png and report.html from deck.ini, history.csv and results.h5, whichever are there
/// (results.h5 or history.csv at least). Without gnuplot on PATH, or a temporary folder for it, the page is written
/// without pictures and `without_pictures` says so: print it, it is no failure. Pictures of an earlier report that this
/// one has not are removed. Throws Error(Exit::file) when the folder holds no run, a file in it cannot be understood, or
/// something cannot be written.
Report draw_report(const std::filesystem::path& run_directory);

/// A picture of images, beside the file that they are in.
struct DrawnImages {
  std::filesystem::path png;
  int count = 0;          // images in it: more than most_drawn are too small to be seen
  std::string complaint;  // why there is none, where there is none
};

inline constexpr int most_drawn = 400;

/// The file of the same name with the ending .png.
std::filesystem::path picture_beside(const std::filesystem::path& file);

/// Draws images of so many levels, the first `most_drawn` of them, into the picture beside the file. Throws
/// Error(Exit::file) where that cannot be written.
DrawnImages draw_images(const std::filesystem::path& file, const Images& images, int levels);

}  // namespace ridgeline

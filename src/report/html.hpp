// report.html: one file, nothing loaded from elsewhere, no script.

#pragma once

#include <string>
#include <vector>

#include "io/kernel_times.hpp"
#include "io/results.hpp"
#include "report/time_tree.hpp"

namespace ridgeline::report {

/// The text as it may stand in HTML's text and attributes: markup escaped, control characters and what is not UTF-8
/// replaced.
std::string escaped(const std::string& text);

std::string base64(const std::string& bytes);

/// A number as a table shows it: three digits, "–" for NaN.
std::string short_number(double value);

/// "1.23 s", "3 min 05 s", "2 h 07 min".
std::string duration(double seconds);

/// A picture, or none where `svg` is empty.
struct Picture {
  std::string svg;
  std::string caption;
};

/// A test set with its picture.
struct SetSection {
  std::string name;
  hdf5::Shape inputs;  // samples, tokens, channels
  bool is_of_images = false;
  Metrics untrained;
  Metrics trained;
  Picture picture;
};

/// All that the page shows.
struct Page {
  std::string title;
  Facts facts;
  std::string notice;  // above everything, where not empty: why there are no pictures
  Picture loss;
  Picture metrics;
  Picture time;
  Picture generated;  // images that the model made
  Picture biases;     // what attention adds to its scores
  std::vector<SetSection> sets;
  std::vector<TimeNode> nodes;
  KernelTimes kernels;
  std::string deck;
};

std::string page_html(const Page& page);

/// What every page begins with, up to its heading and the line below it. `title` and `subtitle` are plain text.
std::string page_head(const std::string& title, const std::string& subtitle);

/// A box above everything; empty for an empty text.
std::string notice_html(const std::string& notice);

/// The picture and its caption, as an image rather than inline: every SVG of gnuplot uses the same ids. Empty where
/// there is none.
std::string figure_html(const Picture& picture);

/// The facts that every run has, in the order in which people ask for them, then the others; no title.
std::string facts_html(const Facts& facts);

}  // namespace ridgeline::report

// report.html: one file, nothing loaded from elsewhere, no script.

#pragma once

#include <string>
#include <vector>

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
  std::vector<SetSection> sets;
  std::vector<TimeNode> nodes;
  std::string deck;
};

std::string page_html(const Page& page);

}  // namespace ridgeline::report

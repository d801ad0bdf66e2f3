// The pictures of a run, as gnuplot scripts with their data.

#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "io/history.hpp"
#include "io/results.hpp"
#include "report/time_summary.hpp"

namespace ridgeline::report {

/// A picture that is not drawn yet. The script lacks only terminal and output, and finds its data by name.
struct Figure {
  std::string name;  // of the files, without ".svg" or ".png"
  int width = 0;     // pixels of the SVG; the PNG has twice as many
  int height = 0;
  std::string script;
  std::vector<std::pair<std::string, std::string>> data;  // file name, content
};

/// Training loss and each set's metric against the epoch, both as far as they are finite and positive: the
/// axis is logarithmic. An empty script where there is nothing to draw.
Figure loss_figure(const History& history);

/// A panel a function of `set` (at most six): truth, shown points, untrained and trained prediction of target 0 against
/// input channel 0, or against the token's number where channel 0 does not tell tokens apart. `numbers` are the
/// functions' places in results.h5, `name` the picture's.
Figure predictions_figure(const ResultSet<double>& set, const std::vector<std::int64_t>& numbers,
                          const std::string& name);

/// The first of the sets' metrics before and after training.
Figure metrics_figure(const std::vector<SetMetrics>& sets);

/// A bar for each part, forward and backward passes side by side in it.
Figure time_figure(const std::vector<TimeShare>& shares);

/// "predictions_NAME" for every set, with '_' for what a file's name should not hold, all different.
std::vector<std::string> prediction_names(const std::vector<std::string>& set_names);

/// A picture's files, or what gnuplot complained about.
struct Rendered {
  std::string svg;  // empty where the PNG alone is asked for
  std::string png;
  std::string complaint;
};

enum class Forms { both, png };

/// Draws a picture in a temporary folder; what goes wrong there is a complaint.
Rendered render(const Figure& figure, const std::filesystem::path& gnuplot, Forms forms = Forms::both);

/// What was drawn, or what gnuplot complained about.
struct Drawn {
  std::string svg;                             // the picture's text
  std::vector<std::filesystem::path> written;  // FOLDER/NAME.svg, FOLDER/NAME.png
  std::string complaint;
};

/// Draws a picture into `folder`, both files atomically. Throws Error(Exit::file) where that cannot be written. What
/// goes wrong in the temporary folder is a complaint.
Drawn draw(const Figure& figure, const std::filesystem::path& gnuplot, const std::filesystem::path& folder);

}  // namespace ridgeline::report

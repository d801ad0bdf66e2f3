// Several runs beside one another: a table, a picture and a page, drawn from the files in their folders alone.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/history.hpp"
#include "io/metrics.hpp"
#include "io/results.hpp"
#include "report/figures.hpp"
#include "report/html.hpp"
#include "report/report.hpp"

namespace ridgeline {

namespace report {

/// A run of a comparison, as its files tell of it.
struct ComparedRun {
  std::string name;  // of its folder in that of the comparison, which is its deck's
  Facts facts;
  std::string deck;  // resolved
  History history;
  std::vector<SetMetrics> sets;

  std::int64_t steps() const;
  /// That the steps of training took.
  double seconds() const;
  /// NaN where there were none.
  double steps_per_second() const;
  /// The last epoch's; NaN where there was none.
  double loss() const;
  /// nullptr where the run has no such set.
  const SetMetrics* find_set(const std::string& set) const;
};

/// Throws Error(Exit::file) where the folder lacks the files of a whole run, or one cannot be understood.
ComparedRun read_compared_run(const std::filesystem::path& folder);

/// The kinds of figure that any of the runs has, in metric_kinds' order.
std::vector<MetricKind> kinds_of(const std::vector<ComparedRun>& runs);
/// The one that is drawn: the first of these. Runs of tasks that have others show none.
const MetricKind& compared_metric(const std::vector<ComparedRun>& runs);

/// Names of the sets of all runs, in the order of first mention.
std::vector<std::string> sets_of(const std::vector<ComparedRun>& runs);

/// comparison.csv: a header, and a row a run. Fields are quoted where a name makes it necessary.
std::string comparison_csv(const std::vector<ComparedRun>& runs);

/// The column `deck` of a comparison.csv. Throws Error(Exit::file), naming `path`, where the text is none.
std::vector<std::string> names_in_comparison(const std::string& csv, const std::filesystem::path& path);

/// The same in short, for the screen: of every set the first figure of each task that it is of, "-" where a run has none.
std::string comparison_table(const std::vector<ComparedRun>& runs);

/// A key of the resolved decks that has not the same value in all of them.
struct DeckDifference {
  std::string section, key;
  std::vector<std::optional<std::string>> values;  // one a run; none where the deck does not have the key
};

/// In the order of the decks.
std::vector<DeckDifference> deck_differences(const std::vector<ComparedRun>& runs);

/// Training loss against the epoch, a line a run, and beside it every set's metric after training.
Figure comparison_figure(const std::vector<ComparedRun>& runs);

std::string comparison_html(const std::string& title, const std::vector<ComparedRun>& runs, const Picture& picture,
                            const std::string& notice);

}  // namespace report

/// Whether there is a comparison.csv in the folder.
bool holds_comparison(const std::filesystem::path& folder);

struct Comparison {
  Report report;      // report.html is comparison.html
  std::string table;  // for the screen
};

/// Writes comparison.csv, comparison.html and figures/comparison.svg and .png into `folder`, from the runs of these
/// names in it. Pictures as those of draw_report. Throws Error: Exit::file where a run is not whole, or something cannot
/// be written; Exit::stopped, once comparison.csv is there.
Comparison draw_comparison(const std::filesystem::path& folder, const std::vector<std::string>& names);

/// The same of the runs that its comparison.csv names.
Comparison draw_comparison(const std::filesystem::path& folder);

}  // namespace ridgeline

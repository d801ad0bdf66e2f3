// Where the runs of several decks go, and the comparison that is made of them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "driver/console.hpp"
#include "driver/run_directory.hpp"

namespace ridgeline {

/// A folder with a folder in it for each deck's run, named after the deck, and the files that compare them.
class ComparisonDirectory {
 public:
  /// runs/comparison, or the folder that the user named. Changes nothing yet. Throws Error(Exit::mistake) where two decks
  /// have one name, a deck has that of a file of the comparison, or a comparison is there already and that is to be
  /// refused.
  ComparisonDirectory(const std::string& named, const std::vector<std::string>& decks, Earlier earlier);

  std::string folder_of(const std::string& deck) const;

  /// With Earlier::overwrite removes the comparison that was there; the runs' folders are left to the runs.
  void prepare() const;

  /// Compares the runs of these decks, on the screen and in the folder. Throws as draw_comparison.
  void compare(const std::vector<std::string>& decks, Console& console) const;

 private:
  std::filesystem::path path_;
  Earlier earlier_;
};

/// Whether the run of this resolved deck is in the folder, whole: results, metrics and report, in this order, were
/// written after deck and checkpoint.
bool is_done(const RunDirectory& directory, const std::string& resolved);

}  // namespace ridgeline

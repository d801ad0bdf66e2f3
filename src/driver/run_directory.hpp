// The folder of one run, and what is in it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace ridgeline {

/// What to do with what an earlier run left in the folder.
enum class Earlier { refuse, overwrite, resume };

/// Name of the first file of a run that is in the folder, its log included; empty where there is none.
std::string first_file_of_a_run(const std::filesystem::path& folder);

class RunDirectory {
 public:
  /// No folder: nothing may be written.
  RunDirectory() = default;

  /// runs/NAME, or the folder that the user named. Changes nothing yet. Throws Error(Exit::mistake) where it holds a
  /// run already and that is to be refused, or a comparison of several.
  RunDirectory(const std::string& named, const std::string& experiment, Earlier earlier);

  /// Makes the folder and locks it for as long as this object or a copy lives; with Earlier::overwrite removes the
  /// files of the run that was there. Once that is done, nothing more. Throws Error(Exit::file), and
  /// Error(Exit::mistake) where another run works in it or has begun in it.
  void prepare();

  /// Whether there are files of a run; its log alone is none.
  bool holds_a_run() const;

  /// Removes the files of a run, but for its log where that is to stay.
  void clear(bool keep_log = false) const;
  /// Removes what is made at the end of a run: results, metrics, report, pictures.
  void clear_outcome() const;

  /// Whether a file is one of those that clear() removes.
  bool would_remove(const std::filesystem::path& file) const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path deck() const { return path_ / "deck.ini"; }
  std::filesystem::path log() const { return path_ / "log.txt"; }
  std::filesystem::path history() const { return path_ / "history.csv"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.h5"; }
  std::filesystem::path report() const { return path_ / "report.html"; }
  std::filesystem::path results() const { return path_ / "results.h5"; }
  std::filesystem::path metrics() const { return path_ / "metrics.json"; }
  std::filesystem::path profile() const { return path_ / "profile.json"; }

 private:
  void refuse_a_run() const;

  std::filesystem::path path_;
  Earlier earlier_ = Earlier::refuse;
  std::shared_ptr<void> lock_;
};

}  // namespace ridgeline

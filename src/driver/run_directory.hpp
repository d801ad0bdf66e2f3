// The folder of one run, and what is in it.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace ridgeline {

class RunDirectory {
 public:
  /// No folder: nothing may be written.
  RunDirectory() = default;

  /// runs/NAME, or the folder that the user named. Changes nothing yet. Throws Error(Exit::mistake) where it holds a
  /// run already and `overwrite` is not given.
  RunDirectory(const std::string& named, const std::string& experiment, bool overwrite);

  /// Makes the folder, locks it for as long as this object or a copy lives, and removes the files of the run that is
  /// overwritten. Throws Error(Exit::file), and Error(Exit::mistake) where another run works in it or has begun in it.
  void prepare();

  /// Whether a file is one of those that prepare() removes.
  bool would_remove(const std::filesystem::path& file) const;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path deck() const { return path_ / "deck.ini"; }
  std::filesystem::path log() const { return path_ / "log.txt"; }
  std::filesystem::path history() const { return path_ / "history.csv"; }
  std::filesystem::path checkpoint() const { return path_ / "checkpoint.h5"; }
  std::filesystem::path results() const { return path_ / "results.h5"; }
  std::filesystem::path metrics() const { return path_ / "metrics.json"; }

 private:
  void refuse_a_run() const;

  std::filesystem::path path_;
  bool overwrite_ = false;
  std::shared_ptr<void> lock_;
};

}  // namespace ridgeline

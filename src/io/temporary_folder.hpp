// A folder for what is not to stay.
#pragma once

#include <filesystem>

namespace ridgeline {

/// A new folder among the system's temporary ones, removed at the end with all that is in it. The constructor throws
/// Error(Exit::file).
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace ridgeline

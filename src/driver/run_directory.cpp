#include "driver/run_directory.hpp"

#include "core/error.hpp"
#include "io/files.hpp"

namespace ridgeline {
namespace {

constexpr const char* files_of_a_run[] = {
    "deck.ini",   "log.txt",      "history.csv", "checkpoint.h5", "checkpoint.previous.h5",
    "results.h5", "metrics.json", "report.html"};

}  // namespace

RunDirectory::RunDirectory(const std::string& named, const std::string& experiment, bool overwrite)
    : path_(named.empty() ? std::filesystem::path("runs") / experiment : std::filesystem::path(named)) {
  if (overwrite) return;
  for (const char* file : files_of_a_run) {
    std::error_code ignored;
    if (std::filesystem::exists(path_ / file, ignored))
      throw Error(Exit::mistake, path_.string() + " holds a run already (" + file +
                                     "); -o DIR takes another folder, --overwrite replaces that run.");
  }
}

void RunDirectory::prepare() const {
  make_directory(path_);
  remove_leftovers(path_);
  std::error_code ignored;
  bool held_a_run = false;
  for (const char* file : files_of_a_run) held_a_run |= std::filesystem::remove(path_ / file, ignored);
  if (held_a_run) std::filesystem::remove_all(path_ / "figures", ignored);
}

bool RunDirectory::would_remove(const std::filesystem::path& file) const {
  for (const char* own : files_of_a_run) {
    std::error_code ignored;
    if (std::filesystem::equivalent(path_ / own, file, ignored)) return true;
  }
  return false;
}

}  // namespace ridgeline

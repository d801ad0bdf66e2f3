#include "driver/run_directory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "core/error.hpp"
#include "io/files.hpp"
#include "report/comparison.hpp"

namespace ridgeline {
namespace {

constexpr const char* files_of_a_run[] = {"deck.ini",   "history.csv",  "checkpoint.h5", "checkpoint.previous.h5",
                                          "results.h5", "metrics.json", "report.html",   "profile.json",
                                          "log.txt"};

/// A lock that dies with its process, also one that is killed.
std::shared_ptr<void> lock_folder(const std::filesystem::path& folder) {
  const int descriptor = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) throw Error(Exit::file, folder.string() + " cannot be opened: " + std::strerror(errno) + ".");
  if (flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    close(descriptor);
    throw Error(Exit::mistake, "another run is at work in " + folder.string() + "; -o DIR takes another folder.");
  }
  // Where a file system knows no locks, the run goes on without.
  return {nullptr, [descriptor](void*) { close(descriptor); }};
}

/// The report's own pictures, and the folder where nothing else is in it.
void remove_pictures(const std::filesystem::path& figures) {
  std::error_code ignored;
  std::vector<std::filesystem::path> own;
  for (const auto& entry : std::filesystem::directory_iterator(figures, ignored)) {
    const std::filesystem::path& file = entry.path();
    const std::string name = file.stem().string();
    const bool drawn = name == "loss" || name == "metrics" || name == "time" || name == "generated" ||
                       name == "score_biases" || name.rfind("predictions_", 0) == 0;
    if (drawn && (file.extension() == ".svg" || file.extension() == ".png")) own.push_back(file);
  }
  for (const std::filesystem::path& file : own) std::filesystem::remove(file, ignored);
  if (!own.empty()) std::filesystem::remove(figures, ignored);
}

}  // namespace

RunDirectory::RunDirectory(const std::string& named, const std::string& experiment, Earlier earlier)
    : path_(named.empty() ? std::filesystem::path("runs") / experiment : std::filesystem::path(named)),
      earlier_(earlier) {
  // Of whatever is to be done with an earlier run: a comparison is none, and its page would tell of other runs.
  if (holds_comparison(path_))
    throw Error(Exit::mistake,
                fmt::format("{} holds a comparison of several decks (comparison.csv), each with its run in "
                            "a folder of its own; -o DIR takes another folder.",
                            path_.string()));
  refuse_a_run();
}

std::string first_file_of_a_run(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const char* file : files_of_a_run)
    if (std::filesystem::exists(folder / file, ignored)) return file;
  return "";
}

void RunDirectory::refuse_a_run() const {
  const std::string file = earlier_ == Earlier::refuse ? first_file_of_a_run(path_) : "";
  if (!file.empty())
    throw Error(Exit::mistake, path_.string() + " holds a run already (" + file +
                                   "); -o DIR takes another folder, --resume continues that run, --overwrite replaces "
                                   "it.");
}

bool RunDirectory::holds_a_run() const {
  const std::string file = first_file_of_a_run(path_);
  return !file.empty() && file != log().filename();
}

void RunDirectory::prepare() {
  if (lock_.use_count() > 0) return;
  make_directory(path_);
  lock_ = lock_folder(path_);
  refuse_a_run();  // one may have begun since
  remove_leftovers(path_);
  if (earlier_ != Earlier::resume) clear();
}

void RunDirectory::clear(bool keep_log) const {
  std::error_code ignored;
  for (const char* file : files_of_a_run)
    if (!keep_log || path_ / file != log()) std::filesystem::remove(path_ / file, ignored);
  remove_pictures(path_ / "figures");
}

void RunDirectory::clear_outcome() const {
  std::error_code ignored;
  for (const std::filesystem::path& file : {results(), metrics(), report()}) std::filesystem::remove(file, ignored);
  remove_pictures(path_ / "figures");
}

bool RunDirectory::would_remove(const std::filesystem::path& file) const {
  for (const char* own : files_of_a_run) {
    std::error_code ignored;
    if (std::filesystem::equivalent(path_ / own, file, ignored)) return true;
  }
  return false;
}

}  // namespace ridgeline

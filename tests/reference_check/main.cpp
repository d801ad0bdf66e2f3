// reference_check [DIR]: every HDF5 file of a folder against the layer that its attributes name, a line a file.
// Exit status: 0 none failed, 1 one did, 2 a mistake in the command, 4 a file could not be read.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "checks.hpp"
#include "core/error.hpp"
#include "core/kokkos.hpp"

namespace {

using namespace ridgeline;
using namespace ridgeline::reference;
namespace fs = std::filesystem;

fs::path default_folder() {
  const char* folder = std::getenv("RIDGELINE_REFERENCE_DIR");
  return folder && *folder ? fs::path(folder) : fs::path(RIDGELINE_SOURCE_DIR) / "tests" / "reference";
}

std::vector<fs::path> files_of(const fs::path& folder) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) throw Error(Exit::mistake, folder.string() + " is not a folder.");
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (const std::string type = entry.path().extension().string(); type == ".h5" || type == ".hdf5")
      files.push_back(entry.path());
  if (error) throw Error(Exit::file, "The folder " + folder.string() + " cannot be read: " + error.message() + ".");
  if (files.empty()) throw Error(Exit::mistake, "The folder " + folder.string() + " holds no HDF5 file (.h5, .hdf5).");
  std::sort(files.begin(), files.end());
  return files;
}

struct Count {
  int passed = 0, failed = 0, skipped = 0;
  bool unreadable = false;

  int status() const { return unreadable ? static_cast<int>(Exit::file) : failed > 0 ? 1 : 0; }
};

Verdict judge(const fs::path& file, Count& count) {
  try {
    return check(read_case(file));
  } catch (const Skipped& reason) {
    return {Verdict::Status::skipped, fmt::format("({})", reason.what())};
  } catch (const Error& error) {
    if (error.status() == Exit::file) count.unreadable = true;
    return {Verdict::Status::failed, error.what()};
  } catch (const std::exception& error) {
    return {Verdict::Status::failed, error.what()};
  }
}

/// The status as a word, counted.
const char* word(Verdict::Status status, Count& count) {
  switch (status) {
    case Verdict::Status::passed:
      return ++count.passed, "passed";
    case Verdict::Status::failed:
      return ++count.failed, "failed";
    default:
      return ++count.skipped, "skipped";
  }
}

int check_folder(const fs::path& folder) {
  const std::vector<fs::path> files = files_of(folder);
  std::size_t widest = 0;
  for (const fs::path& file : files) widest = std::max(widest, file.filename().string().size());
  Count count;
  for (const fs::path& file : files) {
    const Verdict verdict = judge(file, count);
    fmt::print("{:<{}}  {:<7}  {}\n", file.filename().string(), widest, word(verdict.status, count), verdict.text);
    std::fflush(stdout);
  }
  fmt::print("{} passed, {} failed, {} skipped\n", count.passed, count.failed, count.skipped);
  return count.status();
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc > 2) throw Error(Exit::mistake, "Usage: reference_check [DIR], a folder of reference files.");
    const fs::path folder = argc > 1 ? fs::path(argv[1]) : default_folder();
    const KokkosScope kokkos;
    return check_folder(folder);
  } catch (const Error& error) {
    fmt::print(stderr, "{}\n", error.what());
    return static_cast<int>(error.status());
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

// The program as a user runs it: its arguments, what it prints, how it ends, and the files that come out.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "unit/files_support.hpp"

namespace ridgeline::program {

using Arguments = std::vector<std::string>;

/// Whether a sanitizer watches, which makes everything take several times as long.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool is_watched = true;
#else
inline constexpr bool is_watched = false;
#endif

/// A signal to the program, some time after its standard output holds a text (empty: after its start).
struct Interrupt {
  int signal;
  std::string after = {};
  int milliseconds = 0;
};

/// What surrounds a call. By default: one thread, no gnuplot, the test's own folder.
struct Surroundings {
  std::filesystem::path folder;  ///< working folder; the caller's where empty
  std::map<std::string, std::string> environment = {};
  bool gnuplot = false;                           ///< whether PATH leads to it
  std::optional<std::size_t> largest_file = {};   ///< bytes; a file that grows beyond fails as on a full disk
  std::optional<std::size_t> address_space = {};  ///< bytes, as `ulimit -v` sets it
  bool terminal = false;                          ///< whether standard output is one
  bool error_terminal = false;                    ///< whether standard error is one
  std::vector<Interrupt> interrupts = {};         ///< one after the other; SIGKILL may end the program
  int seconds = is_watched ? 600 : 60;            ///< a program that takes longer is killed and the test fails
};

struct Ended {
  int status = -1;     ///< exit status; -1 where a signal ended it
  double seconds = 0;  ///< from the last interrupt, or the start, to the end
  std::string out;
  std::string err;
  double most_memory = 0;  ///< bytes of main memory that it held at once
};

/// Runs the program to its end. A crash or a hang fails the test.
Ended run_program(const Arguments& arguments, const Surroundings& surroundings = {});

/// Whether there is a gnuplot to test with.
bool gnuplot_is_there();

/// A deck that trains in milliseconds: 10 functions of 12 points, 3 of them shown, in batches of 4, for 2 epochs; test
/// sets `id` and `far`, 18 points long.
extern const char* const tiny_deck;

/// A temporary folder with `tiny.ini` in it, and the program run there.
class Place {
 public:
  Place();

  std::filesystem::path operator/(const std::string& name) const { return folder_ / name; }
  /// The program, run in the folder.
  Ended run(const Arguments& arguments) const;
  Ended run(const Arguments& arguments, Surroundings surroundings) const;
  /// `run tiny.ini -o OUTPUT --set …`, which must succeed; returns the folder of the run.
  std::filesystem::path train(const std::string& output, const std::vector<std::string>& settings = {}) const;
  /// Writes a file into the folder.
  std::filesystem::path put(const std::string& name, const std::string& content) const;
  /// Every file below the folder, sorted, as relative paths.
  std::vector<std::string> files() const;

 private:
  test::TemporaryFolder folder_;
};

/// "--set", "a=b", "--set", …
Arguments with_settings(Arguments arguments, const std::vector<std::string>& settings);

std::vector<std::string> files_below(const std::filesystem::path& folder);

/// The program ended with this status, one sentence on standard error, and nothing else there. Returns the sentence.
std::string expect_sentence(const Ended& ended, int status);
void expect_success(const Ended& ended);

std::vector<std::string> lines_of(const std::string& text);

}  // namespace ridgeline::program

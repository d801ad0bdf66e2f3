// What a user sees while the program works: a line that redraws on a terminal, plain lines elsewhere, and log.txt.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/log_level.hpp"

namespace spdlog {
class logger;
}

namespace ridgeline {

/// "1:02:03", "4:05" or "6 s".
std::string duration_text(double seconds);

/// Writes "ridgeline: SENTENCE" to standard error as one line, whatever a file's name in it holds; on a terminal the
/// first word is red. Never throws: standard error may be closed or full.
void print_error(const std::string& sentence);

class Console {
 public:
  /// Writes nothing to standard output where `quiet`. log.txt holds what is at least as grave as `level`.
  explicit Console(bool quiet, LogLevel level = LogLevel::info);
  ~Console();
  Console(const Console&) = delete;
  Console& operator=(const Console&) = delete;

  /// Begins log.txt, or goes on with the one that is there; every line is in it, also those before. Throws
  /// Error(Exit::file).
  void open_log(const std::filesystem::path& path);

  /// A line for the user and the log.
  void line(const std::string& text);
  /// A sentence on what the user should know of a run that goes on: "ridgeline: warning: TEXT" on standard error, also
  /// where `quiet`, and a line of the log.
  void warn(const std::string& text);
  /// Lines for the log only.
  void log(const std::string& text, LogLevel level = LogLevel::info);
  /// Whether the log takes lines of this level: what is costly to find out is found out for it alone.
  bool logs(LogLevel level) const;
  /// Whether the line of progress is to be drawn anew: on a terminal, a few times a second.
  bool progress_is_due() const;
  void progress(const std::string& text);

 private:
  void clear_progress();

  bool quiet_;
  LogLevel level_;
  bool terminal_;
  bool drawn_ = false;
  double last_drawn_ = 0;
  std::shared_ptr<spdlog::logger> log_;
  std::vector<std::pair<std::string, LogLevel>> early_;  // lines before there is a log
};

}  // namespace ridgeline

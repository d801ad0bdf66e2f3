// What a user sees while the program works: a line that redraws on a terminal, plain lines elsewhere, and log.txt.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

namespace spdlog {
class logger;
}

namespace ridgeline {

/// "1:02:03", "4:05" or "6 s".
std::string duration_text(double seconds);

class Console {
 public:
  /// Writes nothing to standard output where `quiet`.
  explicit Console(bool quiet);
  ~Console();

  /// Begins log.txt; every line from now on is in it. Throws Error(Exit::file).
  void open_log(const std::filesystem::path& path);

  /// A line for the user and the log.
  void line(const std::string& text);
  /// Lines for the log only.
  void log(const std::string& text);
  /// On a terminal, redraws the line of progress, a few times a second at most; elsewhere nothing.
  void progress(const std::string& text);

 private:
  void clear_progress();

  bool quiet_;
  bool terminal_;
  bool drawn_ = false;
  double last_drawn_ = 0;
  std::shared_ptr<spdlog::logger> log_;
};

}  // namespace ridgeline

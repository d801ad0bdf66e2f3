#include "driver/console.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "config/text.hpp"
#include "core/error.hpp"
#include "core/region.hpp"

namespace ridgeline {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  if (level == LogLevel::debug) return spdlog::level::debug;
  return level == LogLevel::info ? spdlog::level::info : spdlog::level::warn;
}

/// https://no-color.org; a terminal that says nothing of itself is taken as one without colours.
bool error_colours() {
  const char* const none = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  if (none != nullptr && *none != '\0') return false;
  return terminal != nullptr && std::string(terminal) != "dumb" && isatty(STDERR_FILENO) != 0;
}

/// One line, whatever a file's name in it holds.
std::string one_line(const std::string& text) { return excerpt(text, std::string::npos); }

/// `colour` is the terminal's number for it.
std::string coloured(const std::string& word, int colour) {
  return error_colours() ? fmt::format("\033[1;{}m{}\033[0m", colour, word) : word;
}

constexpr int red = 31, yellow = 33;

}  // namespace

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

void print_error(const std::string& sentence) {
  std::fflush(stdout);
  std::fputs((coloured("ridgeline:", red) + " " + one_line(sentence) + "\n").c_str(), stderr);
}

Console::Console(bool quiet, LogLevel level) : quiet_(quiet), level_(level), terminal_(isatty(STDOUT_FILENO) != 0) {}

Console::~Console() { clear_progress(); }

void Console::open_log(const std::filesystem::path& path) {
  try {
    log_ = std::make_shared<spdlog::logger>("ridgeline",
                                            std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()));
  } catch (const spdlog::spdlog_ex&) {
    throw Error(Exit::file, path.string() + " cannot be written.");
  }
  log_->set_pattern("%Y-%m-%d %H:%M:%S  %v");
  // A log that cannot grow ends no run: whatever fills the disk is reported by those who need their files.
  log_->set_error_handler([](const std::string&) {});
  log_->set_level(level_of(level_));
  log_->flush_on(spdlog::level::info);
  for (const auto& [text, level] : early_) log(text, level);
  early_.clear();
}

void Console::line(const std::string& text) {
  if (!quiet_) {
    clear_progress();
    std::printf("%s\n", printable(text).c_str());
    std::fflush(stdout);
  }
  log(text);
}

void Console::warn(const std::string& text) {
  clear_progress();
  const std::string sentence = one_line(text);
  std::fputs(("ridgeline: " + coloured("warning:", yellow) + " " + sentence + "\n").c_str(), stderr);
  log("warning: " + sentence, LogLevel::warn);
}

void Console::log(const std::string& text, LogLevel level) {
  if (log_)
    log_->log(level_of(level), printable(text));
  else
    early_.emplace_back(text, level);
}

bool Console::logs(LogLevel level) const { return log_ && log_->should_log(level_of(level)); }

bool Console::progress_is_due() const { return !quiet_ && terminal_ && wall_time() - last_drawn_ >= 0.1; }

void Console::progress(const std::string& text) {
  last_drawn_ = wall_time();
  drawn_ = true;
  std::printf("\r\033[K%s", text.c_str());
  std::fflush(stdout);
}

void Console::clear_progress() {
  if (!drawn_) return;
  std::printf("\r\033[K");
  std::fflush(stdout);
  drawn_ = false;
}

}  // namespace ridgeline

#include "driver/console.hpp"

#include <fmt/format.h>
#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "core/error.hpp"
#include "core/region.hpp"

namespace ridgeline {

std::string duration_text(double seconds) {
  const auto whole = static_cast<long long>(std::llround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{}:{:02}", whole / 60, whole % 60);
  return fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

Console::Console(bool quiet) : quiet_(quiet), terminal_(isatty(STDOUT_FILENO) != 0) {}

Console::~Console() { clear_progress(); }

void Console::open_log(const std::filesystem::path& path) {
  try {
    log_ = std::make_shared<spdlog::logger>("ridgeline",
                                            std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string(), true));
  } catch (const spdlog::spdlog_ex&) {
    throw Error(Exit::file, path.string() + " cannot be written.");
  }
  log_->set_pattern("%Y-%m-%d %H:%M:%S  %v");
  // A log that cannot grow ends no run: whatever fills the disk is reported by those who need their files.
  log_->set_error_handler([](const std::string&) {});
  log_->flush_on(spdlog::level::info);
}

void Console::line(const std::string& text) {
  if (!quiet_) {
    clear_progress();
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
  log(text);
}

void Console::log(const std::string& text) {
  if (log_) log_->info(text);
}

void Console::progress(const std::string& text) {
  if (quiet_ || !terminal_) return;
  const double now = wall_time();
  if (now - last_drawn_ < 0.1) return;
  last_drawn_ = now;
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

#include "report/gnuplot.hpp"

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "config/text.hpp"
#include "io/files.hpp"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX leaves it to the program to declare it

namespace ridgeline::report {

namespace fs = std::filesystem;

std::optional<fs::path> find_program(const std::string& name) {
  const char* variable = std::getenv("PATH");
  const std::string folders = variable != nullptr ? variable : "";
  for (std::size_t begin = 0; begin <= folders.size();) {
    const std::size_t end = std::min(folders.find(':', begin), folders.size());
    const fs::path candidate = fs::path(folders.substr(begin, end - begin)) / name;
    std::error_code ignored;
    if (candidate.is_absolute() && fs::is_regular_file(candidate, ignored) && ::access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  return std::nullopt;
}

std::string gnuplot_string(std::string_view text) {
  std::string result = "'";
  for (const char letter : text) {
    const bool is_control = static_cast<unsigned char>(letter) < 0x20 || letter == 0x7f;
    result += letter == '\'' ? "’" : std::string(1, is_control ? ' ' : letter);
  }
  return result + "'";
}

namespace {

/// A path as a string of gnuplot's language. It begins with a slash, and there a doubled quote stands for one.
std::string quoted_path(const fs::path& path) {
  std::string result = "'";
  for (const char letter : path.string()) {
    result += letter == '\'' ? "''" : std::string(1, letter);
  }
  return result + "'";
}

/// The files that the child finds open.
class FileActions {
 public:
  FileActions() { ::posix_spawn_file_actions_init(&actions_); }
  ~FileActions() { ::posix_spawn_file_actions_destroy(&actions_); }
  FileActions(const FileActions&) = delete;
  FileActions& operator=(const FileActions&) = delete;
  void open(int descriptor, const char* path, int flags) {
    ::posix_spawn_file_actions_addopen(&actions_, descriptor, path, flags, 0600);
  }
  const posix_spawn_file_actions_t* get() const { return &actions_; }

 private:
  posix_spawn_file_actions_t actions_{};
};

/// The first line that says something, without the caret lines by which gnuplot points into its script.
std::string first_complaint(const std::string& text) {
  std::string complaint;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line(trim(std::string_view(text).substr(begin, end - begin)));
    const std::size_t colon = line.find("line ");
    if (colon != std::string::npos || (complaint.empty() && line.find_first_not_of("^ ") != std::string::npos)) {
      complaint = line;
    }
    if (colon != std::string::npos) {
      break;
    }
    begin = end + 1;
  }
  return excerpt(complaint, 200);
}

}  // namespace

std::optional<std::string> run_gnuplot(const fs::path& gnuplot, const std::string& script, const fs::path& folder) {
  const std::string script_path = (folder / "script.gnuplot").string();
  const std::string complaints_path = (folder / "complaints.txt").string();
  write_atomically(script_path, fmt::format("cd {}\n{}", quoted_path(folder), script));

  FileActions actions;
  actions.open(STDIN_FILENO, "/dev/null", O_RDONLY);
  actions.open(STDOUT_FILENO, "/dev/null", O_WRONLY);
  actions.open(STDERR_FILENO, complaints_path.c_str(), O_WRONLY | O_CREAT | O_TRUNC);
  std::string program = gnuplot.string();
  std::string default_settings = "-d";
  std::string argument = script_path;
  char* arguments[] = {program.data(), default_settings.data(), argument.data(), nullptr};
  pid_t child = 0;
  if (const int error = ::posix_spawn(&child, program.c_str(), actions.get(), nullptr, arguments, environ)) {
    return fmt::format("{} cannot be run: {}", program, std::generic_category().message(error));
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
    if (errno != EINTR) {
      return fmt::format("{} was lost: {}", program, std::generic_category().message(errno));
    }
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    return std::nullopt;
  }
  std::error_code ignored;
  const std::string said = fs::exists(complaints_path, ignored) ? first_complaint(read_text(complaints_path)) : "";
  if (!said.empty()) {
    return said;
  }
  return WIFSIGNALED(status) ? fmt::format("{} was ended by signal {}", program, WTERMSIG(status))
                             : fmt::format("{} ended with status {}", program, WEXITSTATUS(status));
}

}  // namespace ridgeline::report

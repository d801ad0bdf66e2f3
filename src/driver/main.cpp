// The program: picks the command, and turns whatever goes wrong into one sentence and an exit status.
#include <fcntl.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "config/command_line.hpp"
#include "driver/commands.hpp"
#include "driver/console.hpp"
#include "layer/foreign.hpp"

namespace {

using ridgeline::CommandLine;
using ridgeline::Exit;

Exit perform(const CommandLine& line) {
  if (line.help) {
    std::fputs(ridgeline::help_text(line.command).c_str(), stdout);
    return Exit::done;
  }
  if (line.version) {
    ridgeline::print_version(line);
    return Exit::done;
  }
  if (line.command == "run") return ridgeline::run_command(line);
  if (line.command == "eval") return ridgeline::eval_command(line);
  if (line.command == "sample") return ridgeline::sample_command(line);
  if (line.command == "check") return ridgeline::check_command(line);
  if (line.command == "layers") return ridgeline::layers_command(line);
  if (line.command == "describe") return ridgeline::describe_command(line);
  if (line.command == "conform") return ridgeline::conform_command(line);
  return ridgeline::report_command(line);
}

/// Kokkos' OpenMP back end has room for 512 threads and does not look: a machine, or OMP_NUM_THREADS, may offer more.
void limit_threads() {
#ifdef _OPENMP
  omp_set_num_threads(std::min(omp_get_max_threads(), 512));
#endif
}

int fail(Exit status, const std::string& sentence) {
  ridgeline::print_error(sentence);
  return static_cast<int>(status);
}

/// A file opened later must not take the place of a closed standard stream, or what is meant for that ends up in it.
void open_standard_streams() {
  for (int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (fcntl(stream, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0) return;
}

/// What was asked for on standard output must have got there; a run's lines are in its log as well.
int finish(Exit status, bool needs_output) {
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || !needs_output || status != Exit::done) return static_cast<int>(status);
  return fail(Exit::file, "standard output cannot be written.");
}

bool is_over = false;
const pid_t program = getpid();

/// Of exit(), which a layer or what it links may call: that is no success, whatever status it gave. How a child of the
/// program ended is its parent's to say.
void check_end() {
  if (is_over || getpid() != program) return;
  const std::string* const title = ridgeline::ForeignCode::running();
  ridgeline::print_error((title != nullptr ? *title : "a part of the program") +
                         " called exit() in the middle of the program's work.");
  std::_Exit(static_cast<int>(Exit::numerical));
}

/// The whole program but for what surrounds it: the exit status.
int perform_all(const std::vector<std::string>& arguments) {
  try {
    const CommandLine line = ridgeline::parse_command_line(arguments);
    const bool needs_output = line.help || (line.command != "run" && line.command != "report" && line.output.empty());
    return finish(perform(line), needs_output);
  } catch (const ridgeline::Error& error) {
    return fail(error.status(), error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    return fail(Exit::file, "cannot use " + error.path1().string() + ": " + error.code().message() + ".");
  } catch (const std::system_error&) {
    return fail(Exit::file, "standard output cannot be written.");  // fmt's; other files have errors of their own
  } catch (const std::bad_alloc&) {
    return fail(Exit::mistake, "there is not enough memory for this; a smaller batch, model or grid needs less.");
  } catch (const std::exception& error) {
    return fail(Exit::numerical, std::string("an internal error, please report it: ") + error.what());
  } catch (...) {
    return fail(Exit::numerical, "an internal error, please report it: something that is no std::exception.");
  }
}

}  // namespace

int main(int count, char** arguments) {
  // A file that grows beyond the user's limit is an error as any other, not the program's end.
  std::signal(SIGXFSZ, SIG_IGN);
  // Nor does a reader that goes away (`| head`) end a run.
  std::signal(SIGPIPE, SIG_IGN);
  std::atexit(check_end);
  std::at_quick_exit(check_end);
  open_standard_streams();
  limit_threads();
  const int status = perform_all({arguments + 1, arguments + count});
  is_over = true;
  return status;
}

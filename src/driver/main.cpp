// The program: picks the command, and turns whatever goes wrong into one sentence and an exit status.
#include <fcntl.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include "config/command_line.hpp"
#include "driver/commands.hpp"
#include "driver/console.hpp"

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

}  // namespace

int main(int count, char** arguments) {
  // A file that grows beyond the user's limit is an error as any other, not the program's end.
  std::signal(SIGXFSZ, SIG_IGN);
  // Nor does a reader that goes away (`| head`) end a run.
  std::signal(SIGPIPE, SIG_IGN);
  open_standard_streams();
  limit_threads();
  try {
    const CommandLine line = ridgeline::parse_command_line({arguments + 1, arguments + count});
    const bool needs_output = line.command != "run" && line.command != "report" && line.output.empty();
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
  }
}

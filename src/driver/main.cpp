// The program: picks the command, and turns whatever goes wrong into one sentence and an exit status.
#include <fmt/format.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <new>
#include <string>
#include <vector>

#include "config/command_line.hpp"
#include "driver/commands.hpp"

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
  return ridgeline::report_command(line);
}

/// Kokkos' OpenMP back end has room for 512 threads and does not look: a machine, or OMP_NUM_THREADS, may offer more.
void limit_threads() {
#ifdef _OPENMP
  omp_set_num_threads(std::min(omp_get_max_threads(), 512));
#endif
}

int fail(Exit status, const std::string& sentence) {
  std::fflush(stdout);
  fmt::print(stderr, "ridgeline: {}\n", sentence);
  return static_cast<int>(status);
}

}  // namespace

int main(int count, char** arguments) {
  // A file that grows beyond the user's limit is an error as any other, not the program's end.
  std::signal(SIGXFSZ, SIG_IGN);
  limit_threads();
  try {
    return static_cast<int>(perform(ridgeline::parse_command_line({arguments + 1, arguments + count})));
  } catch (const ridgeline::Error& error) {
    return fail(error.status(), error.what());
  } catch (const std::bad_alloc&) {
    return fail(Exit::mistake, "there is not enough memory for this; a smaller batch, model or grid needs less.");
  } catch (const std::exception& error) {
    return fail(Exit::numerical, std::string("an internal error, please report it: ") + error.what());
  }
}

#include "io/trial.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "core/error.hpp"
#include "io/child.hpp"

namespace ridgeline {
namespace {

/// Silent, whatever happens to it: no message of the C library, no core. The user's signals are the parent's. Memory that
/// nobody has written holds a pattern: what depends on it fails here rather than by chance in the parent.
void prepare_child() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) std::signal(signal, SIG_IGN);
#ifdef M_PERTURB
  mallopt(M_PERTURB, 0x5a);
#endif
  leave_no_core();
  const int nowhere = open("/dev/null", O_RDWR);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO}) dup2(nowhere, stream);
}

[[noreturn]] void be_the_child(const std::function<void()>& what) {
  prepare_child();
  try {
    what();
  } catch (...) {  // the parent meets it again
  }
  _exit(0);
}

}  // namespace

void try_apart(const std::filesystem::path& file, double seconds, const std::function<void()>& what) {
  const pid_t child = fork();
  if (child < 0) return;
  if (child == 0) be_the_child(what);
  const int state = wait_for(child, seconds);
  if (WIFEXITED(state) && WEXITSTATUS(state) == 0) return;  // a sanitizer ends a process by a status of its own
  const bool too_long = WIFSIGNALED(state) && WTERMSIG(state) == SIGKILL;
  throw Error(Exit::file, fmt::format("cannot read {}: it is damaged, and HDF5 {} it.", file.string(),
                                      too_long ? "does not come back from" : "breaks down over"));
}

}  // namespace ridgeline

#include "core/stop.hpp"

#include <array>
#include <csignal>
#include <limits>

#include "core/error.hpp"
#include "core/region.hpp"

namespace ridgeline {
namespace {

volatile std::sig_atomic_t signal_received = 0;

struct Deadline {
  double moment = std::numeric_limits<double>::infinity();
  std::string what;
};
Deadline deadline;

extern "C" void receive(int signal) {
  if (signal == SIGINT && signal_received == SIGINT) {
    std::signal(SIGINT, SIG_DFL);
    std::raise(SIGINT);
  }
  signal_received = signal;
}

}  // namespace

void stop_on_signals() {
  // Handled on a stack of its own: oneDNN's products keep numbers beyond the end of theirs, which a signal would overwrite.
  static std::array<char, std::size_t{64} << 10> memory;
  stack_t stack = {};
  stack.ss_sp = memory.data();
  stack.ss_size = memory.size();
  sigaltstack(&stack, nullptr);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    struct sigaction action = {};
    action.sa_handler = receive;
    action.sa_flags = SA_RESTART | SA_ONSTACK;
    sigemptyset(&action.sa_mask);
    sigaction(signal, &action, nullptr);
  }
}

void stop_at(double moment, const std::string& what) { deadline = {moment, what}; }

void check_stop() {
  const int signal = signal_received;
  const char* name = signal == SIGINT ? "SIGINT" : signal == SIGTERM ? "SIGTERM" : "SIGUSR1";
  if (signal != 0) throw Error(Exit::stopped, std::string("stopped by ") + name + ".");
  if (wall_time() >= deadline.moment) throw Error(Exit::stopped, "stopped by " + deadline.what + ".");
}

}  // namespace ridgeline

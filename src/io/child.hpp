// What processes that leave work to a child share.
#pragma once

#include <sys/resource.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <thread>

namespace ridgeline {

/// For the child: whatever ends it leaves no core.
inline void leave_no_core() {
  const rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

/// How the child ended, as waitpid says it; it is ended where it takes longer than so many `seconds`.
inline int wait_for(pid_t child, double seconds) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point deadline = Clock::now() + std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1e3));
  int state = 0;
  while (waitpid(child, &state, WNOHANG) == 0) {
    if (Clock::now() > deadline) kill(child, SIGKILL);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return state;
}

}  // namespace ridgeline

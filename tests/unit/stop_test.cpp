#include "core/stop.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace ridgeline {
namespace {

// Without it a signal in the midst of one of oneDNN's products wrote over numbers that it keeps beyond the end of its
// stack: of eight runs that were asked to stop, up to four ended in the heap's own checks.
TEST(Stop, SignalsAreHandledOnAStackOfTheirOwn) {
  stop_on_signals();
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) {
    struct sigaction action = {};
    sigaction(signal, nullptr, &action);
    EXPECT_NE(action.sa_flags & SA_ONSTACK, 0) << signal;
    std::signal(signal, SIG_DFL);
  }
  stack_t stack = {};
  sigaltstack(nullptr, &stack);
  EXPECT_EQ(stack.ss_flags & SS_DISABLE, 0);
  EXPECT_GE(stack.ss_size, std::size_t{1} << 14);  // what AVX-512's registers take, and more
}

}  // namespace
}  // namespace ridgeline

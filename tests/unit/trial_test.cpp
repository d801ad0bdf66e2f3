// What a child process tries first.
#include "io/trial.hpp"

#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <stdexcept>
#include <thread>

#include "files_support.hpp"

namespace ridgeline {
namespace {

TEST(Trial, OfWhatEndsLeavesNothing) {
  int touched = 0;
  EXPECT_NO_THROW(try_apart("a.h5", 20, [&] { touched = 1; }));
  EXPECT_EQ(touched, 0);
  EXPECT_NO_THROW(try_apart("a.h5", 20, [] { throw std::runtime_error("the parent meets it again"); }));
}

TEST(Trial, OfWhatCrashesIsAnError) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE}) {
    const std::string sentence = test::file_error([&] {
      try_apart("a.h5", 20, [&] {
        std::signal(signal, SIG_DFL);
        std::raise(signal);
      });
    });
    test::expect_contains(sentence, "cannot read a.h5");
    test::expect_contains(sentence, "breaks down");
  }
  const std::string sentence = test::file_error([] { try_apart("a.h5", 20, [] { ::_exit(1); }); });
  test::expect_contains(sentence, "breaks down");
}

TEST(Trial, OfWhatDoesNotEndIsAnError) {
  const std::string sentence =
      test::file_error([] { try_apart("a.h5", 0.1, [] { std::this_thread::sleep_for(std::chrono::seconds(60)); }); });
  test::expect_contains(sentence, "does not come back");
}

}  // namespace
}  // namespace ridgeline

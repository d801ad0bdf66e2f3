// Work in a child process.
#include "io/apart.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace ridgeline {
namespace {

using Send = std::function<void(const Message&)>;

struct Heard {
  Ending ending;
  std::vector<Message> messages = {};
  int ended = 0;  ///< how often it was told that the child is no more
};

Heard hear(const std::function<void(const Send&)>& work, double seconds = 30) {
  Heard heard;
  heard.ending = work_apart(
      seconds, work, [&](const Message& message) { heard.messages.push_back(message); },
      [&](int process) { heard.ended += process > 0 && kill(process, 0) != 0; });
  return heard;
}

TEST(Apart, MessagesArriveWholeAndInOrder) {
  const Message first = {"one", "", std::string("\0\n\xff", 3)}, second = {std::string(1 << 20, 'x')}, third = {""};
  const Heard heard = hear([&](const Send& send) {
    for (const Message& message : {first, second, third}) send(message);
  });
  EXPECT_TRUE(heard.ending.returned);
  EXPECT_EQ(heard.ending.text, "");
  EXPECT_EQ(heard.messages, (std::vector<Message>{first, second, third}));
  EXPECT_EQ(heard.ended, 1);
}

TEST(Apart, WhateverEndsTheChildIsTold) {
  for (const int signal : {SIGSEGV, SIGABRT, SIGKILL}) {
    const Heard heard = hear([&](const Send& send) {
      send({"before"});
      std::signal(signal, SIG_DFL);
      std::raise(signal);
    });
    EXPECT_FALSE(heard.ending.returned);
    EXPECT_FALSE(heard.ending.silent);
    EXPECT_EQ(heard.ending.text.find("signal " + std::to_string(signal) + " ("), 0U) << heard.ending.text;
    EXPECT_EQ(heard.messages, std::vector<Message>{{"before"}});
    EXPECT_EQ(heard.ended, 1);
  }
  for (const int status : {0, 7}) {
    const Heard heard = hear([&](const Send&) { _exit(status); });
    EXPECT_FALSE(heard.ending.returned);
    EXPECT_EQ(heard.ending.text, "it ended the process with status " + std::to_string(status));
  }
}

TEST(Apart, AChildThatIsSilentIsEnded) {
  const Heard heard = hear(
      [](const Send& send) {
        for (int i = 0; i < 11; ++i) {
          send({"still there"});
          std::this_thread::sleep_for(std::chrono::milliseconds(300));
        }
        std::this_thread::sleep_for(std::chrono::hours(1));
      },
      3);
  EXPECT_TRUE(heard.ending.silent);
  EXPECT_EQ(heard.ending.text, "it did not come back within 3 s");
  EXPECT_EQ(heard.messages.size(), 11U);
  EXPECT_EQ(heard.ended, 1);
}

extern "C" void do_nothing(int) {}

TEST(Apart, ASignalThatHasAHandlerIsNoSilence) {
  const auto former = std::signal(SIGUSR1, do_nothing);
  const Heard heard = hear([](const Send& send) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    kill(getppid(), SIGUSR1);
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    send({"after it"});
  });
  std::signal(SIGUSR1, former);
  EXPECT_TRUE(heard.ending.returned);
  EXPECT_FALSE(heard.ending.silent);
  EXPECT_EQ(heard.messages, std::vector<Message>{{"after it"}});
}

TEST(ApartDeathTest, ASignalThatEndsTheProcessEndsTheChildFirst) {
  ::testing::FLAGS_gtest_death_test_style = "threadsafe";
  const auto asked_to_end = [] {
    work_apart(
        30,
        [](const Send& send) {
          send({"ready"});
          std::this_thread::sleep_for(std::chrono::hours(1));
        },
        [](const Message&) { std::raise(SIGTERM); },
        [](int process) { std::fputs(kill(process, 0) != 0 ? "no child" : "a child", stderr); });
  };
  EXPECT_EXIT(asked_to_end(), ::testing::KilledBySignal(SIGTERM), "no child");
}

}  // namespace
}  // namespace ridgeline

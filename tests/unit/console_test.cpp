#include "driver/console.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "files_support.hpp"

namespace ridgeline {
namespace {

struct Said {
  std::string out, err, log;
};

/// What a console says when it is told a line, a warning of two lines, and lines for the log of every level.
Said said(bool quiet, LogLevel level) {
  const test::TemporaryFolder folder;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  {
    Console console(quiet, level);
    console.open_log(folder / "log.txt");
    console.line("a line");
    console.warn("no\nfile; another is taken.");
    console.log("a detail", LogLevel::debug);
    console.log("a fact");
    console.log("the end", LogLevel::warn);
    EXPECT_EQ(console.logs(LogLevel::debug), level == LogLevel::debug);
    EXPECT_TRUE(console.logs(LogLevel::warn));
  }
  Said said;
  said.out = testing::internal::GetCapturedStdout();
  said.err = testing::internal::GetCapturedStderr();
  said.log = test::content_of(folder / "log.txt");
  return said;
}

std::string without_dates(const std::string& log) {
  std::string text;
  for (std::size_t begin = 0; begin < log.size();) {
    const std::size_t end = log.find('\n', begin) + 1;
    text += log.substr(begin, end - begin).substr(std::string("2000-01-01 00:00:00  ").size());
    begin = end;
  }
  return text;
}

TEST(Console, SaysWhatIsAskedForAndLogsByLevel) {
  const std::string warning = "ridgeline: warning: no?file; another is taken.\n";
  const Said usual = said(false, LogLevel::info);
  EXPECT_EQ(usual.out, "a line\n");
  EXPECT_EQ(usual.err, warning);
  EXPECT_EQ(without_dates(usual.log), "a line\nwarning: no?file; another is taken.\na fact\nthe end\n");

  const Said quiet = said(true, LogLevel::debug);
  EXPECT_EQ(quiet.out, "");
  EXPECT_EQ(quiet.err, warning);
  EXPECT_EQ(without_dates(quiet.log), "a line\nwarning: no?file; another is taken.\na detail\na fact\nthe end\n");

  const Said grave = said(false, LogLevel::warn);
  EXPECT_EQ(grave.out, "a line\n");
  EXPECT_EQ(without_dates(grave.log), "warning: no?file; another is taken.\nthe end\n");
}

TEST(Console, WithoutALogWarnsAllTheSame) {
  testing::internal::CaptureStderr();
  Console console(true);
  EXPECT_FALSE(console.logs(LogLevel::warn));
  console.warn("careful.");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "ridgeline: warning: careful.\n");
}

}  // namespace
}  // namespace ridgeline

#include "io/files.hpp"

#include <ostream>
#include <stdexcept>

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

using test::content_of;
using test::expect_contains;
using test::file_error;
using test::put;
using test::TemporaryFolder;

namespace fs = std::filesystem;

/// Files may not grow beyond this while it lives: as good as a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &former_);
    const rlimit limit{bytes, former_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { ::setrlimit(RLIMIT_FSIZE, &former_); }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;

 private:
  rlimit former_{};
};

TEST(WriteAtomically, WritesWhatItIsGiven) {
  const TemporaryFolder folder;
  const std::string content("a\0b\r\n\n", 6);
  write_atomically(folder / "file", content);
  EXPECT_EQ(content_of(folder / "file"), content);
  write_atomically(folder / "file", "");
  EXPECT_EQ(content_of(folder / "file"), "");
  EXPECT_EQ(folder.size(), 1);
}

TEST(WriteAtomically, WritesWhatGoesIntoTheStream) {
  const TemporaryFolder folder;
  write_atomically(folder / "file", [](std::ostream& stream) { stream << "x = " << 3 << '\n'; });
  EXPECT_EQ(content_of(folder / "file"), "x = 3\n");
}

TEST(WriteAtomically, LeavesTheOldFileWhenTheWriterThrows) {
  const TemporaryFolder folder;
  put(folder / "file", "old");
  const auto failing = [](const fs::path& temporary) {
    put(temporary, "half of the n");
    throw std::runtime_error("no");
  };
  EXPECT_THROW(replace_atomically(folder / "file", failing), std::runtime_error);
  EXPECT_EQ(content_of(folder / "file"), "old");
  EXPECT_EQ(folder.size(), 1);
}

TEST(WriteAtomically, LeavesTheOldFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  put(folder / "file", "old");
  {
    const FileSizeLimit limit(1000);
    const std::string sentence = file_error([&] { write_atomically(folder / "file", std::string(5000, 'x')); });
    expect_contains(sentence, (folder / "file").string());
    expect_contains(sentence, "File too large");
  }
  EXPECT_EQ(content_of(folder / "file"), "old");
  EXPECT_EQ(folder.size(), 1);
}

TEST(WriteAtomically, KeepsThePreviousFile) {
  const TemporaryFolder folder;
  write_atomically(folder / "file", "1", folder / "previous");
  EXPECT_FALSE(fs::exists(folder / "previous"));
  write_atomically(folder / "file", "2", folder / "previous");
  EXPECT_EQ(content_of(folder / "previous"), "1");
  write_atomically(folder / "file", "3", folder / "previous");
  EXPECT_EQ(content_of(folder / "previous"), "2");
  EXPECT_EQ(content_of(folder / "file"), "3");
  EXPECT_EQ(folder.size(), 2);
}

TEST(WriteAtomically, KeepsThePreviousFileWhereBothNamesAreOneFile) {
  const TemporaryFolder folder;
  put(folder / "file", "1");
  fs::create_hard_link(folder / "file", folder / "previous");
  write_atomically(folder / "file", "2", folder / "previous");
  EXPECT_EQ(content_of(folder / "previous"), "1");
  EXPECT_EQ(content_of(folder / "file"), "2");
  EXPECT_EQ(folder.size(), 2);
}

TEST(WriteAtomically, FollowsASymbolicLink) {
  const TemporaryFolder folder;
  put(folder / "file", "old");
  fs::create_symlink(folder / "file", folder / "link");
  write_atomically(folder / "link", "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(content_of(folder / "file"), "new");
}

TEST(WriteAtomically, TakesTheLongestName) {
  const TemporaryFolder folder;
  const std::string name(255, 'n');
  write_atomically(folder / name, "x");
  EXPECT_EQ(content_of(folder / name), "x");
}

TEST(WriteAtomically, RefusesAFolder) {
  const TemporaryFolder folder;
  fs::create_directory(folder / "file");
  expect_contains(file_error([&] { write_atomically(folder / "file", "x"); }), "a folder is there");
  expect_contains(file_error([&] { write_atomically(folder / "new/", "x"); }), "a folder is there");
}

TEST(WriteAtomically, RefusesAMissingFolder) {
  const TemporaryFolder folder;
  expect_contains(file_error([&] { write_atomically(folder / "none/file", "x"); }), "does not exist");
}

TEST(WriteAtomically, RefusesAFileAsFolder) {
  const TemporaryFolder folder;
  put(folder / "file", "old");
  file_error([&] { write_atomically(folder / "file/x", "x"); });
  EXPECT_EQ(content_of(folder / "file"), "old");
}

TEST(WriteAtomically, RefusesADevice) {
  expect_contains(file_error([&] { write_atomically("/dev/null", "x"); }), "not a regular file");
}

TEST(WriteAtomically, SaysThatAFolderMayNotBeWritten) {
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may write anywhere";
  }
  const TemporaryFolder folder;
  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  expect_contains(file_error([&] { write_atomically(folder / "file", "x"); }), "Permission denied");
  fs::permissions(folder.path(), fs::perms::owner_all);
}

TEST(ReadText, ReadsEveryByte) {
  const TemporaryFolder folder;
  std::string content;
  for (int index = 0; index < 200000; ++index) {
    content += static_cast<char>(index % 256);
  }
  put(folder / "file", content);
  EXPECT_EQ(read_text(folder / "file"), content);
  put(folder / "empty", "");
  EXPECT_EQ(read_text(folder / "empty"), "");
}

TEST(ReadText, RefusesWhatItCannotRead) {
  const TemporaryFolder folder;
  expect_contains(file_error([&] { read_text(folder / "none"); }), "No such file");
  expect_contains(file_error([&] { read_text(folder.path()); }), "it is a folder");
  put(folder / "long", std::string(100, 'x'));
  expect_contains(file_error([&] { read_text(folder / "long", 99); }), "99 bytes");
  EXPECT_EQ(read_text(folder / "long", 100).size(), 100U);
}

TEST(ReadText, RefusesPipesAndDevices) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  expect_contains(file_error([&] { read_text(folder / "pipe"); }), "not a regular file");
  expect_contains(file_error([] { read_text("/dev/zero", 10); }), "not a regular file");
}

TEST(MakeDirectory, MakesParentsAndAcceptsWhatIsThere) {
  const TemporaryFolder folder;
  make_directory(folder / "a/b/c");
  make_directory(folder / "a/b/c");
  make_directory(folder / "a/d/");
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  EXPECT_TRUE(fs::is_directory(folder / "a/d"));
}

TEST(MakeDirectory, SaysWhichFileIsInTheWay) {
  const TemporaryFolder folder;
  put(folder / "file", "");
  expect_contains(file_error([&] { make_directory(folder / "file/a/b"); }), (folder / "file").string() + " is a file");
  expect_contains(file_error([&] { make_directory(folder / "file"); }), "is a file");
  expect_contains(file_error([&] { make_directory("/proc/none"); }), "cannot make the folder /proc/none: ");
}

TEST(RemoveLeftovers, RemovesTemporaryFilesOnly) {
  const TemporaryFolder folder;
  put(folder / ".ridgeline-17-0.partial", "half");
  put(folder / ".ridgeline-17-0.partial.h5", "the user's");
  put(folder / "history.csv", "");
  remove_leftovers(folder.path());
  EXPECT_FALSE(fs::exists(folder / ".ridgeline-17-0.partial"));
  EXPECT_EQ(folder.size(), 2);
  remove_leftovers(folder / "none");
}

}  // namespace
}  // namespace ridgeline

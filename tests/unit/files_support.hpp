// What the tests of files share: a folder that goes away, and the check of an error's sentence.

#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "io/temporary_folder.hpp"

namespace ridgeline::test {

/// A new empty folder, removed with all that is in it.
class TemporaryFolder : public ridgeline::TemporaryFolder {
 public:
  std::filesystem::path operator/(const std::string& name) const { return path() / name; }

  /// Number of entries, hidden ones too.
  std::ptrdiff_t size() const {
    return std::distance(std::filesystem::directory_iterator(path()), std::filesystem::directory_iterator());
  }
};

inline void put(const std::filesystem::path& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
}

inline std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The sentence of the Error(Exit::file) that `action` throws; a failed test where it throws none. Checks that it is
/// one line that ends as a sentence does.
inline std::string file_error(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string sentence = error.what();
    EXPECT_EQ(error.status(), Exit::file) << sentence;
    EXPECT_EQ(sentence.find('\n'), std::string::npos) << sentence;
    EXPECT_EQ(sentence.empty() ? ' ' : sentence.back(), '.') << sentence;
    return sentence;
  }
  ADD_FAILURE() << "no Error was thrown";
  return "";
}

inline void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << "\"" << text << "\" lacks \"" << part << "\"";
}

}  // namespace ridgeline::test

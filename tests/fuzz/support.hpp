// What the fuzz targets share. Each reads what the fuzzer made up, and may end in two ways only: it succeeds, or it
// throws an Error whose sentence a user can read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"

namespace ridgeline::fuzz {

/// Ends the process, with the input kept, where a promise is broken.
void demand(bool kept, const std::string& promise, const std::string& detail = "");

/// An Error's sentence is short, ends as a sentence, and is text.
void check_sentence(const Error& error);

/// Calls `read`; whatever it throws but an Error ends the process. Returns whether it succeeded.
template <class Read>
bool reads(Read read) {
  try {
    read();
    return true;
  } catch (const Error& error) {
    check_sentence(error);
    return false;
  }
}

/// A file without a disk, rewritten for each input.
class MemoryFile {
 public:
  MemoryFile();
  ~MemoryFile();
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void put(std::string_view content);

 private:
  int descriptor_;
  std::filesystem::path path_;
};

/// A folder in memory (/dev/shm), removed at the end.
class MemoryFolder {
 public:
  MemoryFolder();
  ~MemoryFolder();
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The parts of an input between its separators, of which there is one less than parts.
std::vector<std::string> split(const std::uint8_t* data, std::size_t size, char separator);

}  // namespace ridgeline::fuzz

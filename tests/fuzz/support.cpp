#include "support.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "config/text.hpp"

namespace ridgeline::fuzz {

void demand(bool kept, const std::string& promise, const std::string& detail) {
  if (kept) return;
  std::fprintf(stderr, "%s: %s\n", promise.c_str(), detail.c_str());
  std::abort();
}

void check_sentence(const Error& error) {
  const std::string sentence = error.what();
  demand(error.status() != Exit::done, "an Error has the status of success", sentence);
  demand(!sentence.empty() && (sentence.back() == '.' || sentence.back() == '?'), "no sentence", sentence);
  demand(sentence.size() < 4000, "a sentence is too long to read", sentence);
  demand(find_invalid_utf8(sentence) == std::string_view::npos || find_invalid_utf8(sentence) >= sentence.size(),
         "a sentence is no text", sentence);
}

MemoryFile::MemoryFile() : descriptor_(::memfd_create("fuzz", 0)) {
  demand(descriptor_ >= 0, "no file in memory");
  path_ = "/proc/self/fd/" + std::to_string(descriptor_);
}

MemoryFile::~MemoryFile() { ::close(descriptor_); }

void MemoryFile::put(std::string_view content) {
  const bool done = ::ftruncate(descriptor_, 0) == 0 &&
                    ::pwrite(descriptor_, content.data(), content.size(), 0) == static_cast<ssize_t>(content.size());
  demand(done, "a file in memory cannot be written");
}

MemoryFolder::MemoryFolder() {
  std::string name = "/dev/shm/ridgeline-fuzz-XXXXXX";
  demand(::mkdtemp(name.data()) != nullptr, "no folder in memory");
  path_ = name;
}

MemoryFolder::~MemoryFolder() {
  std::error_code error;
  std::filesystem::remove_all(path_, error);
}

std::vector<std::string> split(const std::uint8_t* data, std::size_t size, char separator) {
  std::vector<std::string> parts(1);
  std::for_each(data, data + size, [&](std::uint8_t byte) {
    const char letter = static_cast<char>(byte);
    if (letter == separator)
      parts.emplace_back();
    else
      parts.back() += letter;
  });
  return parts;
}

}  // namespace ridgeline::fuzz

#include "io/files.hpp"

#include <atomic>
#include <cerrno>
#include <csignal>
#include <fstream>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.hpp"

namespace ridgeline {

namespace {

namespace fs = std::filesystem;

constexpr std::string_view temporary_prefix = ".ridgeline-";
constexpr std::string_view temporary_suffix = ".partial";

std::string reason(int error) { return std::generic_category().message(error); }

[[noreturn]] void fail_to_write(const fs::path& path, int error) {
  throw Error(Exit::file, fmt::format("cannot write {}: {}.", path.string(), reason(error)));
}

fs::path folder_of(const fs::path& path) { return path.has_parent_path() ? path.parent_path() : fs::path("."); }

/// A name that no other file has: short (the file's own may be as long as the file system allows) and hidden.
fs::path temporary_beside(const fs::path& path) {
  static std::atomic<int> count{0};
  return folder_of(path) / fmt::format("{}{}-{}{}", temporary_prefix, ::getpid(), count++, temporary_suffix);
}

/// Where a rename would replace a symbolic link, the file that it points to is meant.
fs::path resolved(const fs::path& path) {
  std::error_code ignored;
  if (fs::is_symlink(path, ignored)) {
    fs::path target = fs::canonical(path, ignored);
    if (!ignored) {
      return target;
    }
  }
  return path;
}

void check_target(const fs::path& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (path.filename().empty() || fs::is_directory(status)) {
    throw Error(Exit::file, fmt::format("cannot write {}: a folder is there, and a file is needed.", path.string()));
  }
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    throw Error(Exit::file, fmt::format("cannot write {}: it is not a regular file.", path.string()));
  }
  const fs::path folder = folder_of(path);
  const fs::file_status folder_status = fs::status(folder, error);
  if (!fs::exists(folder_status)) {
    throw Error(Exit::file,
                fmt::format("cannot write {}: the folder {} does not exist.", path.string(), folder.string()));
  }
  if (!fs::is_directory(folder_status)) {
    throw Error(Exit::file, fmt::format("cannot write {}: {} is not a folder.", path.string(), folder.string()));
  }
}

class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags) : descriptor_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (descriptor_ >= 0) {
      ::close(descriptor_);
    }
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int get() const { return descriptor_; }
  int close() { return ::close(std::exchange(descriptor_, -1)); }

 private:
  int descriptor_;
};

/// Returns errno, 0 when the file (or folder) is on disk. Some file systems cannot flush a folder: that is no failure.
int flush_to_disk(const fs::path& path, int flags) {
  Descriptor file(path, flags);
  if (file.get() < 0) {
    return errno;
  }
  if (::fsync(file.get()) != 0 && errno != EINVAL && errno != ENOSYS && errno != ENOTSUP && errno != EROFS) {
    return errno;
  }
  return 0;
}

/// A second name for the old content, then in one step the name that was asked for.
void keep_previous(const fs::path& path, const fs::path& previous) {
  std::error_code error;
  if (!fs::exists(path, error)) {
    return;
  }
  const fs::path link = temporary_beside(path);
  fs::create_hard_link(path, link, error);
  if (error) {  // a file system without hard links: there is a moment without `path`, and `previous` holds its content
    fs::rename(path, previous, error);
  } else {
    fs::rename(link, previous, error);
    std::error_code ignored;
    fs::remove(link, ignored);  // rename does nothing where both names are already the same file
  }
  if (error) {
    fail_to_write(previous, error.value());
  }
}

void put_in_place(const fs::path& temporary, const fs::path& path, const fs::path& previous) {
  if (const int error = flush_to_disk(temporary, O_RDONLY)) {
    fail_to_write(path, error);
  }
  if (!previous.empty()) {
    keep_previous(path, previous);
  }
  std::error_code error;
  fs::rename(temporary, path, error);
  if (error) {
    fail_to_write(path, error.value());
  }
  if (const int folder_error = flush_to_disk(folder_of(path), O_RDONLY | O_DIRECTORY)) {
    fail_to_write(path, folder_error);
  }
}

void write_all(const fs::path& temporary, const fs::path& path, std::string_view text) {
  Descriptor file(temporary, O_WRONLY | O_CREAT | O_TRUNC);
  if (file.get() < 0) {
    fail_to_write(path, errno);
  }
  while (!text.empty()) {
    const ssize_t written = ::write(file.get(), text.data(), text.size());
    if (written < 0 && errno != EINTR) {
      fail_to_write(path, errno);
    }
    text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  if (file.close() != 0) {
    fail_to_write(path, errno);
  }
}

}  // namespace

FileSizeSignalIgnored::FileSizeSignalIgnored() : former_(std::signal(SIGXFSZ, SIG_IGN)) {}

FileSizeSignalIgnored::~FileSizeSignalIgnored() {
  if (former_ != SIG_ERR) {
    std::signal(SIGXFSZ, former_);
  }
}

void replace_atomically(const fs::path& path, const std::function<void(const fs::path&)>& fill,
                        const fs::path& keep_previous_as) {
  const fs::path target = resolved(path);
  check_target(target);
  const FileSizeSignalIgnored ignored;
  const fs::path temporary = temporary_beside(target);
  try {
    fill(temporary);
    put_in_place(temporary, target, keep_previous_as);
  } catch (...) {
    std::error_code unimportant;
    fs::remove(temporary, unimportant);
    throw;
  }
}

void write_atomically(const fs::path& path, std::string_view content, const fs::path& keep_previous_as) {
  replace_atomically(
      path, [&](const fs::path& temporary) { write_all(temporary, path, content); }, keep_previous_as);
}

void write_atomically(const fs::path& path, const std::function<void(std::ostream&)>& writer) {
  // Through memory: a stream forgets why a write failed, and the sentence should say.
  std::ostringstream content;
  writer(content);
  const std::string text = content.str();
  write_atomically(path, std::string_view(text));
}

std::string read_text(const fs::path& path, std::uintmax_t largest_bytes) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    throw Error(Exit::file, fmt::format("cannot read {}: {}.", path.string(), reason(error ? error.value() : ENOENT)));
  }
  if (fs::is_directory(status)) {
    throw Error(Exit::file, fmt::format("cannot read {}: it is a folder, and a file is needed.", path.string()));
  }
  if (!fs::is_regular_file(status)) {  // a pipe may wait for ever, and a device never end
    throw Error(Exit::file, fmt::format("cannot read {}: it is not a regular file.", path.string()));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw Error(Exit::file, fmt::format("cannot read {}: {}.", path.string(), reason(errno)));
  }
  std::string text;
  std::vector<char> part(1 << 16);
  while (file) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    text.append(part.data(), static_cast<std::size_t>(file.gcount()));
    if (text.size() > largest_bytes) {
      throw Error(Exit::file,
                  fmt::format("cannot read {}: it is longer than the {} bytes allowed.", path.string(), largest_bytes));
    }
  }
  if (file.bad()) {
    throw Error(Exit::file, fmt::format("cannot read {}: {}.", path.string(), reason(errno)));
  }
  return text;
}

void make_directory(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  std::error_code unimportant;
  const bool is_there = fs::is_directory(path, unimportant);
  if (is_there) {
    return;
  }
  // Where a file is in the way, say which: the error code alone does not.
  for (fs::path part = path; !part.empty() && part != part.parent_path(); part = part.parent_path()) {
    std::error_code ignored;
    const fs::file_status status = fs::status(part, ignored);
    if (fs::exists(status) && !fs::is_directory(status)) {
      throw Error(Exit::file, fmt::format("cannot make the folder {}: {} is a file.", path.string(), part.string()));
    }
  }
  throw Error(Exit::file,
              fmt::format("cannot make the folder {}: {}.", path.string(), error ? error.message() : reason(ENOENT)));
}

void remove_leftovers(const fs::path& folder) {
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    const bool is_temporary =
        name.size() > temporary_prefix.size() + temporary_suffix.size() &&
        name.compare(0, temporary_prefix.size(), temporary_prefix) == 0 &&
        name.compare(name.size() - temporary_suffix.size(), temporary_suffix.size(), temporary_suffix) == 0;
    std::error_code ignored;
    if (is_temporary && entry->is_regular_file(ignored)) {
      fs::remove(entry->path(), ignored);
    }
  }
}

}  // namespace ridgeline

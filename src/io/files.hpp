// Files, whole or not at all, and folders.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>

namespace ridgeline {

/// Writes the file `path` so that a reader, or a crash at any moment, sees either what stood there before or the whole
/// new content. `fill` gets the path of a temporary file in the same folder and writes the content there (creating the
/// file); it is then flushed to disk, renamed to `path`, and the folder is flushed too. On any failure the temporary
/// file is removed and `path` is left as it was.
///
/// Where `keep_previous_as` is not empty and `path` exists, the old content stays under that name (same folder): at no
/// moment is there neither a whole `path` nor a whole previous file.
///
/// Throws Error(Exit::file) when the folder is missing or may not be written, when `path` is a folder, or when the disk
/// is full. What `fill` throws passes through.
void replace_atomically(const std::filesystem::path& path,
                        const std::function<void(const std::filesystem::path& temporary)>& fill,
                        const std::filesystem::path& keep_previous_as = {});

/// replace_atomically for content that goes through a stream (binary: nothing is translated).
void write_atomically(const std::filesystem::path& path, const std::function<void(std::ostream&)>& writer);

/// replace_atomically for content at hand.
void write_atomically(const std::filesystem::path& path, std::string_view content,
                      const std::filesystem::path& keep_previous_as = {});

/// The content of a file, byte by byte. Throws Error(Exit::file) when it is missing, no regular file, may not be read,
/// or is longer than `largest_bytes`.
std::string read_text(const std::filesystem::path& path, std::uintmax_t largest_bytes = std::uintmax_t{1} << 30);

/// Makes the folder and its parents; no error where it exists. Throws Error(Exit::file) when a file is in the way or
/// permission is missing.
void make_directory(const std::filesystem::path& path);

/// Removes the temporary files that a killed process left in a run directory. Call it only where no other process can
/// be writing there (with the directory's lock held).
void remove_leftovers(const std::filesystem::path& folder);

/// While one of these lives, a write beyond the process's file size limit fails with EFBIG, as a full disk does,
/// instead of ending the process by SIGXFSZ. The functions above hold one; whoever writes by other means takes one.
class FileSizeSignalIgnored {
 public:
  FileSizeSignalIgnored();
  ~FileSizeSignalIgnored();
  FileSizeSignalIgnored(const FileSizeSignalIgnored&) = delete;
  FileSizeSignalIgnored& operator=(const FileSizeSignalIgnored&) = delete;

 private:
  void (*former_)(int);
};

}  // namespace ridgeline

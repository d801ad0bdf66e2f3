#include "io/temporary_folder.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "core/error.hpp"

namespace ridgeline {

namespace fs = std::filesystem;

TemporaryFolder::TemporaryFolder() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "ridgeline-XXXXXX").string();
  if (error) throw Error(Exit::file, fmt::format("there is no folder for temporary files: {}.", error.message()));
  if (mkdtemp(name.data()) == nullptr)
    throw Error(Exit::file,
                fmt::format("cannot make a temporary folder {}: {}.", name, std::generic_category().message(errno)));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

}  // namespace ridgeline

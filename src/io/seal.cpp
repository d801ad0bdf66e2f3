#include "io/seal.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "core/error.hpp"
#include "io/crc32.hpp"

namespace ridgeline::hdf5 {
namespace {

constexpr std::string_view title = "Ridgeline HDF5 file\n";
constexpr std::string_view hdf5_signature = "\x89HDF\r\n\x1a\n";

std::string seal_of(std::uint32_t crc, std::uintmax_t bytes) {
  std::string seal =
      fmt::format("{}CRC-32 {:08x} of the {} bytes after this block of {}\n", title, crc, bytes, seal_bytes);
  seal.resize(seal_bytes, '\0');
  return seal;
}

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& complaint) {
  throw Error(Exit::file, fmt::format("cannot read {}: {}.", path.string(), complaint));
}

}  // namespace

void write_seal(char* image, std::size_t bytes) {
  Crc32 crc;
  crc.process(image + seal_bytes, bytes - seal_bytes);
  std::memcpy(image, seal_of(crc.checksum(), bytes - seal_bytes).data(), seal_bytes);
}

bool check_seal(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) refuse(path, std::strerror(errno));
  std::string seal(seal_bytes, '\0');
  file.read(seal.data(), seal_bytes);
  if (seal.compare(0, hdf5_signature.size(), hdf5_signature) == 0) return false;
  if (seal.compare(0, title.size(), title) != 0) refuse(path, "it is not an HDF5 file, or it is damaged or cut short");
  Crc32 crc;
  std::uintmax_t bytes = 0;
  std::vector<char> part(std::size_t{1} << 20);
  while (file) {
    file.read(part.data(), static_cast<std::streamsize>(part.size()));
    crc.process(part.data(), static_cast<std::size_t>(file.gcount()));
    bytes += static_cast<std::uintmax_t>(file.gcount());
  }
  if (file.bad()) refuse(path, std::strerror(errno));
  if (seal != seal_of(crc.checksum(), bytes))
    refuse(path, "its checksum is not that of its content: it is damaged, cut short, or was changed in place");
  return true;
}

}  // namespace ridgeline::hdf5

// The checksum in front of an HDF5 file, in its user block: the first 512 bytes, which HDF5 leaves to others.
//
//   Ridgeline HDF5 file
//   CRC-32 1f2e3d4c of the 123456 bytes after this block of 512
//
// and zeros. The CRC is zip's and zlib's. It is verified before HDF5 sees the file: libhdf5 may crash on damage, or never
// come back from it.
#pragma once

#include <cstddef>
#include <filesystem>

namespace ridgeline::hdf5 {

inline constexpr std::size_t seal_bytes = 512;

/// Fills the first seal_bytes of a file's image from the bytes after them.
void write_seal(char* image, std::size_t bytes);

/// Whether a file bears a checksum; one that other software wrote does not, and begins as HDF5 files do. Throws
/// Error(Exit::file) where the checksum is wrong, the file is neither of the two, or it cannot be read.
bool check_seal(const std::filesystem::path& path);

}  // namespace ridgeline::hdf5

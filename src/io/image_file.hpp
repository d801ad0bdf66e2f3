// A file of images: HDF5, with a group (a part: train, test) that holds
//
//   images   [n, height, width] or [n, height, width, channels], integers: levels, from 0 up
//   labels   [n], integers from 0 up: what each shows
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/hdf5.hpp"

namespace ridgeline {

/// Images of one size, pixel by pixel, row by row.
struct Images {
  int count = 0;
  int rows = 0;
  int columns = 0;
  int channels = 0;
  bool has_channel_extent = false;    ///< whether the file has a fourth extent, be it 1
  std::vector<std::uint16_t> levels;  ///< [count, rows, columns, channels]
  std::vector<std::int32_t> labels;   ///< [count]; empty where there are none and none were asked for
  int largest_level = 0;
  int largest_label = -1;

  int tokens() const { return rows * columns; }
  /// [tokens, channels] of one image
  const std::uint16_t* image(int index) const {
    return levels.data() + static_cast<std::size_t>(index) * tokens() * channels;
  }
};

/// Levels and labels are below these.
inline constexpr std::int64_t most_levels = 1 << 16;
inline constexpr std::int64_t most_labels = 1 << 16;

/// Whether the group holds images.
bool holds_images(const hdf5::File& file, const std::string& part);

/// The groups of a file that hold images.
std::vector<std::string> parts_with_images(const hdf5::File& file);

/// The images of a part, which is a group's name, or empty for the file's root. Throws Error(Exit::mistake) with one
/// sentence on what in the file is not as it should be, labels missing among it where they are `labelled`; Exit::file
/// where it cannot be read.
Images read_images(const hdf5::File& file, const std::string& part, bool labelled);

/// Writes images, and labels where there are any, into a group of an open file.
void write_images(hdf5::File& file, const std::string& part, const Images& images);

}  // namespace ridgeline

#include "io/image_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "config/text.hpp"
#include "core/error.hpp"

namespace ridgeline {
namespace {

constexpr std::int64_t most_pixels_read = std::int64_t{1} << 22;  // at a time

std::string name_in(const std::string& part, const char* dataset) {
  return part.empty() ? std::string(dataset) : part + "/" + dataset;
}

[[noreturn]] void refuse(const hdf5::File& file, const std::string& what) {
  throw Error(Exit::mistake, fmt::format("{}: {}.", file.path().string(), what));
}

/// "train, test", for messages: the groups that hold images.
std::string parts_text(const hdf5::File& file) {
  const std::vector<std::string> parts = parts_with_images(file);
  return parts.empty() ? "no group in it does" : "those that do are " + join(parts, ", ");
}

void check_integers(const hdf5::File& file, const std::string& name) {
  if (file.element_type(name) != hdf5::ElementType::integer)
    refuse(file, fmt::format("the dataset {} does not hold integers, which levels and labels are", excerpt(name)));
}

void read_extents(const hdf5::File& file, const std::string& name, Images& images) {
  const hdf5::Shape shape = file.shape(name);
  if (shape.size() != 3 && shape.size() != 4)
    refuse(file, fmt::format("the dataset {} has shape {}, and images are [n, height, width] or [n, height, width, "
                             "channels]",
                             excerpt(name), hdf5::to_string(shape)));
  if (shape[0] == 0) refuse(file, fmt::format("the dataset {} has no images", excerpt(name)));
  const std::int64_t channels = shape.size() == 4 ? shape[3] : 1;
  constexpr std::int64_t most = 1 << 30;
  std::int64_t pixels = 1;
  for (const std::int64_t extent : {shape[1], shape[2], channels}) {
    if (extent == 0)
      refuse(file, fmt::format("the images of the dataset {}, of shape {}, have no pixels", excerpt(name),
                               hdf5::to_string(shape)));
    pixels = extent > most / pixels ? most + 1 : pixels * extent;
  }
  if (shape[0] > most || pixels > most)
    refuse(file,
           fmt::format("the dataset {} has shape {}, more than can be indexed", excerpt(name), hdf5::to_string(shape)));
  images.count = static_cast<int>(shape[0]);
  images.rows = static_cast<int>(shape[1]);
  images.columns = static_cast<int>(shape[2]);
  images.channels = static_cast<int>(channels);
  images.has_channel_extent = shape.size() == 4;
}

/// A number as it stands in the file, for messages: one beyond 63 bits was read as the largest that they hold.
std::string number_in(const hdf5::File& file, const std::string& name, std::int64_t row, std::int64_t place,
                      std::int64_t number) {
  if (number < std::numeric_limits<std::int64_t>::max()) return number_text(number);
  return fmt::to_string(file.read_rows<std::uint64_t>(name, row, 1).at(static_cast<std::size_t>(place)));
}

void read_levels(const hdf5::File& file, const std::string& name, Images& images) {
  const std::int64_t size = static_cast<std::int64_t>(images.tokens()) * images.channels;
  const std::int64_t at_once = std::max<std::int64_t>(1, most_pixels_read / size);
  for (std::int64_t first = 0; first < images.count; first += at_once) {
    const std::int64_t count = std::min<std::int64_t>(at_once, images.count - first);
    const std::vector<std::int64_t> some = file.read_rows<std::int64_t>(name, first, count);
    const auto bad =
        std::find_if(some.begin(), some.end(), [](std::int64_t level) { return level < 0 || level >= most_levels; });
    if (bad != some.end()) {
      const std::int64_t place = bad - some.begin(), image = first + place / size;
      refuse(file, fmt::format("image {} of the dataset {} has a level of {}; levels are from 0 to {}", image,
                               excerpt(name), number_in(file, name, image, place % size, *bad), most_levels - 1));
    }
    images.largest_level =
        std::max(images.largest_level, static_cast<int>(*std::max_element(some.begin(), some.end())));
    images.levels.insert(images.levels.end(), some.begin(), some.end());
  }
}

void read_labels(const hdf5::File& file, const std::string& name, Images& images) {
  check_integers(file, name);
  const hdf5::Shape shape = file.shape(name);
  if (shape != hdf5::Shape{images.count})
    refuse(file, fmt::format("the dataset {} has shape {}, and there {} {}", excerpt(name), hdf5::to_string(shape),
                             images.count == 1 ? "is" : "are", count_text(images.count, "image")));
  const std::vector<std::int64_t> labels = file.read<std::int64_t>(name);
  const auto bad =
      std::find_if(labels.begin(), labels.end(), [](std::int64_t label) { return label < 0 || label >= most_labels; });
  if (bad != labels.end())
    refuse(file, fmt::format("entry {} of the dataset {} is {}; labels are from 0 to {}", bad - labels.begin(),
                             excerpt(name), number_in(file, name, bad - labels.begin(), 0, *bad), most_labels - 1));
  images.labels.assign(labels.begin(), labels.end());
  images.largest_label = *std::max_element(images.labels.begin(), images.labels.end());
}

}  // namespace

bool holds_images(const hdf5::File& file, const std::string& part) {
  return (part.empty() || file.is_group(part)) && file.is_dataset(name_in(part, "images"));
}

std::vector<std::string> parts_with_images(const hdf5::File& file) {
  std::vector<std::string> parts;
  for (const std::string& name : file.members())
    if (holds_images(file, name)) parts.push_back(excerpt(name));
  return parts;
}

Images read_images(const hdf5::File& file, const std::string& part, bool labelled) {
  if (!holds_images(file, part))
    refuse(file, part.empty() ? "it has no dataset images"
                              : fmt::format("it has no group {} that holds a dataset images; {}", excerpt(part),
                                            parts_text(file)));
  const std::string name = name_in(part, "images"), label_name = name_in(part, "labels");
  Images images;
  check_integers(file, name);
  read_extents(file, name, images);
  read_levels(file, name, images);
  const bool has_labels = file.is_dataset(label_name);
  if (labelled && !has_labels)
    refuse(file, fmt::format("it has no dataset {}, which tells what each image shows", excerpt(label_name)));
  if (has_labels) read_labels(file, label_name, images);
  return images;
}

void write_images(hdf5::File& file, const std::string& part, const Images& images) {
  hdf5::Shape shape{images.count, images.rows, images.columns};
  if (images.has_channel_extent) shape.push_back(images.channels);
  file.make_group(part);
  if (images.largest_level < 256)
    file.write(name_in(part, "images"), std::vector<std::uint8_t>(images.levels.begin(), images.levels.end()), shape);
  else
    file.write(name_in(part, "images"), std::vector<std::int32_t>(images.levels.begin(), images.levels.end()), shape);
  if (!images.labels.empty()) file.write(name_in(part, "labels"), images.labels, {images.count});
}

}  // namespace ridgeline

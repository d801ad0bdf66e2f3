// A thin layer over the HDF5 C API: files, datasets and attributes as C++ values, errors as sentences.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <string>
#include <variant>
#include <vector>

namespace ridgeline::hdf5 {

/// Extents of a dataset, slowest first (row-major). Empty for a scalar.
using Shape = std::vector<std::int64_t>;

/// Number of elements of a shape (1 for a scalar).
std::int64_t element_count(const Shape& shape);

/// "[8, 120, 2]", for messages.
std::string to_string(const Shape& shape);

/// What an attribute can hold. Integers and booleans of any width become int64, floating point numbers become double,
/// fixed and variable-length strings become std::string; one-dimensional arrays become vectors.
using Value = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                           std::vector<std::string>>;

enum class ElementType { float32, float64, integer, string, other };

/// An open HDF5 file. Objects are named by path, "group/dataset", with or without a leading slash; "" and "/" are the
/// root. Every function throws Error(Exit::file) with a sentence that names the file and the object.
class File {
 public:
  /// Opens for reading, once its checksum (seal.hpp) is verified. Throws when missing, a folder, unreadable, damaged, cut
  /// short, or not HDF5.
  static File open(const std::filesystem::path& path);

  /// Begins a file in memory; close() puts it on disk, whole or not at all, with its checksum in front (seal.hpp). (HDF5
  /// 1.10.8 crashes when the disk fills up under a file that it writes itself.)
  static File create(const std::filesystem::path& path);

  File(File&& other) noexcept;
  File& operator=(File&& other) noexcept;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File();

  /// A file opened for reading is closed. A created one is written, flushed to disk and renamed as replace_atomically
  /// (files.hpp) does, and throws as that does. Nothing may be called after it; without it a created file is dropped.
  void close(const std::filesystem::path& keep_previous_as = {});

  const std::filesystem::path& path() const { return path_; }
  /// Whether it bore a checksum: a file written with other software does not.
  bool is_sealed() const { return is_sealed_; }

  bool exists(const std::string& name) const;
  bool is_group(const std::string& name) const;
  bool is_dataset(const std::string& name) const;

  /// Names of a group's direct members, in alphabetical order.
  std::vector<std::string> members(const std::string& group = "/") const;

  /// Every dataset below a group, as paths relative to it ("block/weight"), in alphabetical order.
  std::vector<std::string> datasets_below(const std::string& group = "/") const;

  /// Makes a group and its parents; no error where it exists.
  void make_group(const std::string& name);

  Shape shape(const std::string& name) const;
  ElementType element_type(const std::string& name) const;

  /// Reads a whole dataset, converted to T: float, double, std::int32_t, std::int64_t or std::uint8_t. Throws when it
  /// is missing, is not numeric, holds floating point numbers where T is an integer, or declares more elements than
  /// the file could hold (found before anything is allocated).
  template <class T>
  std::vector<T> read(const std::string& name) const;

  /// The same, and throws when the shape is not `expected`; an extent of -1 there accepts any.
  template <class T>
  std::vector<T> read(const std::string& name, const Shape& expected) const;

  /// The same, into memory of element_count(expected) elements.
  template <class T>
  void read_into(const std::string& name, const Shape& expected, T* destination) const;

  /// Reads rows first, first+1, …, first+count-1 of the slowest extent, also as std::uint64_t.
  template <class T>
  std::vector<T> read_rows(const std::string& name, std::int64_t first, std::int64_t count) const;

  /// Makes a dataset, parents included, and writes it: same T as read; data holds element_count(shape) elements and is
  /// stored in T's own format, little endian as every current machine. Throws when the name is taken.
  template <class T>
  void write(const std::string& name, const T* data, const Shape& shape);
  template <class T>
  void write(const std::string& name, const std::vector<T>& data, const Shape& shape);

  /// Strings are written with fixed length (UTF-8, filled up with zeros; attributes beyond 60,000 bytes with variable
  /// length) and read with either.
  std::vector<std::string> read_strings(const std::string& name) const;  // a scalar gives one
  void write_strings(const std::string& name, const std::vector<std::string>& values);

  /// Attributes of a group, dataset, or the root ("/").
  bool has_attribute(const std::string& object, const std::string& attribute) const;
  std::map<std::string, Value> attributes(const std::string& object = "/") const;
  Value attribute(const std::string& object, const std::string& attribute) const;
  void write_attribute(const std::string& object, const std::string& attribute, const Value& value);

  /// The attribute as this type; integers convert to double, other conversions throw.
  std::string attribute_string(const std::string& object, const std::string& attribute_name) const;
  std::int64_t attribute_integer(const std::string& object, const std::string& attribute_name) const;
  double attribute_number(const std::string& object, const std::string& attribute_name) const;

 private:
  File(std::filesystem::path path, std::int64_t handle, std::uintmax_t bytes, bool is_created, bool is_sealed);
  void put_on_disk(const std::filesystem::path& keep_previous_as) const;
  void check_room(const std::string& name, std::int64_t dataset) const;

  std::filesystem::path path_;
  std::int64_t handle_ = -1;  // HDF5's hid_t
  std::uintmax_t bytes_ = 0;  // size of a file opened for reading
  bool is_created_ = false;
  bool is_sealed_ = false;
};

/// A file created, filled by `writer` and closed. Throws as File::close; what `writer` throws passes through, and then
/// nothing is written.
void write_atomically(const std::filesystem::path& path, const std::function<void(File&)>& writer,
                      const std::filesystem::path& keep_previous_as = {});

}  // namespace ridgeline::hdf5

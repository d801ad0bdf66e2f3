#include "io/hdf5.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include <fmt/format.h>
#include <hdf5.h>

#include "config/text.hpp"
#include "core/error.hpp"
#include "io/files.hpp"
#include "io/seal.hpp"
#include "io/trial.hpp"

namespace ridgeline::hdf5 {

namespace {

static_assert(sizeof(hid_t) == sizeof(std::int64_t), "File keeps an hid_t as a 64-bit integer");

/// Closes an HDF5 identifier at the end of its scope.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) {
      close_(id_);
    }
  }
  bool ok() const { return id_ >= 0; }
  hid_t get() const { return id_; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

/// HDF5 prints every failure unless told not to.
void silence_error_stack() { H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr); }

herr_t keep_operating_system_message(unsigned /*depth*/, const H5E_error2_t* entry, void* result) {
  constexpr const char* marker = "error message = '";
  const char* begin = entry->desc != nullptr ? std::strstr(entry->desc, marker) : nullptr;
  if (begin != nullptr) {
    begin += std::strlen(marker);
    const char* end = std::strchr(begin, '\'');
    static_cast<std::string*>(result)->assign(begin, end != nullptr ? end : begin + std::strlen(begin));
  }
  return 0;
}

/// "No space left on device" where the operating system was the cause, else `otherwise`.
std::string last_reason(const std::string& otherwise) {
  std::string reason;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_operating_system_message, &reason);
  return reason.empty() ? otherwise : reason;
}

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& what) {
  throw Error(Exit::file, fmt::format("{}: {}.", path.string(), what));
}

/// "a/b" for "/a/b/", "a//b" and "a/b"; "" for the root.
std::string canonical(const std::string& name) {
  std::string result;
  for (const char letter : name) {
    if (letter != '/' || (!result.empty() && result.back() != '/')) {
      result += letter;
    }
  }
  if (!result.empty() && result.back() == '/') {
    result.pop_back();
  }
  return result;
}

std::string absolute(const std::string& name) { return "/" + canonical(name); }

/// A name in a message. It may come from a file, and be anything.
std::string shown(const std::string& name) { return excerpt(name, 200); }

template <class T>
hid_t native_type() {
  if constexpr (std::is_same_v<T, float>) {
    return H5T_NATIVE_FLOAT;
  } else if constexpr (std::is_same_v<T, double>) {
    return H5T_NATIVE_DOUBLE;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return H5T_NATIVE_INT32;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return H5T_NATIVE_INT64;
  } else if constexpr (std::is_same_v<T, std::uint64_t>) {
    return H5T_NATIVE_UINT64;
  } else {
    static_assert(std::is_same_v<T, std::uint8_t>);
    return H5T_NATIVE_UINT8;
  }
}

template <class T>
hid_t stored_type() {
  if constexpr (std::is_same_v<T, float>) {
    return H5T_IEEE_F32LE;
  } else if constexpr (std::is_same_v<T, double>) {
    return H5T_IEEE_F64LE;
  } else if constexpr (std::is_same_v<T, std::int32_t>) {
    return H5T_STD_I32LE;
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return H5T_STD_I64LE;
  } else {
    return H5T_STD_U8LE;
  }
}

Handle string_type(std::size_t size) {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), size);
  H5Tset_strpad(type.get(), H5T_STR_NULLPAD);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

/// Strings as they are stored: all of the longest one's size, filled up with zeros. Variable-length ones would lie in
/// HDF5's global heap, and HDF5 1.10 crashes where that is damaged.
struct FixedStrings {
  explicit FixedStrings(const std::vector<std::string>& values) {
    for (const std::string& value : values) {
      size = std::max(size, value.size());
    }
    letters.reserve(size * values.size());
    for (const std::string& value : values) {
      letters.insert(letters.end(), value.begin(), value.end());
      letters.resize(letters.size() + size - value.size(), '\0');
    }
  }

  std::size_t size = 1;  // HDF5 has no strings of size 0
  std::vector<char> letters;
};

Handle make_space(const Shape& shape) {
  if (shape.empty()) {
    return {H5Screate(H5S_SCALAR), H5Sclose};
  }
  std::vector<hsize_t> extents(shape.begin(), shape.end());
  return {H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), H5Sclose};
}

/// Makes the parents of what is created, with names in UTF-8.
Handle link_properties() {
  Handle properties(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(properties.get(), 1);
  H5Pset_char_encoding(properties.get(), H5T_CSET_UTF8);
  return properties;
}

Handle dataset_properties() {
  Handle properties(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  H5Pset_obj_track_times(properties.get(), false);  // so that the same results are the same bytes
  return properties;
}

Handle access_properties() {
  Handle properties(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_fclose_degree(properties.get(), H5F_CLOSE_STRONG);
#if H5_VERSION_GE(1, 10, 7)
  // Files appear whole, by a rename, so locks protect nothing, and some cluster file systems have none.
  H5Pset_file_locking(properties.get(), false, true);
#endif
  return properties;
}

/// Shape of a dataspace, or nothing where it holds no data by design (h5py's Empty).
std::optional<Shape> shape_of(hid_t space) {
  if (H5Sget_simple_extent_type(space) == H5S_NULL) {
    return std::nullopt;
  }
  const int rank = H5Sget_simple_extent_ndims(space);
  std::vector<hsize_t> extents(static_cast<std::size_t>(std::max(rank, 0)));
  if (rank < 0 || (rank > 0 && H5Sget_simple_extent_dims(space, extents.data(), nullptr) < 0)) {
    return std::nullopt;
  }
  Shape shape;
  for (const hsize_t extent : extents) {
    shape.push_back(static_cast<std::int64_t>(std::min<hsize_t>(extent, std::numeric_limits<std::int64_t>::max())));
  }
  return shape;
}

/// Number of elements, or nothing where it is beyond 64 bits.
std::optional<std::int64_t> checked_count(const Shape& shape) {
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) {
    return 0;
  }
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    if (extent < 0 || count > std::numeric_limits<std::int64_t>::max() / extent) {
      return std::nullopt;
    }
    count *= extent;
  }
  return count;
}

ElementType element_type_of(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_FLOAT:
      return H5Tget_size(type) <= sizeof(float) ? ElementType::float32 : ElementType::float64;
    case H5T_INTEGER:
    case H5T_ENUM:  // h5py's booleans
      return ElementType::integer;
    case H5T_STRING:
      return ElementType::string;
    default:
      return ElementType::other;
  }
}

bool matches(const Shape& shape, const Shape& expected) {
  return shape.size() == expected.size() &&
         std::equal(shape.begin(), shape.end(), expected.begin(),
                    [](std::int64_t actual, std::int64_t wanted) { return wanted == -1 || actual == wanted; });
}

/// An open dataset with what is known about it.
struct Dataset {
  Handle id;
  Handle space;
  Handle type;
  Shape shape;
};

/// Converts what a string dataset or attribute gave: count strings in `type`, read by `read(memory_type, buffer)`.
template <class Read>
std::optional<std::vector<std::string>> read_strings_with(hid_t type, hid_t space, std::int64_t count, Read read) {
  std::vector<std::string> strings;
  if (count == 0) {
    return strings;
  }
  const Handle memory_type(H5Tcopy(type), H5Tclose);
  if (H5Tis_variable_str(type) > 0) {
    std::vector<char*> pointers(static_cast<std::size_t>(count), nullptr);
    if (read(memory_type.get(), pointers.data()) < 0) {
      return std::nullopt;
    }
    for (const char* pointer : pointers) {
      strings.emplace_back(pointer != nullptr ? pointer : "");
    }
    H5Dvlen_reclaim(memory_type.get(), space, H5P_DEFAULT, pointers.data());
    return strings;
  }
  const std::size_t size = H5Tget_size(type);
  std::vector<char> letters(static_cast<std::size_t>(count) * size);
  if (read(memory_type.get(), letters.data()) < 0) {
    return std::nullopt;
  }
  const bool is_space_padded = H5Tget_strpad(type) == H5T_STR_SPACEPAD;
  for (std::size_t begin = 0; begin < letters.size(); begin += size) {
    std::string value(letters.data() + begin, size);
    value.resize(is_space_padded ? value.find_last_not_of(' ') + 1 : std::min(value.find('\0'), value.size()));
    strings.push_back(std::move(value));
  }
  return strings;
}

template <class T>
Value scalar_or_list(std::vector<T> values, bool is_scalar) {
  if (is_scalar && values.size() == 1) {
    return std::move(values.front());
  }
  return values;
}

/// The value of an open attribute, or nothing where it is of a kind that Value cannot hold. `most_bytes` bounds what
/// it may declare.
std::optional<Value> attribute_value(hid_t attribute, std::uintmax_t most_bytes) {
  const Handle type(H5Aget_type(attribute), H5Tclose);
  const Handle space(H5Aget_space(attribute), H5Sclose);
  const std::optional<Shape> shape = type.ok() && space.ok() ? shape_of(space.get()) : std::nullopt;
  const std::optional<std::int64_t> count = shape ? checked_count(*shape) : std::nullopt;
  if (!count || static_cast<std::uintmax_t>(*count) > most_bytes / std::max<std::size_t>(H5Tget_size(type.get()), 1)) {
    return std::nullopt;
  }
  const auto read = [&](hid_t memory_type, void* data) { return H5Aread(attribute, memory_type, data); };
  const bool is_scalar = shape->empty();
  switch (element_type_of(type.get())) {
    case ElementType::integer: {
      std::vector<std::int64_t> values(static_cast<std::size_t>(*count));
      if (*count == 0 || read(H5T_NATIVE_INT64, values.data()) >= 0) {
        return scalar_or_list(std::move(values), is_scalar);
      }
      return std::nullopt;
    }
    case ElementType::float32:
    case ElementType::float64: {
      std::vector<double> values(static_cast<std::size_t>(*count));
      if (*count == 0 || read(H5T_NATIVE_DOUBLE, values.data()) >= 0) {
        return scalar_or_list(std::move(values), is_scalar);
      }
      return std::nullopt;
    }
    case ElementType::string: {
      std::optional<std::vector<std::string>> values = read_strings_with(type.get(), space.get(), *count, read);
      return values ? std::optional<Value>(scalar_or_list(std::move(*values), is_scalar)) : std::nullopt;
    }
    default:
      return std::nullopt;
  }
}

constexpr std::uintmax_t room_to_spare = std::uintmax_t{1} << 20;

struct Named {
  std::vector<std::string> names;
};

herr_t keep_attribute_name(hid_t /*object*/, const char* name, const H5A_info_t* /*info*/, void* result) {
  static_cast<Named*>(result)->names.emplace_back(name);
  return 0;
}

Handle open_object(hid_t file, const std::string& name) {
  return {H5Oopen(file, absolute(name).c_str(), H5P_DEFAULT), H5Oclose};
}

/// Creates an attribute of this type and shape, in place of one that is there, and writes it.
void put_attribute(const File& file, hid_t handle, const std::string& object, const std::string& attribute,
                   hid_t stored, hid_t memory, const Shape& shape, const void* data) {
  const Handle owner = open_object(handle, object);
  if (!owner.ok()) {
    fail(file.path(),
         fmt::format(R"(cannot write attribute "{}": there is no "{}")", attribute, shown(absolute(object))));
  }
  if (H5Aexists(owner.get(), attribute.c_str()) > 0) {
    H5Adelete(owner.get(), attribute.c_str());
  }
  const Handle space = make_space(shape);
  const Handle properties(H5Pcreate(H5P_ATTRIBUTE_CREATE), H5Pclose);
  H5Pset_char_encoding(properties.get(), H5T_CSET_UTF8);
  const Handle created(H5Acreate2(owner.get(), attribute.c_str(), stored, space.get(), properties.get(), H5P_DEFAULT),
                       H5Aclose);
  if (!created.ok() || (element_count(shape) > 0 && H5Awrite(created.get(), memory, data) < 0)) {
    fail(file.path(), fmt::format(R"(cannot write attribute "{}" of "{}": {})", attribute, shown(absolute(object)),
                                  last_reason("HDF5 refused it")));
  }
}

std::vector<const char*> pointers_to(const std::vector<std::string>& values) {
  std::vector<const char*> pointers;
  pointers.reserve(values.size());
  for (const std::string& value : values) {
    pointers.push_back(value.c_str());
  }
  return pointers;
}

/// put_attribute for strings. HDF5 1.10 keeps an attribute in an object's header, which has room for 64 KiB: only what
/// is longer is stored with variable length.
void put_string_attribute(const File& file, hid_t handle, const std::string& object, const std::string& attribute,
                          const Shape& shape, const std::vector<std::string>& values) {
  constexpr std::size_t most_bytes = 60000;
  const FixedStrings strings(values);
  if (strings.letters.size() <= most_bytes) {
    const Handle type = string_type(strings.size);
    put_attribute(file, handle, object, attribute, type.get(), type.get(), shape, strings.letters.data());
  } else {
    const Handle type = string_type(H5T_VARIABLE);
    put_attribute(file, handle, object, attribute, type.get(), type.get(), shape, pointers_to(values).data());
  }
}

Dataset open_dataset(const File& file, hid_t handle, const std::string& name) {
  if (!file.is_dataset(name)) {
    fail(file.path(), fmt::format("there is no dataset \"{}\"", shown(canonical(name))));
  }
  Handle id(H5Dopen2(handle, absolute(name).c_str(), H5P_DEFAULT), H5Dclose);
  if (!id.ok()) {
    fail(file.path(), fmt::format("dataset \"{}\" cannot be opened", shown(canonical(name))));
  }
  Handle space(H5Dget_space(id.get()), H5Sclose);
  Handle type(H5Dget_type(id.get()), H5Tclose);
  std::optional<Shape> shape = space.ok() && type.ok() ? shape_of(space.get()) : std::nullopt;
  if (!shape) {
    fail(file.path(), fmt::format("dataset \"{}\" holds no data", shown(canonical(name))));
  }
  return Dataset{std::move(id), std::move(space), std::move(type), std::move(*shape)};
}

template <class T>
void check_numeric(const File& file, const std::string& name, const Dataset& dataset) {
  const ElementType type = element_type_of(dataset.type.get());
  if (type == ElementType::string || type == ElementType::other) {
    fail(file.path(), fmt::format("dataset \"{}\" does not hold numbers", shown(canonical(name))));
  }
  if (std::is_integral_v<T> && type != ElementType::integer) {
    fail(file.path(),
         fmt::format("dataset \"{}\" holds floating point numbers, and integers are needed", shown(canonical(name))));
  }
}

/// Memory for what a dataset declares; the file's size bounds it, yet it may still be too much for this machine.
template <class T>
std::vector<T> allocate(const File& file, const std::string& name, std::int64_t count) {
  try {
    return std::vector<T>(static_cast<std::size_t>(count));
  } catch (const std::exception&) {
    fail(file.path(),
         fmt::format("dataset \"{}\" of {} elements does not fit in memory", shown(canonical(name)), count));
  }
}

template <class T>
void read_numbers(const File& file, const std::string& name, const Dataset& dataset, hid_t memory_space,
                  hid_t file_space, T* destination) {
  if (H5Dread(dataset.id.get(), native_type<T>(), memory_space, file_space, H5P_DEFAULT, destination) < 0) {
    fail(file.path(),
         fmt::format("dataset \"{}\" cannot be read: {}", shown(canonical(name)), last_reason("the file is damaged")));
  }
}

}  // namespace

std::int64_t element_count(const Shape& shape) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) {
    count *= extent;
  }
  return count;
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) {
    text += text.size() > 1 ? ", " : "";
    text += extent == -1 ? "any" : std::to_string(extent);
  }
  return text + "]";
}

File::File(std::filesystem::path path, std::int64_t handle, std::uintmax_t bytes, bool is_created, bool is_sealed)
    : path_(std::move(path)), handle_(handle), bytes_(bytes), is_created_(is_created), is_sealed_(is_sealed) {}

File::File(File&& other) noexcept
    : path_(std::move(other.path_)),
      handle_(std::exchange(other.handle_, -1)),
      bytes_(other.bytes_),
      is_created_(other.is_created_),
      is_sealed_(other.is_sealed_) {}

File& File::operator=(File&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(handle_, other.handle_);
  std::swap(bytes_, other.bytes_);
  std::swap(is_created_, other.is_created_);
  std::swap(is_sealed_, other.is_sealed_);
  return *this;
}

File::~File() {
  if (handle_ >= 0) {
    H5Fclose(handle_);
  }
}

namespace {

template <class Step>
void attempt(const Step& step) {
  try {
    step();
  } catch (const std::exception&) {  // what cannot be read is refused by who needs it
  }
}

/// Everything that is below a group is read, as far as it can be.
void read_all(const File& file, const std::string& group, int depth, int& objects) {
  constexpr int deepest = 8, most_objects = 100000;  // links may form circles
  attempt([&] { file.attributes(group); });
  std::vector<std::string> members;
  attempt([&] { members = file.members(group); });
  for (const std::string& member : members) {
    const std::string path = fmt::format("{}/{}", group, member);
    if (depth > deepest || ++objects > most_objects) {
      return;
    }
    if (file.is_group(path)) {
      read_all(file, path, depth + 1, objects);
    } else if (file.is_dataset(path)) {
      attempt([&] { file.attributes(path); });
      attempt([&] {
        if (file.element_type(path) == ElementType::string) {
          file.read_strings(path);
        } else {
          file.read<double>(path);
        }
      });
    }
  }
}

hid_t open_to_read(const std::filesystem::path& path) {
  const Handle access = access_properties();
  return H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get());
}

}  // namespace

File File::open(const std::filesystem::path& path) {
  silence_error_stack();
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    throw Error(Exit::file, fmt::format("cannot read {}: {}.", path.string(),
                                        error ? error.message() : "No such file or directory"));
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error(Exit::file, fmt::format("cannot read {}: it is not a regular file.", path.string()));
  }
  const bool is_sealed = check_seal(path);
  const std::uintmax_t bytes = std::filesystem::file_size(path, error);
  if (!is_sealed) {
    // No checksum says that it is whole, and libhdf5 may crash on damage or never come back from it.
    constexpr double least_seconds = 10, bytes_a_second = 1e7;
    try_apart(path, least_seconds + static_cast<double>(bytes) / bytes_a_second, [&] {
      H5set_free_list_limits(0, 0, 0, 0, 0, 0);
      int objects = 0;
      read_all({path, open_to_read(path), bytes, false, false}, "/", 0, objects);
    });
  }
  const hid_t handle = open_to_read(path);
  if (handle < 0) {
    throw Error(Exit::file, fmt::format("cannot read {}: {}.", path.string(),
                                        last_reason("it is not an HDF5 file, or it is damaged or cut short")));
  }
  return {path, handle, bytes, false, is_sealed};
}

File File::create(const std::filesystem::path& path) {
  silence_error_stack();
  constexpr std::size_t growth = std::size_t{1} << 20;  // bytes of memory at a time
  const Handle access = access_properties();
  H5Pset_fapl_core(access.get(), growth, false);
  const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
  H5Pset_userblock(creation.get(), seal_bytes);
  // HDF5 knows its open files by name, those in memory too: each needs its own.
  static std::atomic<int> count{0};
  const std::string name = fmt::format("memory {}", count++);
  const hid_t handle = H5Fcreate(name.c_str(), H5F_ACC_TRUNC, creation.get(), access.get());
  if (handle < 0) {
    throw Error(Exit::file, fmt::format("cannot write {}: {}.", path.string(), last_reason("HDF5 cannot create it")));
  }
  return {path, handle, std::numeric_limits<std::uintmax_t>::max() / 4096, true, true};
}

void File::put_on_disk(const std::filesystem::path& keep_previous_as) const {
  void** memory = nullptr;
  const bool is_flushed = H5Fflush(handle_, H5F_SCOPE_LOCAL) >= 0;
  const ssize_t content = H5Fget_file_image(handle_, nullptr, 0);
  if (!is_flushed || content < 0 || H5Fget_vfd_handle(handle_, H5P_DEFAULT, reinterpret_cast<void**>(&memory)) < 0) {
    throw Error(Exit::file, fmt::format("cannot write {}: {}.", path_.string(), last_reason("HDF5 cannot flush it")));
  }
  // The memory that HDF5 works on: a copy would double what a large checkpoint needs.
  char* image = static_cast<char*>(*memory);
  const std::size_t bytes = static_cast<std::size_t>(content) + seal_bytes;
  write_seal(image, bytes);
  ridgeline::write_atomically(path_, std::string_view(image, bytes), keep_previous_as);
}

void File::close(const std::filesystem::path& keep_previous_as) {
  if (handle_ >= 0 && is_created_) {
    put_on_disk(keep_previous_as);
  }
  if (handle_ >= 0) {
    H5Fclose(std::exchange(handle_, -1));
  }
}

bool File::exists(const std::string& name) const {
  const std::string full = canonical(name);
  // H5Lexists wants every group on the way to exist.
  for (std::size_t end = 0; end != std::string::npos && !full.empty();) {
    end = full.find('/', end + 1);
    const std::string part = "/" + full.substr(0, end);
    if (H5Lexists(handle_, part.c_str(), H5P_DEFAULT) <= 0 ||
        H5Oexists_by_name(handle_, part.c_str(), H5P_DEFAULT) <= 0) {
      return false;
    }
  }
  return true;
}

bool File::is_group(const std::string& name) const {
  if (!exists(name)) {
    return false;
  }
  const Handle object = open_object(handle_, name);
  return object.ok() && H5Iget_type(object.get()) == H5I_GROUP;
}

bool File::is_dataset(const std::string& name) const {
  if (!exists(name)) {
    return false;
  }
  const Handle object = open_object(handle_, name);
  return object.ok() && H5Iget_type(object.get()) == H5I_DATASET;
}

std::vector<std::string> File::members(const std::string& group) const {
  if (!is_group(group)) {
    fail(path_, fmt::format("there is no group \"{}\"", shown(absolute(group))));
  }
  const Handle opened(H5Gopen2(handle_, absolute(group).c_str(), H5P_DEFAULT), H5Gclose);
  H5G_info_t info;
  if (!opened.ok() || H5Gget_info(opened.get(), &info) < 0) {
    fail(path_, fmt::format("group \"{}\" cannot be read", shown(absolute(group))));
  }
  std::vector<std::string> names;
  for (hsize_t index = 0; index < info.nlinks; ++index) {
    const auto name_at = [&](char* buffer, std::size_t size) {
      return H5Lget_name_by_idx(opened.get(), ".", H5_INDEX_NAME, H5_ITER_INC, index, buffer, size, H5P_DEFAULT);
    };
    const ssize_t length = name_at(nullptr, 0);
    std::string name(static_cast<std::size_t>(std::max<ssize_t>(length, 0)), '\0');
    if (length < 0 || name_at(name.data(), name.size() + 1) < 0) {
      fail(path_, fmt::format("group \"{}\" cannot be read", shown(absolute(group))));
    }
    names.push_back(std::move(name));
  }
  return names;
}

namespace {

void collect_datasets(const File& file, const std::string& group, const std::string& prefix, int depth,
                      std::vector<std::string>& names) {
  constexpr int deepest = 32;  // links may form a circle
  constexpr std::size_t most = std::size_t{1} << 20;
  if (depth > deepest || names.size() > most) {
    fail(file.path(), fmt::format("groups below \"{}\" are nested more than {} deep", shown(absolute(group)), deepest));
  }
  for (const std::string& member : file.members(group)) {
    const std::string path = fmt::format("{}/{}", group, member);
    if (file.is_group(path)) {
      collect_datasets(file, path, fmt::format("{}{}/", prefix, member), depth + 1, names);
    } else if (file.is_dataset(path)) {
      names.push_back(prefix + member);
    }
  }
}

}  // namespace

std::vector<std::string> File::datasets_below(const std::string& group) const {
  std::vector<std::string> names;
  collect_datasets(*this, canonical(group), "", 0, names);
  std::sort(names.begin(), names.end());
  return names;
}

void File::make_group(const std::string& name) {
  if (is_group(name)) {
    return;
  }
  const Handle links = link_properties();
  const Handle group(H5Gcreate2(handle_, absolute(name).c_str(), links.get(), H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
  if (!group.ok()) {
    fail(path_, fmt::format("cannot make group \"{}\": {}", shown(canonical(name)), last_reason("the name is taken")));
  }
}

Shape File::shape(const std::string& name) const { return open_dataset(*this, handle_, name).shape; }

ElementType File::element_type(const std::string& name) const {
  return element_type_of(open_dataset(*this, handle_, name).type.get());
}

void File::check_room(const std::string& name, std::int64_t dataset) const {
  const Handle space(H5Dget_space(dataset), H5Sclose);
  const Handle type(H5Dget_type(dataset), H5Tclose);
  const Handle properties(H5Dget_create_plist(dataset), H5Pclose);
  const H5D_layout_t layout = H5Pget_layout(properties.get());
  if (layout == H5D_VIRTUAL || H5Pget_external_count(properties.get()) > 0) {
    return;  // its elements lie in other files
  }
  // Deflate shrinks a chunk by 1,032 at the very most; chunks and small datasets never written take no space at all.
  const std::uintmax_t largest_ratio = layout == H5D_CHUNKED ? 1100 : 1;
  const std::uintmax_t most_bytes = bytes_ * largest_ratio + room_to_spare;
  const Shape shape = shape_of(space.get()).value_or(Shape{});
  const std::optional<std::int64_t> count = checked_count(shape);
  if (!count || static_cast<std::uintmax_t>(*count) > most_bytes / std::max<std::size_t>(H5Tget_size(type.get()), 1)) {
    fail(path_, fmt::format("dataset \"{}\" declares shape {}, more than a file of {} bytes can hold",
                            shown(canonical(name)), to_string(shape), bytes_));
  }
}

template <class T>
std::vector<T> File::read(const std::string& name) const {
  const Dataset dataset = open_dataset(*this, handle_, name);
  check_numeric<T>(*this, name, dataset);
  check_room(name, dataset.id.get());
  std::vector<T> values = allocate<T>(*this, name, element_count(dataset.shape));
  if (!values.empty()) {
    read_numbers(*this, name, dataset, H5S_ALL, H5S_ALL, values.data());
  }
  return values;
}

template <class T>
std::vector<T> File::read(const std::string& name, const Shape& expected) const {
  const Shape found = shape(name);
  if (!matches(found, expected)) {
    fail(path_, fmt::format("dataset \"{}\" has shape {}, and {} is needed", shown(canonical(name)), to_string(found),
                            to_string(expected)));
  }
  return read<T>(name);
}

template <class T>
void File::read_into(const std::string& name, const Shape& expected, T* destination) const {
  const Dataset dataset = open_dataset(*this, handle_, name);
  if (dataset.shape != expected) {
    fail(path_, fmt::format("dataset \"{}\" has shape {}, and {} is needed", shown(canonical(name)),
                            to_string(dataset.shape), to_string(expected)));
  }
  check_numeric<T>(*this, name, dataset);
  check_room(name, dataset.id.get());
  if (element_count(dataset.shape) > 0) {
    read_numbers(*this, name, dataset, H5S_ALL, H5S_ALL, destination);
  }
}

template <class T>
std::vector<T> File::read_rows(const std::string& name, std::int64_t first, std::int64_t count) const {
  const Dataset dataset = open_dataset(*this, handle_, name);
  check_numeric<T>(*this, name, dataset);
  check_room(name, dataset.id.get());
  Shape rows = dataset.shape;
  if (rows.empty() || first < 0 || count < 0 || first > rows[0] || count > rows[0] - first) {
    fail(path_, fmt::format("dataset \"{}\" of shape {} has no rows {} to {}", shown(canonical(name)), to_string(rows),
                            first, first + count - 1));
  }
  rows[0] = count;
  std::vector<T> values = allocate<T>(*this, name, element_count(rows));
  if (!values.empty()) {
    std::vector<hsize_t> start(rows.size(), 0);
    start[0] = static_cast<hsize_t>(first);
    const std::vector<hsize_t> extents(rows.begin(), rows.end());
    H5Sselect_hyperslab(dataset.space.get(), H5S_SELECT_SET, start.data(), nullptr, extents.data(), nullptr);
    const Handle memory_space = make_space(rows);
    read_numbers(*this, name, dataset, memory_space.get(), dataset.space.get(), values.data());
  }
  return values;
}

namespace {

void write_dataset(const File& file, hid_t handle, const std::string& name, hid_t stored, hid_t memory,
                   const Shape& shape, const void* data) {
  if (file.exists(name)) {
    fail(file.path(), fmt::format("cannot write dataset \"{}\": the name is taken", shown(canonical(name))));
  }
  const Handle space = make_space(shape);
  const Handle links = link_properties();
  const Handle creation = dataset_properties();
  Handle dataset(
      H5Dcreate2(handle, absolute(name).c_str(), stored, space.get(), links.get(), creation.get(), H5P_DEFAULT),
      H5Dclose);
  const bool is_written = dataset.ok() && (element_count(shape) == 0 ||
                                           H5Dwrite(dataset.get(), memory, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0);
  if (!is_written) {
    fail(file.path(),
         fmt::format("cannot write dataset \"{}\": {}", shown(canonical(name)), last_reason("HDF5 refused it")));
  }
}

}  // namespace

template <class T>
void File::write(const std::string& name, const T* data, const Shape& shape) {
  write_dataset(*this, handle_, name, stored_type<T>(), native_type<T>(), shape, data);
}

template <class T>
void File::write(const std::string& name, const std::vector<T>& data, const Shape& shape) {
  if (static_cast<std::int64_t>(data.size()) != element_count(shape)) {
    fail(path_, fmt::format("cannot write dataset \"{}\": {} elements for shape {}", shown(canonical(name)),
                            data.size(), to_string(shape)));
  }
  write(name, data.data(), shape);
}

std::vector<std::string> File::read_strings(const std::string& name) const {
  const Dataset dataset = open_dataset(*this, handle_, name);
  if (element_type_of(dataset.type.get()) != ElementType::string) {
    fail(path_, fmt::format("dataset \"{}\" does not hold strings", shown(canonical(name))));
  }
  check_room(name, dataset.id.get());
  auto values = read_strings_with(dataset.type.get(), dataset.space.get(), element_count(dataset.shape),
                                  [&](hid_t memory_type, void* data) {
                                    return H5Dread(dataset.id.get(), memory_type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
                                  });
  if (!values) {
    fail(path_,
         fmt::format("dataset \"{}\" cannot be read: {}", shown(canonical(name)), last_reason("the file is damaged")));
  }
  return std::move(*values);
}

void File::write_strings(const std::string& name, const std::vector<std::string>& values) {
  const FixedStrings strings(values);
  const Handle type = string_type(strings.size);
  write_dataset(*this, handle_, name, type.get(), type.get(), {static_cast<std::int64_t>(values.size())},
                strings.letters.data());
}

bool File::has_attribute(const std::string& object, const std::string& attribute) const {
  if (!exists(object)) {
    return false;
  }
  const Handle owner = open_object(handle_, object);
  return owner.ok() && H5Aexists(owner.get(), attribute.c_str()) > 0;
}

std::map<std::string, Value> File::attributes(const std::string& object) const {
  const Handle owner = exists(object) ? open_object(handle_, object) : Handle(-1, H5Oclose);
  Named found;
  hsize_t position = 0;
  if (!owner.ok() || H5Aiterate2(owner.get(), H5_INDEX_NAME, H5_ITER_INC, &position, keep_attribute_name, &found) < 0) {
    fail(path_, fmt::format("the attributes of \"{}\" cannot be read", shown(absolute(object))));
  }
  std::map<std::string, Value> values;
  for (const std::string& name : found.names) {
    const Handle opened(H5Aopen(owner.get(), name.c_str(), H5P_DEFAULT), H5Aclose);
    std::optional<Value> value = opened.ok() ? attribute_value(opened.get(), bytes_ + room_to_spare) : std::nullopt;
    if (value) {  // what Value cannot hold (references, compound types) is none of our business
      values.emplace(name, std::move(*value));
    }
  }
  return values;
}

Value File::attribute(const std::string& object, const std::string& attribute) const {
  if (!has_attribute(object, attribute)) {
    fail(path_, fmt::format(R"(there is no attribute "{}" of "{}")", attribute, shown(absolute(object))));
  }
  const Handle owner = open_object(handle_, object);
  const Handle opened(H5Aopen(owner.get(), attribute.c_str(), H5P_DEFAULT), H5Aclose);
  std::optional<Value> value = opened.ok() ? attribute_value(opened.get(), bytes_ + room_to_spare) : std::nullopt;
  if (!value) {
    fail(path_, fmt::format(R"(attribute "{}" of "{}" cannot be read)", attribute, shown(absolute(object))));
  }
  return std::move(*value);
}

void File::write_attribute(const std::string& object, const std::string& attribute, const Value& value) {
  const auto put = [&](hid_t stored, hid_t memory, const Shape& shape, const void* data) {
    put_attribute(*this, handle_, object, attribute, stored, memory, shape, data);
  };
  const auto size = [](const auto& list) { return Shape{static_cast<std::int64_t>(list.size())}; };
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    put(H5T_STD_I64LE, H5T_NATIVE_INT64, {}, integer);
  } else if (const auto* number = std::get_if<double>(&value)) {
    put(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, {}, number);
  } else if (const auto* string = std::get_if<std::string>(&value)) {
    put_string_attribute(*this, handle_, object, attribute, {}, {*string});
  } else if (const auto* integers = std::get_if<std::vector<std::int64_t>>(&value)) {
    put(H5T_STD_I64LE, H5T_NATIVE_INT64, size(*integers), integers->data());
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&value)) {
    put(H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, size(*numbers), numbers->data());
  } else {
    const auto& strings = std::get<std::vector<std::string>>(value);
    put_string_attribute(*this, handle_, object, attribute, size(strings), strings);
  }
}

std::string File::attribute_string(const std::string& object, const std::string& attribute_name) const {
  const Value value = attribute(object, attribute_name);
  if (const auto* text = std::get_if<std::string>(&value)) {
    return *text;
  }
  fail(path_, fmt::format(R"(attribute "{}" of "{}" is not a string)", attribute_name, shown(absolute(object))));
}

std::int64_t File::attribute_integer(const std::string& object, const std::string& attribute_name) const {
  const Value value = attribute(object, attribute_name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return *integer;
  }
  fail(path_, fmt::format(R"(attribute "{}" of "{}" is not an integer)", attribute_name, shown(absolute(object))));
}

double File::attribute_number(const std::string& object, const std::string& attribute_name) const {
  const Value value = attribute(object, attribute_name);
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* number = std::get_if<double>(&value)) {
    return *number;
  }
  fail(path_, fmt::format(R"(attribute "{}" of "{}" is not a number)", attribute_name, shown(absolute(object))));
}

void write_atomically(const std::filesystem::path& path, const std::function<void(File&)>& writer,
                      const std::filesystem::path& keep_previous_as) {
  File file = File::create(path);
  writer(file);
  file.close(keep_previous_as);
}

// NOLINTBEGIN(bugprone-macro-parentheses): T is a type
#define RIDGELINE_INSTANTIATE(T)                                                                    \
  template std::vector<T> File::read<T>(const std::string&) const;                                  \
  template std::vector<T> File::read<T>(const std::string&, const Shape&) const;                    \
  template void File::read_into<T>(const std::string&, const Shape&, T*) const;                     \
  template std::vector<T> File::read_rows<T>(const std::string&, std::int64_t, std::int64_t) const; \
  template void File::write<T>(const std::string&, const T*, const Shape&);                         \
  template void File::write<T>(const std::string&, const std::vector<T>&, const Shape&);

RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
RIDGELINE_INSTANTIATE(std::int32_t)
RIDGELINE_INSTANTIATE(std::int64_t)
RIDGELINE_INSTANTIATE(std::uint8_t)
template std::vector<std::uint64_t> File::read_rows(const std::string&, std::int64_t, std::int64_t) const;
#undef RIDGELINE_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace ridgeline::hdf5

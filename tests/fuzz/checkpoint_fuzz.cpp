// Checkpoints that are HDF5 files and yet not what they should be. The input decides what is changed in a right one:
// datasets and attributes left out, added, renamed, of other types, shapes and values, links that lead in a circle, more
// declared than there is. What is written, sealed or as another program would leave it, reads as a checkpoint or is
// refused.
//
// HDF5 itself is not tested: on damaged files it may crash, which is why checkpoints bear a checksum (seal_fuzz).
#include <fuzzer/FuzzedDataProvider.h>
#include <hdf5.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <variant>

#include "io/files.hpp"
#include "io/hdf5.hpp"
#include "io/seal.hpp"
#include "support.hpp"
#include "train/checkpoint.hpp"

namespace {

using namespace ridgeline;

/// The parameters of a model as small as there is.
template <class Scalar>
struct Subject {
  Subject() : optimiser((declare(), parameters.length())) {
    parameters.set(*parameters.find("a.weight"), {1, 2, 3, 4, 5, 6});
    parameters.set(*parameters.find("b"), {-0.5});
  }
  void declare() {
    parameters.declare(weight, "a.weight", {2, 3}, Initial::constant(0));
    parameters.declare(bias, "b", {1}, Initial::constant(0));
    parameters.allocate();
  }

  Parameter<Scalar> weight, bias;
  Parameters<Scalar> parameters;
  Adam<Scalar> optimiser;
};

using Elements = std::variant<std::vector<double>, std::vector<float>, std::vector<std::int32_t>,
                              std::vector<std::int64_t>, std::vector<std::uint8_t>, std::vector<std::string>>;
struct Array {
  hdf5::Shape shape;
  Elements elements;
};

/// What an HDF5 file holds.
struct Content {
  std::map<std::string, Array> arrays;
  std::map<std::string, std::map<std::string, hdf5::Value>> attributes;  // of the object of that name
};

/// A run of two epochs of two steps each, and a step of the third.
TrainingState state() {
  TrainingState state;
  state.step = 5;
  state.epoch = 3;
  state.progress = {0.5, 1, 12, 0.1};
  state.history.sets = {"train", "far"};
  state.history.rows = {{1, 2, 1.5, 0.1, 0.2, 120, {2, {}}}, {2, 4, 1.25, 0.1, 0.2, 120, {1, 4}}};
  state.deck = "[run]\nseed = 7\n";
  return state;
}

template <class Scalar>
Content right_checkpoint(const std::filesystem::path& path) {
  const Subject<Scalar> subject;
  write_checkpoint(path, subject.parameters, subject.optimiser, state());
  const hdf5::File file = hdf5::File::open(path);
  Content content;
  for (const std::string& name : file.datasets_below()) {
    const bool is_whole = file.element_type(name) == hdf5::ElementType::integer;
    content.arrays[name] = {file.shape(name),
                            is_whole ? Elements(file.read<std::int64_t>(name)) : Elements(file.read<Scalar>(name))};
  }
  for (const std::string object : {"/", "history", "progress"}) content.attributes[object] = file.attributes(object);
  return content;
}

/// Takes choices from the input.
class Changes {
 public:
  Changes(const std::uint8_t* data, std::size_t size) : input_(data, size) {}

  bool flag() { return input_.ConsumeBool(); }
  int below(int limit) { return input_.ConsumeIntegralInRange(0, limit - 1); }
  bool more() { return input_.remaining_bytes() > 0; }

  void change(Content& content) {
    switch (below(8)) {
      case 0:
        content.arrays.erase(some_name(content.arrays));
        break;
      case 1:
        content.arrays[name(content)] = array();
        break;
      case 2:
        content.arrays[some_name(content.arrays)] = array();
        break;
      case 3:
        spoil(content.arrays[some_name(content.arrays)]);
        break;
      case 4:
        content.attributes[some_name(content.attributes)][name(content)] = value();
        break;
      case 5:
        change_attribute(content.attributes[some_name(content.attributes)]);
        break;
      case 6:
        reshape(content.arrays[some_name(content.arrays)]);
        break;
      case 7:
        content.arrays.insert({name(content), content.arrays[some_name(content.arrays)]});
        break;
    }
  }

 private:
  template <class Map>
  std::string some_name(const Map& map) {
    if (map.empty()) return "parameters/b";
    return std::next(map.begin(), below(static_cast<int>(map.size())))->first;
  }
  /// One that is there, below one that is there, or a new one.
  std::string name(const Content& content) {
    std::string text = flag() ? some_name(content.arrays) : "";
    if (flag()) text = text.substr(0, text.rfind('/') + 1);
    return text + input_.ConsumeRandomLengthString(10);
  }
  double number() {
    constexpr std::array<double, 8> odd = {0,    -1,    std::numeric_limits<double>::quiet_NaN(),  -INFINITY,
                                           1e39, 1e300, std::numeric_limits<double>::denorm_min(), 9.3e18};
    return flag() ? odd[static_cast<std::size_t>(below(odd.size()))] : input_.ConsumeFloatingPoint<double>();
  }
  std::int64_t integer() { return flag() ? below(10) : input_.ConsumeIntegral<std::int64_t>(); }
  hdf5::Shape shape() {
    hdf5::Shape shape;
    for (int rank = below(5); rank > 0; --rank) shape.push_back(below(8));
    return shape;
  }
  template <class T>
  std::vector<T> elements(std::int64_t count) {
    std::vector<T> list(static_cast<std::size_t>(count));
    if (list.empty()) return list;
    if constexpr (std::is_same_v<T, std::string>)
      list.back() = input_.ConsumeRandomLengthString(20);
    else if constexpr (std::is_floating_point_v<T>)
      list.back() = static_cast<T>(std::clamp<double>(number(), std::numeric_limits<T>::lowest(), INFINITY));
    else
      list.back() = static_cast<T>(integer());
    return list;
  }
  Elements elements_of(std::int64_t count) {
    switch (below(6)) {
      case 0:
        return elements<double>(count);
      case 1:
        return elements<float>(count);
      case 2:
        return elements<std::int32_t>(count);
      case 3:
        return elements<std::int64_t>(count);
      case 4:
        return elements<std::uint8_t>(count);
      default:
        return elements<std::string>(count);
    }
  }
  Array array() {
    const hdf5::Shape extents = shape();
    return {extents, elements_of(hdf5::element_count(extents))};
  }
  hdf5::Value value() {
    switch (below(6)) {
      case 0:
        return integer();
      case 1:
        return number();
      case 2:
        return input_.ConsumeRandomLengthString(70);
      case 3:
        return elements<std::int64_t>(below(4));
      case 4:
        return elements<double>(below(4));
      default:
        return elements<std::string>(below(4));
    }
  }
  void spoil(Array& array) {
    std::visit(
        [&](auto& list) {
          using T = typename std::decay_t<decltype(list)>::value_type;
          if (list.empty()) return;
          list[static_cast<std::size_t>(below(static_cast<int>(list.size())))] = elements<T>(1)[0];
        },
        array.elements);
  }
  void change_attribute(std::map<std::string, hdf5::Value>& attributes) {
    const std::string name = some_name(attributes);
    if (flag())
      attributes.erase(name);
    else
      attributes[name] = value();
  }
  void reshape(Array& array) {
    array.shape = shape();
    std::visit([&](auto& list) { list.resize(static_cast<std::size_t>(hdf5::element_count(array.shape))); },
               array.elements);
  }

  FuzzedDataProvider input_;
};

void write(const std::filesystem::path& path, const Content& content) {
  hdf5::write_atomically(path, [&](hdf5::File& file) {
    for (const auto& [name, array] : content.arrays) {
      const hdf5::Shape& shape = array.shape;
      const std::string& dataset = name;
      const auto put = [&](const auto& list) {
        if constexpr (std::is_same_v<std::decay_t<decltype(list)>, std::vector<std::string>>)
          file.write_strings(dataset, list);
        else
          file.write(dataset, list, shape);
      };
      std::visit(put, array.elements);
    }
    for (const auto& [object, attributes] : content.attributes)
      for (const auto& [name, value] : attributes) file.write_attribute(object, name, value);
  });
}

/// The file as it is after a change by another program: with a checksum that is right again, or none.
void seal(const std::filesystem::path& path, bool is_sealed) {
  std::string image = read_text(path);
  if (is_sealed)
    hdf5::write_seal(image.data(), image.size());
  else
    image.erase(0, hdf5::seal_bytes);
  write_atomically(path, image);
}

/// What the writer does not do: links, and datasets that declare more than they hold.
void add_what_no_writer_would(const std::filesystem::path& path, Changes& changes) {
  const hid_t file = H5Fopen(path.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  if (file < 0) return;
  const std::string name = changes.flag() ? "/parameters/c" : "/parameters/b";
  H5Ldelete(file, name.c_str(), H5P_DEFAULT);
  if (changes.flag()) {
    const char* target = changes.flag() ? "/parameters" : changes.flag() ? "/nowhere" : "/parameters/a.weight";
    H5Lcreate_soft(target, file, name.c_str(), H5P_DEFAULT, H5P_DEFAULT);
  } else {
    const hsize_t length = hsize_t{1} << (20 + changes.below(43)), chunk = 1024;
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE), space = H5Screate_simple(1, &length, nullptr);
    H5Pset_chunk(properties, 1, &chunk);
    const hid_t types[] = {H5T_NATIVE_FLOAT, H5T_NATIVE_DOUBLE, H5T_NATIVE_INT64};
    const hid_t dataset =
        H5Dcreate2(file, name.c_str(), types[changes.below(3)], space, H5P_DEFAULT, properties, H5P_DEFAULT);
    if (dataset >= 0) H5Dclose(dataset);
    H5Sclose(space);
    H5Pclose(properties);
  }
  H5Fclose(file);
}

template <class Scalar>
void read(const std::filesystem::path& path) {
  static Subject<Scalar> subject;
  if (fuzz::reads([&] { read_parameters(path, subject.parameters); }))
    for (const auto& entry : subject.parameters.entries())
      for (const double value : subject.parameters.get(entry))
        fuzz::demand(std::isfinite(value), "a parameter that is not finite was read", entry.name);
  Checkpoint<Scalar> checkpoint;
  if (fuzz::reads([&] { checkpoint = read_checkpoint(path, subject.parameters); }))
    restore(checkpoint, subject.parameters, subject.optimiser);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const KokkosScope kokkos;
  static const fuzz::MemoryFolder folder;
  static const std::filesystem::path path = folder.path() / "checkpoint.h5";
  static const Content single = right_checkpoint<float>(path), doubled = right_checkpoint<double>(path);
  Changes changes(data, size);
  Content content = changes.flag() ? single : doubled;
  const bool is_odd = changes.below(4) == 0,
             is_sealed = changes.below(16) > 0;  // without a seal a child process is tried first
  for (int i = 0; i < 8 && changes.more(); ++i) changes.change(content);
  try {
    write(path, content);
  } catch (const Error&) {
    return 0;  // what cannot be written is not tested here
  }
  if (is_odd) add_what_no_writer_would(path, changes);
  if (is_odd || !is_sealed) seal(path, is_sealed);
  if (changes.flag())
    read<float>(path);
  else
    read<double>(path);
  return 0;
}

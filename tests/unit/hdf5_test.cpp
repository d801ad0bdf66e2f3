#include "io/hdf5.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <gtest/gtest.h>
#include <hdf5.h>
#include <sys/resource.h>

#include "unit/files_support.hpp"

namespace ridgeline::hdf5 {
namespace {

using test::content_of;
using test::expect_contains;
using test::file_error;
using test::put;
using test::TemporaryFolder;

template <class T>
class Hdf5Numbers : public ::testing::Test {};
using NumberTypes = ::testing::Types<float, double, std::int32_t, std::int64_t, std::uint8_t>;
TYPED_TEST_SUITE(Hdf5Numbers, NumberTypes);

TYPED_TEST(Hdf5Numbers, ComeBackAsTheyWere) {
  const TemporaryFolder folder;
  std::vector<TypeParam> values(24);
  std::iota(values.begin(), values.end(), TypeParam{1});
  values[3] = std::numeric_limits<TypeParam>::max();
  values[4] = std::numeric_limits<TypeParam>::lowest();
  write_atomically(folder / "file.h5", [&](File& file) { file.write("group/deeper/values", values, {2, 3, 4}); });

  const File file = File::open(folder / "file.h5");
  EXPECT_EQ(file.shape("group/deeper/values"), (Shape{2, 3, 4}));
  EXPECT_EQ(file.read<TypeParam>("/group/deeper/values"), values);
  EXPECT_EQ(file.read<TypeParam>("group/deeper/values", {2, -1, 4}), values);
  EXPECT_EQ(file.read_rows<TypeParam>("group/deeper/values", 1, 1),
            std::vector<TypeParam>(values.begin() + 12, values.end()));
  std::vector<TypeParam> into(24);
  file.read_into("group/deeper/values", {2, 3, 4}, into.data());
  EXPECT_EQ(into, values);
}

TEST(Hdf5, ConvertsNumbers) {
  const TemporaryFolder folder;
  write_atomically(folder / "file.h5", [](File& file) {
    file.write("double", std::vector<double>{0.1, -2.5, 1e300}, {3});
    file.write("integer", std::vector<std::int32_t>{-7}, {});
    file.write("nan", std::vector<double>{std::nan("")}, {1});
  });
  const File file = File::open(folder / "file.h5");
  EXPECT_EQ(file.read<float>("double"), (std::vector<float>{0.1F, -2.5F, std::numeric_limits<float>::infinity()}));
  EXPECT_EQ(file.read<double>("integer"), (std::vector<double>{-7}));
  EXPECT_EQ(file.read<std::int64_t>("integer", {}), (std::vector<std::int64_t>{-7}));
  EXPECT_TRUE(std::isnan(file.read<float>("nan")[0]));
  EXPECT_EQ(file.element_type("double"), ElementType::float64);
  EXPECT_EQ(file.element_type("integer"), ElementType::integer);
  expect_contains(file_error([&] { file.read<std::int64_t>("double"); }), "floating point numbers");
}

TEST(Hdf5, HoldsEmptyDatasets) {
  const TemporaryFolder folder;
  write_atomically(folder / "file.h5", [](File& file) {
    file.write("numbers", std::vector<float>{}, {0, 120, 2});
    file.write_strings("strings", {});
    file.write_attribute("/", "list", std::vector<std::string>{});
  });
  const File file = File::open(folder / "file.h5");
  EXPECT_TRUE(file.read<float>("numbers", {0, 120, 2}).empty());
  EXPECT_TRUE(file.read_rows<float>("numbers", 0, 0).empty());
  EXPECT_TRUE(file.read_strings("strings").empty());
  EXPECT_EQ(file.attribute("/", "list"), Value(std::vector<std::string>{}));
}

TEST(Hdf5, ListsWhatIsThere) {
  const TemporaryFolder folder;
  write_atomically(folder / "file.h5", [](File& file) {
    file.write("param/blocks.0/weight", std::vector<float>{1}, {1});
    file.write("param/bias", std::vector<float>{1}, {1});
    file.make_group("empty/group");
    file.make_group("empty/group");
  });
  const File file = File::open(folder / "file.h5");
  EXPECT_EQ(file.members(), (std::vector<std::string>{"empty", "param"}));
  EXPECT_EQ(file.members("/param/"), (std::vector<std::string>{"bias", "blocks.0"}));
  EXPECT_EQ(file.datasets_below("param"), (std::vector<std::string>{"bias", "blocks.0/weight"}));
  EXPECT_EQ(file.datasets_below(), (std::vector<std::string>{"param/bias", "param/blocks.0/weight"}));
  EXPECT_TRUE(file.exists("") && file.exists("/") && file.exists("param//bias") && file.exists("empty/group"));
  EXPECT_FALSE(file.exists("none") || file.exists("none/at/all") || file.exists("param/bias/x"));
  EXPECT_TRUE(file.is_group("/") && file.is_group("param") && !file.is_group("param/bias"));
  EXPECT_TRUE(file.is_dataset("param/bias") && !file.is_dataset("param") && !file.is_dataset("none"));
  expect_contains(file_error([&] { file.members("param/bias"); }), "no group \"/param/bias\"");
}

TEST(Hdf5, KeepsAttributesOfEveryKind) {
  const TemporaryFolder folder;
  const std::map<std::string, Value> written{
      {"integer", std::int64_t{-5}},
      {"number", 0.1},
      {"text", std::string("α sin(x − γ)\nand a second line")},
      {"empty", std::string()},
      {"integers", std::vector<std::int64_t>{1, 2, 3}},
      {"numbers", std::vector<double>{0.5, std::numeric_limits<double>::infinity()}},
      {"texts", std::vector<std::string>{"train", "", "id"}},
      {"long", std::string(200000, 'x')},
  };
  write_atomically(folder / "file.h5", [&](File& file) {
    file.write("data", std::vector<float>{1}, {1});
    for (const auto& [name, value] : written) {
      file.write_attribute("/", name, value);
      file.write_attribute("data", name, std::int64_t{0});
      file.write_attribute("data", name, value);
    }
  });
  const File file = File::open(folder / "file.h5");
  EXPECT_EQ(file.attributes(), written);
  EXPECT_EQ(file.attributes("data"), written);
  EXPECT_EQ(file.attribute_string("/", "text"), "α sin(x − γ)\nand a second line");
  EXPECT_EQ(file.attribute_integer("/", "integer"), -5);
  EXPECT_EQ(file.attribute_number("/", "integer"), -5.0);
  EXPECT_EQ(file.attribute_number("/", "number"), 0.1);
  EXPECT_TRUE(file.has_attribute("data", "text") && !file.has_attribute("data", "none"));
  EXPECT_FALSE(file.has_attribute("none", "text"));
  expect_contains(file_error([&] { file.attribute("/", "none"); }), "no attribute \"none\"");
  expect_contains(file_error([&] { file.attribute_integer("/", "number"); }), "not an integer");
  expect_contains(file_error([&] { file.attribute_string("/", "number"); }), "not a string");
  expect_contains(file_error([&] { file.attribute_number("/", "text"); }), "not a number");
  expect_contains(file_error([&] { file.attributes("none"); }), "attributes of \"/none\"");
}

TEST(Hdf5, KeepsStringsOutsideTheGlobalHeap) {
  const TemporaryFolder folder;
  const std::vector<std::string> strings{"α", "", "a longer one"};
  write_atomically(folder / "file.h5", [&](File& file) {
    file.write_strings("strings", strings);
    file.write_strings("blank", {""});
    file.write_attribute("/", "list", strings);
    file.write_attribute("/", "text", std::string("x"));
    file.write_attribute("/", "empty", std::string());
  });
  EXPECT_EQ(content_of(folder / "file.h5").find("GCOL"), std::string::npos);  // how a global heap begins
  const File file = File::open(folder / "file.h5");
  EXPECT_EQ(file.read_strings("strings"), strings);
  EXPECT_EQ(file.read_strings("blank"), (std::vector<std::string>{""}));
  EXPECT_EQ(file.attribute("/", "list"), Value(strings));
  EXPECT_EQ(file.attribute_string("/", "text"), "x");
  EXPECT_EQ(file.attribute_string("/", "empty"), "");
}

/// A file as h5py and others write it, with what this layer never writes itself.
void write_foreign_file(const std::filesystem::path& path) {
  const hid_t file = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t scalar = H5Screate(H5S_SCALAR);
  const auto put_attribute = [&](const char* name, hid_t stored, hid_t memory, hid_t space, const void* data) {
    const hid_t attribute = H5Acreate2(file, name, stored, space, H5P_DEFAULT, H5P_DEFAULT);
    if (data != nullptr) {
      H5Awrite(attribute, memory, data);
    }
    H5Aclose(attribute);
  };
  const hid_t fixed = H5Tcopy(H5T_C_S1);
  H5Tset_size(fixed, 8);
  put_attribute("fixed", fixed, fixed, scalar, "joint\0\0\0");
  put_attribute("full", fixed, fixed, scalar, "per_head");
  H5Tset_strpad(fixed, H5T_STR_SPACEPAD);
  put_attribute("padded", fixed, fixed, scalar, "fortran ");
  const hid_t variable = H5Tcopy(H5T_C_S1);
  H5Tset_size(variable, H5T_VARIABLE);
  const char* sentence = "of any length";
  put_attribute("variable", variable, variable, scalar, &sentence);

  const hid_t boolean = H5Tenum_create(H5T_NATIVE_INT8);
  std::int8_t value = 0;
  H5Tenum_insert(boolean, "FALSE", &value);
  value = 1;
  H5Tenum_insert(boolean, "TRUE", &value);
  put_attribute("boolean", boolean, boolean, scalar, &value);

  const float half = 0.5F;
  put_attribute("float32", H5T_IEEE_F32BE, H5T_NATIVE_FLOAT, scalar, &half);
  const std::uint16_t small = 65535;
  put_attribute("uint16", H5T_STD_U16LE, H5T_NATIVE_UINT16, scalar, &small);
  const hid_t nothing = H5Screate(H5S_NULL);
  put_attribute("nothing", H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, nothing, nullptr);
  const hid_t compound = H5Tcreate(H5T_COMPOUND, 8);
  H5Tinsert(compound, "re", 0, H5T_NATIVE_FLOAT);
  put_attribute("compound", compound, compound, scalar, "12345678");

  const hsize_t extents[] = {2, 2};
  const hid_t square = H5Screate_simple(2, extents, nullptr);
  const std::int8_t flags[] = {1, 0, 0, 1};
  const hid_t mask = H5Dcreate2(file, "mask", boolean, square, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(mask, boolean, H5S_ALL, H5S_ALL, H5P_DEFAULT, flags);
  const hid_t words = H5Dcreate2(file, "words", fixed, square, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(words, fixed, H5S_ALL, H5S_ALL, H5P_DEFAULT, "one     two     three   four    ");
  const hid_t texts = H5Dcreate2(file, "texts", variable, scalar, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  H5Dwrite(texts, variable, H5S_ALL, H5S_ALL, H5P_DEFAULT, &sentence);
  const hid_t pairs = H5Dcreate2(file, "pairs", compound, square, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  const hid_t empty = H5Dcreate2(file, "nothing", H5T_IEEE_F32LE, nothing, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);

  H5Lcreate_soft("/nowhere", file, "dangling", H5P_DEFAULT, H5P_DEFAULT);
  H5Gclose(H5Gcreate2(file, "circle", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT));
  H5Lcreate_hard(file, "circle", file, "circle/again", H5P_DEFAULT, H5P_DEFAULT);
  for (const hid_t dataset : {mask, words, texts, pairs, empty}) {
    H5Dclose(dataset);
  }
  for (const hid_t type : {fixed, variable, boolean, compound}) {
    H5Tclose(type);
  }
  for (const hid_t space : {scalar, nothing, square}) {
    H5Sclose(space);
  }
  H5Fclose(file);
}

TEST(Hdf5, ReadsWhatOthersWrite) {
  const TemporaryFolder folder;
  write_foreign_file(folder / "file.h5");
  const File file = File::open(folder / "file.h5");
  const std::map<std::string, Value> expected{
      {"boolean", std::int64_t{1}},
      {"fixed", std::string("joint")},
      {"float32", 0.5},
      {"full", std::string("per_head")},
      {"padded", std::string("fortran")},
      {"uint16", std::int64_t{65535}},
      {"variable", std::string("of any length")},
  };
  EXPECT_EQ(file.attributes(), expected);
  expect_contains(file_error([&] { file.attribute("/", "compound"); }), "cannot be read");
  EXPECT_EQ(file.read<std::uint8_t>("mask", {2, 2}), (std::vector<std::uint8_t>{1, 0, 0, 1}));
  EXPECT_EQ(file.read_strings("words"), (std::vector<std::string>{"one", "two", "three", "four"}));
  EXPECT_EQ(file.read_strings("texts"), (std::vector<std::string>{"of any length"}));
  EXPECT_EQ(file.element_type("words"), ElementType::string);
  expect_contains(file_error([&] { file.read<float>("words"); }), "does not hold numbers");
  expect_contains(file_error([&] { file.read<float>("pairs"); }), "does not hold numbers");
  expect_contains(file_error([&] { file.read<float>("nothing"); }), "holds no data");
  expect_contains(file_error([&] { file.read_strings("mask"); }), "does not hold strings");
  EXPECT_FALSE(file.exists("dangling"));
  expect_contains(file_error([&] { file.datasets_below(); }), "nested more than");
}

TEST(Hdf5, RefusesWhatIsNotThereOrOfAnotherShape) {
  const TemporaryFolder folder;
  write_atomically(folder / "file.h5", [](File& file) { file.write("a/b", std::vector<float>(6), {2, 3}); });
  const File file = File::open(folder / "file.h5");
  const std::string sentence = file_error([&] { file.read<float>("a/b", {3, -1}); });
  expect_contains(sentence, (folder / "file.h5").string());
  expect_contains(sentence, "\"a/b\" has shape [2, 3], and [3, any] is needed");
  std::vector<float> into(6);
  expect_contains(file_error([&] { file.read_into("a/b", {6}, into.data()); }), "[6] is needed");
  expect_contains(file_error([&] { file.read<float>("a/c"); }), "no dataset \"a/c\"");
  expect_contains(file_error([&] { file.read<float>("a"); }), "no dataset \"a\"");
  expect_contains(file_error([&] { file.read_rows<float>("a/b", 1, 2); }), "no rows 1 to 2");
}

TEST(Hdf5, RefusesFilesThatAreNone) {
  const TemporaryFolder folder;
  expect_contains(file_error([&] { File::open(folder / "none.h5"); }), "No such file");
  expect_contains(file_error([&] { File::open(folder.path()); }), "not a regular file");
  put(folder / "empty.h5", "");
  expect_contains(file_error([&] { File::open(folder / "empty.h5"); }), "not an HDF5 file");
  put(folder / "text.h5", "epoch,step,loss\n1,2,3\n");
  expect_contains(file_error([&] { File::open(folder / "text.h5"); }), "not an HDF5 file");
}

TEST(Hdf5, RefusesATruncatedFile) {
  const TemporaryFolder folder;
  write_atomically(folder / "file.h5",
                   [](File& file) { file.write("values", std::vector<double>(1000, 1.5), {1000}); });
  const std::string whole = content_of(folder / "file.h5");
  for (std::size_t bytes = 0; bytes < whole.size(); bytes += 317) {
    put(folder / "short.h5", whole.substr(0, bytes));
    const std::string sentence = file_error([&] { File::open(folder / "short.h5").read<double>("values"); });
    expect_contains(sentence, (folder / "short.h5").string());
  }
}

TEST(Hdf5, RefusesADatasetLargerThanItsFile) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "file.h5";
  const hid_t handle = H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT);
  const auto declare = [&](const char* name, std::vector<hsize_t> extents, bool is_chunked) {
    const hid_t space = H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr);
    const hid_t properties = H5Pcreate(H5P_DATASET_CREATE);
    if (is_chunked) {
      const std::vector<hsize_t> chunk(extents.size(), 16);
      H5Pset_chunk(properties, static_cast<int>(chunk.size()), chunk.data());
    }
    H5Dclose(H5Dcreate2(handle, name, H5T_IEEE_F32LE, space, H5P_DEFAULT, properties, H5P_DEFAULT));
    H5Pclose(properties);
    H5Sclose(space);
  };
  declare("contiguous", {hsize_t{1} << 40}, false);
  declare("chunked", {hsize_t{1} << 20, hsize_t{1} << 20}, true);
  declare("overflow", {hsize_t{1} << 31, hsize_t{1} << 31, hsize_t{1} << 31}, true);
  declare("small", {100}, false);
  H5Fclose(handle);

  const File file = File::open(path);
  for (const char* name : {"contiguous", "chunked", "overflow"}) {
    expect_contains(file_error([&] { file.read<float>(name); }), "more than a file of");
    expect_contains(file_error([&] { file.read_rows<float>(name, 0, 1); }), "more than a file of");
  }
  EXPECT_EQ(file.read<float>("small"), std::vector<float>(100));
}

TEST(Hdf5, RefusesToWriteANameTwiceOrAWrongLength) {
  const TemporaryFolder folder;
  File file = File::create(folder / "file.h5");
  file.write("a/b", std::vector<float>{1}, {1});
  expect_contains(file_error([&] { file.write("a/b", std::vector<float>{1}, {1}); }), "the name is taken");
  expect_contains(file_error([&] { file.make_group("a/b"); }), "cannot make group");
  expect_contains(file_error([&] { file.write("c", std::vector<float>{1}, {2}); }), "1 elements for shape [2]");
  expect_contains(file_error([&] { file.write_attribute("none", "x", 1.0); }), "there is no \"/none\"");
}

TEST(Hdf5, WritesNothingBeforeItIsClosed) {
  const TemporaryFolder folder;
  {
    File file = File::create(folder / "file.h5");
    file.write("values", std::vector<float>{1}, {1});
  }
  EXPECT_EQ(folder.size(), 0);
  const auto failing = [](File& file) {
    file.write("values", std::vector<float>{1}, {1});
    throw std::runtime_error("no");
  };
  EXPECT_THROW(write_atomically(folder / "file.h5", failing), std::runtime_error);
  EXPECT_EQ(folder.size(), 0);
}

TEST(Hdf5, WritesTheSameBytesForTheSameContent) {
  const TemporaryFolder folder;
  const auto writer = [](File& file) {
    file.write("group/values", std::vector<double>{1, 2, 3}, {3});
    file.write_strings("names", {"a", "bc"});
    file.write_attribute("group", "text", std::string("x"));
  };
  write_atomically(folder / "first.h5", writer);
  write_atomically(folder / "second.h5", writer);
  EXPECT_EQ(content_of(folder / "first.h5"), content_of(folder / "second.h5"));
}

TEST(Hdf5, KeepsThePreviousFile) {
  const TemporaryFolder folder;
  for (const float value : {1.0F, 2.0F}) {
    const auto writer = [value](File& file) { file.write("value", &value, {}); };
    write_atomically(folder / "file.h5", writer, folder / "previous.h5");
  }
  EXPECT_EQ(File::open(folder / "file.h5").read<float>("value"), std::vector<float>{2});
  EXPECT_EQ(File::open(folder / "previous.h5").read<float>("value"), std::vector<float>{1});
}

TEST(Hdf5, LeavesTheOldFileWhenTheDiskIsFull) {
  const TemporaryFolder folder;
  const auto writer = [](File& file) { file.write("values", std::vector<double>(4000, 1), {4000}); };
  write_atomically(folder / "file.h5", writer);
  const std::string before = content_of(folder / "file.h5");
  rlimit former{};
  ::getrlimit(RLIMIT_FSIZE, &former);
  for (const rlim_t bytes : {0, 100, 2000, 20000, 32000}) {
    const rlimit limit{bytes, former.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const std::string sentence = file_error([&] { write_atomically(folder / "file.h5", writer); });
    ::setrlimit(RLIMIT_FSIZE, &former);
    expect_contains(sentence, "cannot write " + (folder / "file.h5").string() + ": File too large");
    EXPECT_EQ(content_of(folder / "file.h5"), before);
    EXPECT_EQ(folder.size(), 1);
  }
}

TEST(Hdf5, MovesAndOpensTwice) {
  const TemporaryFolder folder;
  File created = File::create(folder / "file.h5");
  File moved = std::move(created);
  moved.write("value", std::vector<double>{4}, {});
  moved.close();
  moved.close();
  File first = File::open(folder / "file.h5");
  const File second = File::open(folder / "file.h5");
  first = File::open(folder / "file.h5");
  EXPECT_EQ(first.read<double>("value"), second.read<double>("value"));
}

TEST(Hdf5, NamesShapes) {
  EXPECT_EQ(to_string({8, 120, -1}), "[8, 120, any]");
  EXPECT_EQ(to_string({}), "[]");
  EXPECT_EQ(element_count({8, 120, 2}), 1920);
  EXPECT_EQ(element_count({}), 1);
}

}  // namespace
}  // namespace ridgeline::hdf5

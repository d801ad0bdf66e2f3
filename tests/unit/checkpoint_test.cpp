#include "train/checkpoint.hpp"

#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "files_support.hpp"
#include "io/hdf5.hpp"
#include "support/subject.hpp"

namespace ridgeline {
namespace {

using test::expect_contains;
using test::file_error;
using test::TemporaryFolder;

/// Two parameters with something in them.
template <class Scalar>
struct Contents {
  Contents() : adam((declare(), parameters.length())) {
    parameters.set(*parameters.find("a.weight"), {1, 2, 3, 4, 5, 6});
    parameters.set(*parameters.find("b"), {-0.1});
  }
  std::size_t declare() {
    parameters.declare(weight, "a.weight", {2, 3}, Initial::constant(0));
    parameters.declare(bias, "b", {1}, Initial::constant(0));
    parameters.allocate();
    return parameters.length();
  }
  std::vector<double> get(const std::string& name) const { return parameters.get(*parameters.find(name)); }

  Parameter<Scalar> weight, bias;
  Parameters<Scalar> parameters;
  Adam<Scalar> adam;
};

template <class Scalar>
std::filesystem::path write(const TemporaryFolder& folder, const Contents<Scalar>& contents, std::int64_t step = 5) {
  write_checkpoint(folder / "checkpoint.h5", contents.parameters, contents.adam, {step, 2, 7, "[run]\nseed = 7\n"});
  return folder / "checkpoint.h5";
}

template <class Scalar>
void expect_round_trip() {
  const TemporaryFolder folder;
  const Contents<Scalar> written;
  Contents<Scalar> read;
  read.parameters.set(*read.parameters.find("a.weight"), std::vector<double>(6));
  read_parameters(write(folder, written), read.parameters);
  EXPECT_EQ(read.get("a.weight"), written.get("a.weight"));
  EXPECT_EQ(read.get("b"), written.get("b"));
}

TEST(Checkpoint, GivesBackTheSameBits) {
  expect_round_trip<float>();
  expect_round_trip<double>();
}

TEST(Checkpoint, HoldsWhatARunContinuesFrom) {
  const TemporaryFolder folder;
  Contents<float> contents;
  contents.adam.step(contents.parameters.values(),
                     support::to_device<float>(std::vector<double>(contents.parameters.length(), 1.0)), 1, 0.1);
  const hdf5::File file = hdf5::File::open(write(folder, contents));
  EXPECT_EQ(file.attribute_integer("/", "format"), 1);
  EXPECT_EQ(file.attribute_integer("/", "step"), 5);
  EXPECT_EQ(file.attribute_integer("/", "epoch"), 2);
  EXPECT_EQ(file.attribute_integer("/", "seed"), 7);
  EXPECT_EQ(file.attribute_string("/", "precision"), "single");
  EXPECT_EQ(file.attribute_string("/", "deck"), "[run]\nseed = 7\n");
  EXPECT_EQ(file.shape("parameters/a.weight"), (hdf5::Shape{2, 3}));
  EXPECT_EQ(file.element_type("parameters/a.weight"), hdf5::ElementType::float32);
  EXPECT_EQ(file.read<float>("optimizer/first_moment/a.weight", {2, 3}), std::vector<float>(6, 0.1F));
  EXPECT_EQ(file.read<float>("optimizer/second_moment/b", {1}), std::vector<float>(1, 0.001F));
}

TEST(Checkpoint, KeepsThePreviousOne) {
  const TemporaryFolder folder;
  const Contents<float> contents;
  write(folder, contents, 5);
  EXPECT_EQ(folder.size(), 1);
  write(folder, contents, 6);
  EXPECT_EQ(folder.size(), 2);
  EXPECT_EQ(hdf5::File::open(folder / "checkpoint.h5").attribute_integer("/", "step"), 6);
  EXPECT_EQ(hdf5::File::open(folder / "checkpoint.previous.h5").attribute_integer("/", "step"), 5);
}

TEST(Checkpoint, OfTheOtherPrecisionIsRounded) {
  const TemporaryFolder folder;
  Contents<double> written;
  written.parameters.set(*written.parameters.find("b"), {0.1});
  Contents<float> read;
  read_parameters(write(folder, written), read.parameters);
  EXPECT_EQ(read.get("b"), std::vector<double>{static_cast<double>(0.1F)});
}

TEST(Checkpoint, BeyondThePrecisionOfTheModelIsRefused) {
  const TemporaryFolder folder;
  Contents<double> written;
  written.parameters.set(*written.parameters.find("b"), {1e300});
  Contents<float> read;
  const std::filesystem::path path = write(folder, written);
  expect_contains(file_error([&] { read_parameters(path, read.parameters); }), "parameter b");
}

TEST(Checkpoint, WithANaNIsRefused) {
  const TemporaryFolder folder;
  Contents<double> written;
  written.parameters.set(*written.parameters.find("a.weight"),
                         {1, 2, std::numeric_limits<double>::quiet_NaN(), 4, 5, 6});
  Contents<double> read;
  const std::filesystem::path path = write(folder, written);
  const std::string sentence = file_error([&] { read_parameters(path, read.parameters); });
  expect_contains(sentence, "a.weight");
  expect_contains(sentence, path.string());
}

TEST(Checkpoint, IntoAFolderThatIsNotThere) {
  const TemporaryFolder folder;
  const Contents<float> contents;
  expect_contains(
      file_error([&] { write_checkpoint(folder / "no" / "checkpoint.h5", contents.parameters, contents.adam, {}); }),
      "checkpoint.h5");
}

}  // namespace
}  // namespace ridgeline

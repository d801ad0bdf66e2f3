#include "io/seal.hpp"

#include <boost/crc.hpp>
#include <vector>

#include <gtest/gtest.h>

#include "files_support.hpp"
#include "io/crc32.hpp"
#include "io/hdf5.hpp"

namespace ridgeline::hdf5 {
namespace {

using test::content_of;
using test::expect_contains;
using test::file_error;
using test::put;
using test::TemporaryFolder;

std::string sealed_file(const TemporaryFolder& folder) {
  write_atomically(folder / "file.h5", [](File& file) { file.write("values", std::vector<float>(500, 2), {500}); });
  return content_of(folder / "file.h5");
}

TEST(Seal, IsATextWithTheChecksumOfTheRest) {
  const TemporaryFolder folder;
  const std::string whole = sealed_file(folder);
  boost::crc_32_type crc;
  crc.process_bytes(whole.data() + 512, whole.size() - 512);
  char expected[128];
  std::snprintf(expected, sizeof expected,
                "Ridgeline HDF5 file\nCRC-32 %08x of the %zu bytes after this block of 512\n",
                static_cast<unsigned>(crc.checksum()), whole.size() - 512);
  EXPECT_STREQ(whole.c_str(), expected);
  EXPECT_EQ(whole.substr(512, 4), "\x89HDF");
  EXPECT_TRUE(check_seal(folder / "file.h5"));
  EXPECT_TRUE(File::open(folder / "file.h5").is_sealed());
}

// zlib's and Python's: crc32(b"123456789") is cbf43926.
TEST(Seal, HasTheCommonCrc) {
  std::string image(512, ' ');
  image += "123456789";
  write_seal(image.data(), image.size());
  expect_contains(image, "CRC-32 cbf43926 of the 9 bytes");
}

/// Of every length up to some words, from every place in a word, in two parts.
TEST(Seal, CrcDoesNotDependOnHowItIsGiven) {
  std::string content;
  for (int i = 0; i < 64; ++i) content += static_cast<char>(i * i * 37 + i);
  for (std::size_t first = 0; first < 8; ++first)
    for (std::size_t last = first; last <= content.size(); ++last)
      for (const std::size_t middle : {first, (first + last) / 2, last}) {
        boost::crc_32_type expected;
        expected.process_bytes(content.data() + first, last - first);
        Crc32 crc;
        crc.process(content.data() + first, middle - first);
        crc.process(content.data() + middle, last - middle);
        ASSERT_EQ(crc.checksum(), expected.checksum()) << first << " to " << last;
      }
}

TEST(Seal, AnyChangedByteIsFound) {
  const TemporaryFolder folder;
  const std::string whole = sealed_file(folder);
  for (std::size_t at = 0; at < whole.size(); at += at < 600 ? 1 : 37) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 4);
    put(folder / "damaged.h5", damaged);
    const std::string sentence = file_error([&] { File::open(folder / "damaged.h5"); });
    expect_contains(sentence, "damaged.h5");
    expect_contains(sentence, "damaged");
  }
}

TEST(Seal, AFileCutShortIsFound) {
  const TemporaryFolder folder;
  const std::string whole = sealed_file(folder);
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{100}, std::size_t{512}, std::size_t{513},
                                   whole.size() / 2, whole.size() - 1}) {
    put(folder / "cut.h5", whole.substr(0, length));
    expect_contains(file_error([&] { File::open(folder / "cut.h5"); }), "cut short");
  }
  put(folder / "long.h5", whole + "x");
  expect_contains(file_error([&] { File::open(folder / "long.h5"); }), "checksum");
}

TEST(Seal, AFileOfOtherSoftwareHasNone) {
  const TemporaryFolder folder;
  put(folder / "plain.h5", sealed_file(folder).substr(512));
  EXPECT_FALSE(check_seal(folder / "plain.h5"));
  const File file = File::open(folder / "plain.h5");
  EXPECT_FALSE(file.is_sealed());
  EXPECT_EQ(file.read<float>("values"), std::vector<float>(500, 2));
}

}  // namespace
}  // namespace ridgeline::hdf5

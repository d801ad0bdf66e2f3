// CRC-32 as zlib and PNG have it: eight bytes at a time.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace ridgeline {

class Crc32 {
 public:
  /// More of the content.
  void process(const char* data, std::size_t bytes) {
    const auto at = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(data[i])); };
    const auto word = [&](std::size_t i) { return at(i) | at(i + 1) << 8 | at(i + 2) << 16 | at(i + 3) << 24; };
    std::size_t done = 0;
    for (; bytes - done >= 8; done += 8) {
      // The effect of each byte on what is left after all eight is in a table of its own: no look-up waits for another.
      const std::uint32_t low = rest_ ^ word(done), high = word(done + 4);
      rest_ = 0;
      for (unsigned i = 0; i < 4; ++i)
        rest_ ^= tables[7 - i][(low >> 8 * i) & 0xff] ^ tables[3 - i][(high >> 8 * i) & 0xff];
    }
    for (; done < bytes; ++done) rest_ = (rest_ >> 8) ^ tables[0][(rest_ ^ at(done)) & 0xff];
  }

  /// Of what was processed so far.
  std::uint32_t checksum() const { return ~rest_; }

 private:
  using Table = std::array<std::uint32_t, 256>;

  /// tables[k][b]: what a byte b, followed by k bytes of zeros, leaves.
  static constexpr std::array<Table, 8> make_tables() {
    std::array<Table, 8> made{};
    for (std::uint32_t byte = 0; byte < 256; ++byte) {
      std::uint32_t rest = byte;
      for (int bit = 0; bit < 8; ++bit) rest = (rest >> 1) ^ ((rest & 1) != 0 ? 0xedb88320U : 0U);
      made[0][byte] = rest;
    }
    for (std::size_t k = 1; k < made.size(); ++k)
      for (std::size_t byte = 0; byte < 256; ++byte)
        made[k][byte] = (made[k - 1][byte] >> 8) ^ made[0][made[k - 1][byte] & 0xff];
    return made;
  }
  static const std::array<Table, 8> tables;

  std::uint32_t rest_ = ~std::uint32_t{0};
};

inline constexpr std::array<Crc32::Table, 8> Crc32::tables = Crc32::make_tables();

}  // namespace ridgeline

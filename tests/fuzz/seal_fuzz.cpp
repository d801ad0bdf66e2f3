// The door in front of HDF5: bytes that bear no right checksum do not get to it.
#include "io/seal.hpp"
#include "support.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ridgeline;
  static fuzz::MemoryFile file;
  std::string bytes(reinterpret_cast<const char*>(data), size);
  file.put(bytes);
  fuzz::reads([&] { hdf5::check_seal(file.path()); });
  if (size < hdf5::seal_bytes) return 0;
  hdf5::write_seal(bytes.data(), size);
  file.put(bytes);
  fuzz::demand(hdf5::check_seal(file.path()), "a sealed file is not taken for one");
  bytes[size / 2] = static_cast<char>(bytes[size / 2] ^ 1);
  file.put(bytes);
  fuzz::demand(!fuzz::reads([&] { hdf5::check_seal(file.path()); }), "a damaged file passes for a sealed one");
  return 0;
}

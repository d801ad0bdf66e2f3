// What the libraries that Kokkos loads as tools share: the types of its interface, and the file that they write. Each knows
// neither Kokkos' headers nor Ridgeline's, as a tool should.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>

struct Space {
  char name[64];
};

struct Settings {
  bool requires_global_fencing;
  bool padding[255];
};

namespace {

FILE* file = nullptr;

/// Begins the file; the process ends where it cannot be written.
void open_file(const char* path) {
  file = std::fopen(path, "w");
  if (file == nullptr) std::abort();
}

}  // namespace

extern "C" {

// Newer Kokkos waits for all kernels before it tells a tool of anything, unless told that it need not: with a region that
// is opened inside a kernel, for ever.
void kokkosp_request_tool_settings(const std::uint32_t /*actions*/, Settings* settings) {
  settings->requires_global_fencing = false;
}
}

// As if built for another Ridgeline: its note says so, and a static object would tell if anything of it ran.
#include <cstdio>
#include <cstdlib>

#include "layer/plugin_note.hpp"

#undef RIDGELINE_FINGERPRINT
#define RIDGELINE_FINGERPRINT "Ridgeline's interface: 0.0.1-0123456789ab\nKokkos: 10203\n"
RIDGELINE_PLUGIN("stale", "0.3")

namespace {

struct Telling {
  Telling() {
    if (const char* const path = std::getenv("RIDGELINE_TEST_STALE_RAN"))
      if (std::FILE* const file = std::fopen(path, "w")) std::fclose(file);
  }
} const telling;

}  // namespace

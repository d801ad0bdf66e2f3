// A library for Kokkos to load as a tool: says when regions begin and end and views are allocated, "push NAME", "pop NAME"
// and "allocate NAME". Where RIDGELINE_MARKS names a file, lines there, each behind the seconds of the monotonic clock;
// otherwise among the system calls of the program, for who traces those: each is a call that fails and does nothing,
// write(-1, "push NAME").
#include <unistd.h>

#include <ctime>

#include "tool.hpp"

namespace {

constexpr int deepest = 64, longest = 100;
char open_regions[deepest][longest];
int depth = 0;

void mark(const char* what, const char* name) {
  char text[longest + 16];
  const int length = std::snprintf(text, sizeof text, "%s %.*s", what, longest, name);
  if (file == nullptr) {
    const ssize_t refused = write(-1, text, static_cast<std::size_t>(length));
    static_cast<void>(refused);
    return;
  }
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  std::fprintf(file, "%.9f %s\n", static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec), text);
}

}  // namespace

extern "C" {

void kokkosp_init_library(const int /*order*/, const std::uint64_t /*version*/, const std::uint32_t /*devices*/,
                          void* /*infos*/) {
  const char* path = std::getenv("RIDGELINE_MARKS");
  if (path != nullptr) open_file(path);
}

void kokkosp_finalize_library() {
  if (file != nullptr) std::fclose(file);
}

void kokkosp_push_profile_region(const char* name) {
  if (depth < deepest) std::snprintf(open_regions[depth], longest, "%s", name);
  ++depth;
  mark("push", name);
}

void kokkosp_pop_profile_region() {
  if (depth > 0 && --depth < deepest) mark("pop", open_regions[depth]);
}

void kokkosp_allocate_data(const Space /*space*/, const char* name, const void* /*data*/,
                           const std::uint64_t /*bytes*/) {
  mark("allocate", name);
}
}

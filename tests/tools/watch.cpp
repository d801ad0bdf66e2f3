// A library for Kokkos to load as a tool: writes what Kokkos tells it to the file that RIDGELINE_WATCH names, a line an
// event, for the tests to judge.
//
//   kernel NAME             end              of parallel_for, _reduce and _scan
//   push NAME               pop              of regions
//   allocate BYTES NAME                      of a view
//   copy BYTES TO < FROM                     of a deep copy
//   finalize                                 the last line of a program that came to its end
#include "tool.hpp"

namespace {

void begin_kernel(const char* name) { std::fprintf(file, "kernel %s\n", name); }
void end_kernel() { std::fputs("end\n", file); }

}  // namespace

extern "C" {

void kokkosp_init_library(const int /*order*/, const std::uint64_t /*version*/, const std::uint32_t /*devices*/,
                          void* /*infos*/) {
  const char* path = std::getenv("RIDGELINE_WATCH");
  open_file(path != nullptr ? path : "/dev/null");
}

void kokkosp_finalize_library() {
  std::fputs("finalize\n", file);
  std::fclose(file);
}

void kokkosp_begin_parallel_for(const char* name, const std::uint32_t /*device*/, std::uint64_t* id) {
  *id = 7;
  begin_kernel(name);
}
void kokkosp_begin_parallel_reduce(const char* name, const std::uint32_t /*device*/, std::uint64_t* id) {
  *id = 7;
  begin_kernel(name);
}
void kokkosp_begin_parallel_scan(const char* name, const std::uint32_t /*device*/, std::uint64_t* id) {
  *id = 7;
  begin_kernel(name);
}
void kokkosp_end_parallel_for(const std::uint64_t id) {
  if (id == 7) end_kernel();
}
void kokkosp_end_parallel_reduce(const std::uint64_t id) {
  if (id == 7) end_kernel();
}
void kokkosp_end_parallel_scan(const std::uint64_t id) {
  if (id == 7) end_kernel();
}

void kokkosp_push_profile_region(const char* name) { std::fprintf(file, "push %s\n", name); }
void kokkosp_pop_profile_region() { std::fputs("pop\n", file); }

void kokkosp_allocate_data(const Space /*space*/, const char* name, const void* /*data*/, const std::uint64_t bytes) {
  std::fprintf(file, "allocate %llu %s\n", static_cast<unsigned long long>(bytes), name);
}

void kokkosp_begin_deep_copy(const Space /*to*/, const char* to, const void* /*to_data*/, const Space /*from*/,
                             const char* from, const void* /*from_data*/, const std::uint64_t bytes) {
  std::fprintf(file, "copy %llu %s < %s\n", static_cast<unsigned long long>(bytes), to, from);
}
}

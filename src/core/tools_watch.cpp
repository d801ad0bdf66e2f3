#include "core/tools_watch.hpp"

#include <stdexcept>

#include "core/kokkos.hpp"

namespace ridgeline {
namespace {

using Callbacks = Kokkos::Tools::Experimental::EventSet;

// The callbacks are plain functions.
struct Watching {
  bool active = false;
  int depth = 0;
  std::vector<ToolsEvent> events;
  Callbacks before;  // those of a tool that is loaded
};
Watching watching;

void note(ToolsEvent::Kind kind, const char* name, std::uint64_t bytes = 0) {
  watching.events.push_back({kind, name, bytes, watching.depth});
}

/// The callback for one kind of kernel, before the tool's own.
template <Kokkos_Profiling_beginFunction Callbacks::*begin>
void begin_kernel(const char* name, std::uint32_t device, std::uint64_t* id) {
  note(ToolsEvent::Kind::kernel, name);
  if (watching.before.*begin != nullptr) (watching.before.*begin)(name, device, id);
}

void push_region(const char* name) {
  ++watching.depth;
  if (watching.before.push_region != nullptr) watching.before.push_region(name);
}

void pop_region() {
  --watching.depth;
  if (watching.before.pop_region != nullptr) watching.before.pop_region();
}

void allocate(Kokkos_Profiling_SpaceHandle space, const char* name, const void* data, std::uint64_t bytes) {
  note(ToolsEvent::Kind::allocation, name, bytes);
  if (watching.before.allocate_data != nullptr) watching.before.allocate_data(space, name, data, bytes);
}

void begin_deep_copy(Kokkos_Profiling_SpaceHandle to, const char* to_name, const void* to_data,
                     Kokkos_Profiling_SpaceHandle from, const char* from_name, const void* from_data,
                     std::uint64_t bytes) {
  note(ToolsEvent::Kind::deep_copy, to_name, bytes);
  if (watching.before.begin_deep_copy != nullptr)
    watching.before.begin_deep_copy(to, to_name, to_data, from, from_name, from_data, bytes);
}

}  // namespace

ToolsWatch::ToolsWatch() {
  if (watching.active) throw std::logic_error("two watches at once");
  watching = {};
  watching.active = true;
  watching.before = Kokkos::Tools::Experimental::get_callbacks();
  Callbacks callbacks = watching.before;
  callbacks.begin_parallel_for = begin_kernel<&Callbacks::begin_parallel_for>;
  callbacks.begin_parallel_reduce = begin_kernel<&Callbacks::begin_parallel_reduce>;
  callbacks.begin_parallel_scan = begin_kernel<&Callbacks::begin_parallel_scan>;
  callbacks.push_region = push_region;
  callbacks.pop_region = pop_region;
  callbacks.allocate_data = allocate;
  callbacks.begin_deep_copy = begin_deep_copy;
  Kokkos::Tools::Experimental::set_callbacks(callbacks);
}

ToolsWatch::~ToolsWatch() {
  Kokkos::Tools::Experimental::set_callbacks(watching.before);
  watching.active = false;
}

const std::vector<ToolsEvent>& ToolsWatch::events() const { return watching.events; }

int ToolsWatch::depth() const { return watching.depth; }

}  // namespace ridgeline

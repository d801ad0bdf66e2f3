#include "core/tools.hpp"

#include <algorithm>
#include <vector>

#include "core/kokkos.hpp"

namespace ridgeline {
namespace {

using Callbacks = Kokkos::Tools::Experimental::EventSet;

// Callbacks are plain functions.
std::vector<ToolsListener*> listeners;
Callbacks tool;  // of the tool that is loaded, or empty; valid while there are listeners

// A tool's work is left out of what listeners measure: it begins before them and ends after them.

template <Kokkos_Profiling_beginFunction Callbacks::*OfTool>
void begin_kernel(const char* name, const std::uint32_t device, std::uint64_t* id) {
  if (tool.*OfTool != nullptr) (tool.*OfTool)(name, device, id);
  for (ToolsListener* listener : listeners) listener->begin_kernel(name);
}

template <Kokkos_Profiling_endFunction Callbacks::*OfTool>
void end_kernel(std::uint64_t id) {
  for (ToolsListener* listener : listeners) listener->end_kernel();
  if (tool.*OfTool != nullptr) (tool.*OfTool)(id);
}

void push_region(const char* name) {
  if (tool.push_region != nullptr) tool.push_region(name);
  for (ToolsListener* listener : listeners) listener->push_region(name);
}

void pop_region() {
  for (ToolsListener* listener : listeners) listener->pop_region();
  if (tool.pop_region != nullptr) tool.pop_region();
}

void allocate(Kokkos_Profiling_SpaceHandle space, const char* name, const void* data, std::uint64_t bytes) {
  if (tool.allocate_data != nullptr) tool.allocate_data(space, name, data, bytes);
  for (ToolsListener* listener : listeners) listener->allocate(name, bytes);
}

void deallocate(Kokkos_Profiling_SpaceHandle space, const char* name, const void* data, std::uint64_t bytes) {
  for (ToolsListener* listener : listeners) listener->deallocate(name, bytes);
  if (tool.deallocate_data != nullptr) tool.deallocate_data(space, name, data, bytes);
}

void begin_deep_copy(Kokkos_Profiling_SpaceHandle to, const char* to_name, const void* to_data,
                     Kokkos_Profiling_SpaceHandle from, const char* from_name, const void* from_data,
                     std::uint64_t bytes) {
  if (tool.begin_deep_copy != nullptr) tool.begin_deep_copy(to, to_name, to_data, from, from_name, from_data, bytes);
  for (ToolsListener* listener : listeners) listener->begin_deep_copy(to_name, from_name, bytes);
}

void end_deep_copy() {
  for (ToolsListener* listener : listeners) listener->end_deep_copy();
  if (tool.end_deep_copy != nullptr) tool.end_deep_copy();
}

void set_callbacks() {
  tool = Kokkos::Tools::Experimental::get_callbacks();
  Callbacks own = tool;
  own.begin_parallel_for = begin_kernel<&Callbacks::begin_parallel_for>;
  own.end_parallel_for = end_kernel<&Callbacks::end_parallel_for>;
  own.begin_parallel_reduce = begin_kernel<&Callbacks::begin_parallel_reduce>;
  own.end_parallel_reduce = end_kernel<&Callbacks::end_parallel_reduce>;
  own.begin_parallel_scan = begin_kernel<&Callbacks::begin_parallel_scan>;
  own.end_parallel_scan = end_kernel<&Callbacks::end_parallel_scan>;
  own.push_region = push_region;
  own.pop_region = pop_region;
  own.allocate_data = allocate;
  own.deallocate_data = deallocate;
  own.begin_deep_copy = begin_deep_copy;
  own.end_deep_copy = end_deep_copy;
  Kokkos::Tools::Experimental::set_callbacks(own);
}

}  // namespace

ToolsListener::ToolsListener() {
  listeners.push_back(this);
  if (listeners.size() == 1) set_callbacks();
}

ToolsListener::~ToolsListener() {
  listeners.erase(std::remove(listeners.begin(), listeners.end(), this), listeners.end());
  if (listeners.empty()) Kokkos::Tools::Experimental::set_callbacks(tool);
}

bool tools_listen() { return !listeners.empty() || Kokkos::Tools::profileLibraryLoaded(); }

void ToolsListener::begin_kernel(const char*) {}
void ToolsListener::end_kernel() {}
void ToolsListener::push_region(const char*) {}
void ToolsListener::pop_region() {}
void ToolsListener::allocate(const char*, std::uint64_t) {}
void ToolsListener::deallocate(const char*, std::uint64_t) {}
void ToolsListener::begin_deep_copy(const char*, const char*, std::uint64_t) {}
void ToolsListener::end_deep_copy() {}

}  // namespace ridgeline

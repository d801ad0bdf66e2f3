// What Kokkos tells tools, told to listeners inside the program as well: the one place that sets Kokkos' callbacks.
#pragma once

#include <cstdint>

namespace ridgeline {

/// Hears what Kokkos does for as long as it lives, after Kokkos' start and before its end. A tool that is loaded hears
/// the same as ever, and so does every other listener. Only the main thread makes, destroys and calls listeners; none
/// is made or destroyed inside a kernel.
class ToolsListener {
 public:
  virtual ~ToolsListener();
  ToolsListener(const ToolsListener&) = delete;
  ToolsListener& operator=(const ToolsListener&) = delete;

  /// A parallel_for, parallel_reduce or parallel_scan; kernels do not nest. On a device it may still run when it ends
  /// here: who measures it waits.
  virtual void begin_kernel(const char* name);
  virtual void end_kernel();
  virtual void push_region(const char* name);
  virtual void pop_region();
  /// `name` is the view's.
  virtual void allocate(const char* name, std::uint64_t bytes);
  virtual void deallocate(const char* name, std::uint64_t bytes);
  /// `to` and `from` are the views' names.
  virtual void begin_deep_copy(const char* to, const char* from, std::uint64_t bytes);
  virtual void end_deep_copy();

 protected:
  ToolsListener();
};

/// Whether anybody hears what Kokkos does: a tool that is loaded, or a listener.
bool tools_listen();

}  // namespace ridgeline

// What Kokkos does, seen through the callbacks that it offers to tools.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ridgeline {

struct ToolsEvent {
  enum class Kind { kernel, allocation, deep_copy };
  Kind kind;
  std::string name;         ///< the kernel's label, the view's, or the destination's
  std::uint64_t bytes = 0;  ///< of an allocation and a deep copy
  int depth = 0;            ///< regions that are open, less those that were when the watch began: may be negative
};

/// Lists what Kokkos does as long as it lives; tools that are loaded see the same as ever. One at a time.
class ToolsWatch {
 public:
  /// Throws std::logic_error where another one lives.
  ToolsWatch();
  ~ToolsWatch();
  ToolsWatch(const ToolsWatch&) = delete;
  ToolsWatch& operator=(const ToolsWatch&) = delete;

  /// In the order of their beginnings.
  const std::vector<ToolsEvent>& events() const;
  /// Regions that are open, less those that were when the watch began.
  int depth() const;
};

}  // namespace ridgeline

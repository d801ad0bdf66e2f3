// Checks of what Kokkos tools see of a layer.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <utility>
#include <vector>

#include "config/text.hpp"
#include "conform/check.hpp"
#include "conform/pointwise.hpp"
#include "core/region.hpp"
#include "core/tools.hpp"

namespace ridgeline::conform {
namespace {

bool begins_with(const std::string& text, const std::string& beginning) {
  return text.compare(0, beginning.size(), beginning) == 0;
}

struct Event {
  enum class Kind { kernel, allocation, deep_copy, region };
  Kind kind;
  std::string name;         ///< the kernel's label, the region's, the view's, or the destination's
  std::uint64_t bytes = 0;  ///< of an allocation and a deep copy
  int depth = 0;            ///< regions that are open, less those that were when the watch began: may be negative
};

/// Lists what Kokkos does as long as it lives.
class Watch final : public ToolsListener {
 public:
  void begin_kernel(const char* name) override { note(Event::Kind::kernel, name, 0); }
  void allocate(const char* name, std::uint64_t bytes) override { note(Event::Kind::allocation, name, bytes); }
  void begin_deep_copy(const char* to, const char*, std::uint64_t bytes) override {
    note(Event::Kind::deep_copy, to, bytes);
  }
  void push_region(const char* name) override {
    ++depth_;
    note(Event::Kind::region, name, 0);
  }
  void pop_region() override { --depth_; }

  /// In the order of their beginnings.
  const std::vector<Event>& events() const { return events_; }
  /// Regions that are open, less those that were when the watch began.
  int depth() const { return depth_; }

 private:
  void note(Event::Kind kind, const char* name, std::uint64_t bytes) { events_.push_back({kind, name, bytes, depth_}); }

  std::vector<Event> events_;
  int depth_ = 0;
};

/// The library's own: its names, and what Kokkos does for itself.
bool is_kokkos(const Event& event) { return begins_with(event.name, "Kokkos"); }

/// Calls once for what happens in a first call only, and then under watch, inside a region as the driver opens them.
struct Watched {
  std::vector<Event> events;
  std::string unbalanced;  ///< which pass leaves regions open, or closes one that it did not open
};

Watched watch(const std::vector<std::pair<std::string, std::function<void()>>>& passes) {
  for (const auto& [name, pass] : passes) pass();
  Watched watched;
  const Watch watch;
  for (const auto& [name, pass] : passes) {
    const Region region(name);
    pass();
    if (watch.depth() != 1 && watched.unbalanced.empty()) watched.unbalanced = name;
  }
  watched.events = watch.events();
  return watched;
}

template <class Scalar>
Watched watch_layer(const Case& tried) {
  const auto layer = prepared_layer<Scalar>(tried.layer, tried.sizes);
  const DeviceTokens<Scalar> x(some_x(tried.sizes)), dy(some_dy(tried.sizes)),
      y(zeros(tried.sizes.shape, tried.sizes.outputs)), dx(zeros(tried.sizes.shape, tried.sizes.inputs));
  return watch({{"forward", [&] { layer->forward(x.view, {}, y.view); }},
                {"backward", [&] { layer->backward(x.view, dy.view, dx.view); }}});
}

Watched watch_activation(const Case& tried) {
  Pointwise<float> pointwise(tried);
  return watch({{"forward", [&] { pointwise.run(); }}});
}

Finding judge_allocations(const Watched& watched) {
  for (const Event& event : watched.events) {
    if (event.kind == Event::Kind::kernel || event.kind == Event::Kind::region || is_kokkos(event)) continue;
    return failed(fmt::format("a second call {} of \"{}\", {} bytes",
                              event.kind == Event::Kind::allocation ? "makes an allocation" : "makes a deep copy",
                              event.name, event.bytes),
                  static_cast<double>(event.bytes));
  }
  return passed();
}

Finding judge_kernels(const Watched& watched, const LayerName& layer) {
  const LayerEntry& entry = Registry::instance().get(layer.kind, layer.name);
  std::vector<std::string> beginnings = {"ridgeline::", layer.name + "::"};
  if (entry.origin != LayerEntry::built_in)
    beginnings.push_back(std::filesystem::path(entry.origin).stem().string() + "::");
  for (const Event& event : watched.events) {
    const bool launched = event.kind == Event::Kind::kernel, named = launched || event.kind == Event::Kind::region;
    if (const std::string plain = excerpt(event.name, std::string::npos); named && plain != event.name)
      return failed(fmt::format("the {} \"{}\" has a name that is no line of plain text",
                                launched ? "kernel" : "region", excerpt(plain)));
    if (!launched || is_kokkos(event)) continue;
    if (std::none_of(beginnings.begin(), beginnings.end(),
                     [&](const std::string& beginning) { return begins_with(event.name, beginning); }))
      return failed(
          fmt::format("the kernel \"{}\" has no name that begins ridgeline:: or {}::", event.name, layer.name));
    if (event.depth < 1)
      return failed(fmt::format("the kernel \"{}\" runs outside the region that the driver opened", event.name));
  }
  if (!watched.unbalanced.empty())
    return failed("its " + watched.unbalanced + " pass does not close as many regions as it opens");
  return passed();
}

}  // namespace

Finding allocations(const Case& tried) {
  Finding finding = judge_allocations(watch_layer<float>(tried));
  return finding.result == Finding::Result::failed ? finding : judge_allocations(watch_layer<double>(tried));
}

Finding kernel_names(const Case& tried) { return judge_kernels(watch_layer<float>(tried), tried.layer); }

Finding activation_allocations(const Case& tried) { return judge_allocations(watch_activation(tried)); }

Finding activation_kernel_names(const Case& tried) { return judge_kernels(watch_activation(tried), tried.layer); }

}  // namespace ridgeline::conform

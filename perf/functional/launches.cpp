#include "perf/functional/launches.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "core/tools.hpp"
#include "math/counted.hpp"
#include "math/gemm.hpp"

namespace ridgeline::perf {
namespace {

/// A region that begins "ridgeline::" is a call of a library; what runs inside it, or inside a copy, is part of it.
class Launches final : ToolsListener {
 public:
  std::string text() const {
    std::vector<std::string> lines;
    for (const auto& [key, line] : lines_)
      lines.push_back(
          fmt::format(R"({{"name": "{}", "place": "{}", "calls": {}, "operations": {:.0f}, "bytes": {:.0f}}})",
                      key.first, key.second, line.calls, line.operations, line.bytes));
    return fmt::format("[{}]", fmt::join(lines, ", "));
  }

 private:
  struct Line {
    int calls = 0;
    double operations = 0, bytes = 0;
  };

  void begin_kernel(const char* name) override { begin(name); }
  void end_kernel() override { end(); }
  void begin_deep_copy(const char* to, const char* /*from*/, std::uint64_t bytes) override {
    begin(fmt::format("copy to {}", to));
    copied_ = static_cast<double>(bytes);
  }
  void end_deep_copy() override { end(); }
  void push_region(const char* name) override {
    regions_.emplace_back(name);
    if (is_library(name)) begin(name);
  }
  void pop_region() override {
    if (regions_.empty()) return;
    const std::string name = regions_.back();
    regions_.pop_back();
    if (is_library(name.c_str())) end();
  }

  static bool is_library(const char* region) { return std::strncmp(region, "ridgeline::", 11) == 0; }

  void begin(const std::string& name) {
    if (depth_++ > 0) return;
    name_ = name;
    copied_ = 0;
  }

  void end() {
    if (--depth_ > 0) return;
    std::vector<std::string> around;
    for (const std::string& region : regions_)
      if (region != "step") around.push_back(region);
    Line& line = lines_[{name_, fmt::format("{}", fmt::join(around, "/"))}];
    ++line.calls;
    // Counted before the launch: since the last one ended.
    line.operations += counted_operations() - operations_;
    line.bytes += counted_bytes() - bytes_ + copied_;
    operations_ = counted_operations();
    bytes_ = counted_bytes();
  }

  std::vector<std::string> regions_;
  std::map<std::pair<std::string, std::string>, Line> lines_;
  int depth_ = 0;
  std::string name_;
  double operations_ = counted_operations(), bytes_ = counted_bytes();  // when the last launch ended
  double copied_ = 0;
};

}  // namespace

std::string launches_of(const std::function<void()>& work) {
  const Launches launches;
  work();
  return launches.text();
}

}  // namespace ridgeline::perf

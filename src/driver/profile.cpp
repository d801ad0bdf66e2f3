#include "driver/profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <limits>
#include <map>
#include <utility>

#include "core/kokkos.hpp"
#include "core/region.hpp"
#include "io/files.hpp"
#include "io/json.hpp"
#include "math/gemm.hpp"

namespace ridgeline {
namespace {

bool begins_with(const std::string& text, const char* beginning) { return text.rfind(beginning, 0) == 0; }

/// Regions that say nothing of what a kernel is for.
bool is_wrapping(const std::string& region) {
  return region == "run" || region == "epoch" || region == "step" || begins_with(region, "block ");
}

std::string event_text(const std::string& name, const char* category, std::int64_t began, std::int64_t ended) {
  return fmt::format(R"({{"ph":"X","pid":1,"tid":1,"cat":"{}","name":{},"ts":{:.3f},"dur":{:.3f}}})", category,
                     json_text(name), 1e-3 * static_cast<double>(began), 1e-3 * static_cast<double>(ended - began));
}

std::string kernel_text(const KernelTime& kernel) {
  return fmt::format(R"({{"name":{},"place":{},"calls":{},"seconds":{},"operations":{}}})", json_text(kernel.name),
                     json_text(kernel.place), kernel.calls, json_number(kernel.seconds),
                     json_number(kernel.operations));
}

/// A line of the table for people, in its columns.
struct Line {
  std::string name, calls, seconds, share, rate, of_gemm;
};

Line line_of(const std::string& name, std::int64_t calls, double seconds, double whole) {
  return {name,
          calls > 0 ? fmt::format("{}", calls) : "",
          fmt::format("{:.4f}", seconds),
          fmt::format("{:.1f} %", whole > 0 ? 100 * seconds / whole : 0),
          "",
          ""};
}

}  // namespace

template <class Scalar>
double measure_gemm_rate() {
  const Region region("gemm rate");
  const int n = host_reads_memory ? 1024 : 4096;
  const Kokkos::View<Scalar**, Kokkos::LayoutRight, Memory> matrices("ridgeline::profile/gemm_rate", 3, n * n);
  const auto matrix = [&](int i) { return matrices.data() + static_cast<std::size_t>(i) * n * n; };
  const auto multiply = [&] {
    const double began = wall_time();
    gemm<Scalar>({n, n, n}, {matrix(0), n}, {matrix(1), n}, {matrix(2), n});
    Execution().fence();
    return wall_time() - began;
  };
  multiply();  // the first one sets libraries up
  double best = std::numeric_limits<double>::infinity();
  const double end = wall_time() + 0.2;
  for (int round = 0; round < 3 || wall_time() < end; ++round) best = std::min(best, multiply());
  return 2.0 * n * n * n / best;
}

Profile::Profile(int traced_steps, double gemm_rate)
    : traced_steps_(traced_steps),
      gemm_rate_(gemm_rate),
      began_(std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1)),
      nodes_(1),
      current_(&nodes_.front()),
      counted_(counted_operations()),
      trace_(traced_steps > 0 ? Trace::to_come : Trace::over) {}

std::int64_t Profile::now() const {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1) - began_;
}

/// The node of this name below what is open. In a run the same things follow each other again and again: what came after
/// the last child the last time is tried first.
Profile::Node& Profile::child(Kind kind, const char* name) {
  std::vector<Node*>& children = current_->children;
  const auto is_it = [&](const Node* node) { return node->kind == kind && node->name == name; };
  if (current_->expected >= children.size()) current_->expected = 0;
  auto found = children.begin() + static_cast<std::ptrdiff_t>(current_->expected);
  if (found == children.end() || !is_it(*found)) found = std::find_if(children.begin(), children.end(), is_it);
  if (found == children.end()) {
    Node& node = nodes_.emplace_back();
    node.kind = kind;
    node.name = name;
    node.parent = current_;
    node.is_work = kind != Kind::region || begins_with(node.name, "ridgeline::");
    for (const Node* above = current_; above != nullptr; above = above->parent)
      if (above->is_work) node.is_work = false;
    children.push_back(&node);
    found = std::prev(children.end());
  }
  current_->expected = static_cast<std::size_t>(found - children.begin()) + 1;
  return **found;
}

void Profile::enter(Kind kind, const char* name) {
  Node& node = child(kind, name);
  node.expected = 0;
  current_ = &node;
  if (is_timed(node)) node.opened = now();
}

void Profile::leave(Kind kind) {
  Node* node = current_;
  // What is left open in between (by a layer that forgets) is closed with it; what was not opened here, ignored.
  while (node->parent != nullptr && node->kind != kind) node = node->parent;
  if (node->parent == nullptr) return;
  if constexpr (!host_reads_memory)
    if (node->is_work) Execution().fence();
  current_ = node->parent;
  ++node->calls;
  if (!is_timed(*node)) return;
  const std::int64_t moment = now();
  node->nanoseconds += moment - node->opened;
  if (trace_ == Trace::running) events_.push_back({node, node->opened, moment});
  if (!node->is_work) return;
  const double counted = counted_operations();
  node->operations += counted - counted_;
  counted_ = counted;
}

void Profile::push_region(const char* name) {
  enter(Kind::region, name);
  if (std::strcmp(name, "step") == 0 && ++steps_ == 1 && trace_ == Trace::to_come) trace_ = Trace::running;
}

void Profile::pop_region() {
  leave(Kind::region);
  // The last traced step is over where no step is open any more.
  if (trace_ != Trace::running || steps_ < traced_steps_) return;
  for (const Node* node = current_; node != nullptr; node = node->parent)
    if (node->name == "step") return;
  events_ = events();
  trace_ = Trace::over;
}

void Profile::begin_deep_copy(const char* to, const char* /*from*/, std::uint64_t /*bytes*/) { enter(Kind::copy, to); }

/// What was traced; what is open still, as far as it has come.
std::vector<Profile::Event> Profile::events() const {
  std::vector<Event> all = events_;
  if (trace_ == Trace::running)
    for (const Node* node = current_; node->parent != nullptr; node = node->parent)
      all.push_back({node, node->opened, now()});
  return all;
}

std::string Profile::place_of(const Node& node) {
  std::string place;
  for (const Node* above = node.parent; above->parent != nullptr; above = above->parent)
    if (!is_wrapping(above->name)) place = above->name + (place.empty() ? "" : "/") + place;
  return place;
}

KernelTimes Profile::kernel_times() const {
  std::map<std::pair<std::string, std::string>, KernelTime> lines;
  for (const Node& node : nodes_) {
    if (!node.is_work) continue;
    const std::string name = node.kind == Kind::copy ? "deep copy to " + node.name : node.name;
    const std::string place = place_of(node);
    KernelTime& line = lines.try_emplace({name, place}, KernelTime{name, place}).first->second;
    line.calls += node.calls;
    line.seconds += 1e-9 * static_cast<double>(node.nanoseconds);
    line.operations += node.operations;
  }
  KernelTimes times;
  times.seconds = 1e-9 * static_cast<double>(now());
  times.operations_per_second = gemm_rate_;
  for (const auto& [key, line] : lines) times.kernels.push_back(line);
  std::stable_sort(times.kernels.begin(), times.kernels.end(),
                   [](const KernelTime& a, const KernelTime& b) { return a.seconds > b.seconds; });
  return times;
}

void Profile::write(const std::filesystem::path& path, const std::string& title, const KernelTimes& times) const {
  std::vector<Event> traced = events();
  // Parents before their children.
  std::stable_sort(traced.begin(), traced.end(), [](const Event& a, const Event& b) {
    return a.began != b.began ? a.began < b.began : a.ended > b.ended;
  });
  std::string text = fmt::format(R"({{"displayTimeUnit":"ms",
"traceEvents":[
{{"ph":"M","pid":1,"tid":1,"name":"process_name","args":{{"name":{}}}}})",
                                 json_text("Ridgeline: " + title));
  for (const Event& event : traced) {
    const Node& node = *event.node;
    const char* category = node.kind == Kind::region ? "region" : node.kind == Kind::kernel ? "kernel" : "deep copy";
    text += ",\n" + event_text(node.kind == Kind::copy ? "deep copy to " + node.name : node.name, category, event.began,
                               event.ended);
  }
  text += fmt::format("\n],\n\"otherData\":{{\"steps\":{},\"seconds\":{},\"operations_per_second\":{},\"kernels\":[",
                      std::min(steps_, traced_steps_), json_number(times.seconds),
                      json_number(times.operations_per_second));
  for (std::size_t i = 0; i < times.kernels.size(); ++i) text += (i > 0 ? ",\n" : "\n") + kernel_text(times.kernels[i]);
  write_atomically(path, text + "\n]}}\n");
}

std::string kernel_table(const KernelTimes& times) {
  std::vector<Line> lines = {{"kernel, in", "calls", "seconds", "share", "GFLOP/s", "of GEMM"}};
  double all = 0, others = 0;
  std::int64_t other_calls = 0;
  for (const KernelTime& kernel : times.kernels) {
    all += kernel.seconds;
    if (!times.is_large(kernel)) {
      others += kernel.seconds;
      other_calls += kernel.calls;
      continue;
    }
    Line line = line_of(kernel.name + ", " + kernel.place, kernel.calls, kernel.seconds, times.seconds);
    if (const double rate = kernel.operations_per_second(); rate > 0) {
      line.rate = fmt::format("{:.1f}", 1e-9 * rate);
      line.of_gemm = fmt::format("{:.0f} %", 100 * rate / times.operations_per_second);
    }
    lines.push_back(line);
  }
  lines.push_back(line_of("other kernels", other_calls, others, times.seconds));
  lines.push_back(line_of("outside kernels", 0, times.seconds - all, times.seconds));
  std::size_t width = 0;
  for (const Line& line : lines) width = std::max(width, line.name.size());
  std::string text;
  for (const Line& line : lines) {
    std::string row = fmt::format("{:<{}}  {:>9}  {:>10}  {:>7}  {:>7}  {:>7}", line.name, width, line.calls,
                                  line.seconds, line.share, line.rate, line.of_gemm);
    row.erase(row.find_last_not_of(' ') + 1);
    text += row + "\n";
  }
  return text + fmt::format("a large matrix product here: {:.1f} GFLOP/s", 1e-9 * times.operations_per_second);
}

template double measure_gemm_rate<float>();
template double measure_gemm_rate<double>();

}  // namespace ridgeline

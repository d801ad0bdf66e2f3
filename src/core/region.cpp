#include "core/region.hpp"

#include <algorithm>
#include <chrono>
#include <memory>

#include "core/kokkos.hpp"
#include "core/tools.hpp"

namespace ridgeline {

double wall_time() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

const double loaded_at = wall_time();

struct Node {
  std::string name;
  Node* parent = nullptr;
  double seconds = 0;
  double opened = 0;
  std::int64_t calls = 0;
  bool is_whole = false;  // what is inside is not timed
  std::vector<std::unique_ptr<Node>> children;
};

Node root;
Node* current = &root;

Node* enter(const std::string& name) {
  for (const auto& child : current->children)
    if (child->name == name) return child.get();
  current->children.push_back(std::make_unique<Node>());
  Node* node = current->children.back().get();
  node->name = name;
  node->parent = current;
  return node;
}

bool is_open(const Node& node) {
  for (const Node* open = current; open != nullptr; open = open->parent)
    if (open == &node) return true;
  return false;
}

void list(const Node& node, const std::string& prefix, std::vector<RegionTime>& times) {
  for (const auto& child : node.children) {
    const bool open = is_open(*child);
    times.push_back({prefix + child->name, child->seconds + (open ? wall_time() - child->opened : 0),
                     child->calls + (open ? 1 : 0)});
    list(*child, prefix + child->name + "/", times);
  }
}

/// Of the regions below a node, only those that are open stay, as if they were opened now.
void forget_below(Node& node) {
  auto& children = node.children;
  const auto is_closed = [](const auto& child) { return !is_open(*child); };
  children.erase(std::remove_if(children.begin(), children.end(), is_closed), children.end());
  for (const auto& child : children) {
    child->seconds = 0;
    child->calls = 0;
    child->opened = wall_time();
    forget_below(*child);
  }
}

}  // namespace

double program_began() { return loaded_at; }

bool& detail::regions_wait() {
  static bool wait = !host_reads_memory;
  return wait;
}

Region::Region(const std::string& name, Parts parts) : timed_(!current->is_whole) {
  Kokkos::Profiling::pushRegion(name);
  if (!timed_) return;
  current = enter(name);
  current->is_whole = parts == Parts::timed_for_tools && detail::regions_wait() && !tools_listen();
  current->opened = wall_time();
}

Region::~Region() {
  if (!timed_) {
    Kokkos::Profiling::popRegion();
    return;
  }
  if (detail::regions_wait()) Execution().fence();
  current->is_whole = false;
  current->seconds += wall_time() - current->opened;
  ++current->calls;
  Kokkos::Profiling::popRegion();
  current = current->parent;
}

std::vector<RegionTime> region_times() {
  std::vector<RegionTime> times;
  list(root, "", times);
  return times;
}

void forget_regions() { forget_below(root); }

}  // namespace ridgeline

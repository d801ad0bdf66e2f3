#include "report/time_tree.hpp"

#include <algorithm>
#include <memory>

namespace ridgeline::report {

namespace {

constexpr double smallest_rest = 0.005;  // of the whole

struct Region {
  std::string label;
  double seconds = 0;
  std::int64_t calls = 0;
  std::vector<std::unique_ptr<Region>> children;

  Region& child(const std::string& name) {
    for (const auto& existing : children) {
      if (existing->label == name) {
        return *existing;
      }
    }
    children.push_back(std::make_unique<Region>());
    children.back()->label = name;
    return *children.back();
  }
};

void insert(Region& root, const RegionTime& listed) {
  Region* region = &root;
  for (std::size_t begin = 0; begin <= listed.name.size();) {
    const std::size_t end = std::min(listed.name.find('/', begin), listed.name.size());
    if (end > begin) {
      region = &region->child(listed.name.substr(begin, end - begin));
    }
    begin = end + 1;
  }
  if (region != &root) {
    region->seconds += std::max(listed.seconds, 0.0);
    region->calls += listed.calls;
  }
}

double sum_of_children(const Region& region) {
  double sum = 0;
  for (const auto& child : region.children) {
    sum += child->seconds;
  }
  return sum;
}

/// Clocks of parents and children differ by rounding: a parent has at least what its children have.
void complete(Region& region) {
  for (const auto& child : region.children) {
    complete(*child);
  }
  region.seconds = std::max(region.seconds, sum_of_children(region));
}

void flatten(const Region& region, const std::string& prefix, int depth, double whole, std::vector<TimeNode>& nodes) {
  for (const auto& child : region.children) {
    const std::string path = prefix + child->label;
    const auto share = [whole](double seconds) { return whole > 0 ? seconds / whole : 0; };
    nodes.push_back(
        {path, child->label, depth, child->seconds, share(child->seconds), child->calls, child->children.empty()});
    flatten(*child, path + "/", depth + 1, whole, nodes);
    const double rest = child->seconds - sum_of_children(*child);
    if (!child->children.empty() && rest > 0 && share(rest) >= smallest_rest) {
      nodes.push_back({path + " (rest)", "(rest)", depth + 1, rest, share(rest), 0, true});
    }
  }
}

}  // namespace

std::vector<TimeNode> time_tree(const std::vector<RegionTime>& regions) {
  Region root;
  for (const RegionTime& region : regions) {
    insert(root, region);
  }
  complete(root);
  std::vector<TimeNode> nodes;
  flatten(root, "", 0, root.seconds, nodes);
  return nodes;
}

}  // namespace ridgeline::report

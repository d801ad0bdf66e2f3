#include "report/time_summary.hpp"

#include <algorithm>

#include "report/time_tree.hpp"

namespace ridgeline::report {
namespace {

std::vector<std::string> parts_of(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('/', begin), path.size());
    parts.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

bool is_wrapping(const std::string& name) {
  return name == "run" || name == "eval" || name == "epoch" || name == "step";
}

/// What a leaf of the tree belongs to: the part's label, and where in it.
struct Place {
  std::string label;
  double TimeShare::*member;
};

Place place_of(const std::string& path) {
  std::vector<std::string> parts = parts_of(path.substr(0, path.rfind(" (rest)")));
  while (!parts.empty() && is_wrapping(parts.front())) parts.erase(parts.begin());
  if (parts.empty()) return {"rest", &TimeShare::other};  // of a wrapping itself
  if (parts.front() != "forward" && parts.front() != "backward") return {parts.front(), &TimeShare::other};
  const auto member = parts.front() == "forward" ? &TimeShare::forward : &TimeShare::backward;
  if (parts.size() == 1) return {"rest", member};
  const bool in_block = parts[1].rfind("block ", 0) == 0 && parts.size() > 2;
  return {in_block ? parts[1] + " " + parts[2] : parts[1], member};
}

}  // namespace

std::vector<TimeShare> time_summary(const std::vector<RegionTime>& regions) {
  std::vector<TimeShare> shares;
  for (const TimeNode& node : time_tree(regions)) {
    if (!node.is_leaf || node.seconds <= 0) continue;
    const Place place = place_of(node.path);
    auto share = std::find_if(shares.begin(), shares.end(), [&](const TimeShare& s) { return s.label == place.label; });
    if (share == shares.end()) share = shares.insert(shares.end(), TimeShare{place.label, 0, 0, 0});
    (*share).*place.member += node.seconds;
  }
  std::stable_partition(shares.begin(), shares.end(), [](const TimeShare& share) { return share.label != "rest"; });
  return shares;
}

}  // namespace ridgeline::report

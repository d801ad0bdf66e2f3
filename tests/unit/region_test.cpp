// Regions where kernels run behind the host's back.
#include "core/region.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/tools.hpp"

namespace ridgeline {
namespace {

/// Regions wait for as long as this lives, as on a device.
class Waiting {
 public:
  Waiting() : before_(detail::regions_wait()) { detail::regions_wait() = true; }
  ~Waiting() { detail::regions_wait() = before_; }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  bool before_;
};

class Listener final : ToolsListener {
 public:
  std::vector<std::string> regions;

 private:
  void push_region(const char* name) override { regions.emplace_back(name); }
  void pop_region() override { regions.emplace_back("end"); }
};

void take_step() {
  const Region step("step", Parts::timed_for_tools);
  const Region forward("forward");
  const Region layer("layer");
}

std::vector<std::string> visited() {
  std::vector<std::string> names;
  for (const RegionTime& time : region_times()) names.push_back(time.name + " " + std::to_string(time.calls));
  return names;
}

using Names = std::vector<std::string>;

TEST(Regions, OfAStepAreTimedAsOneWhereTheyWait) {
  if (tools_listen()) GTEST_SKIP() << "a tool is loaded";
  const Waiting waiting;
  forget_regions();
  take_step();
  take_step();
  { const Region after("after"); }
  EXPECT_EQ(visited(), (Names{"step 2", "after 1"}));
}

TEST(Regions, OfAStepAreTimedForTools) {
  const Waiting waiting;
  forget_regions();
  const Listener listener;
  take_step();
  EXPECT_EQ(visited(), (Names{"step 1", "step/forward 1", "step/forward/layer 1"}));
  EXPECT_EQ(listener.regions, (Names{"step", "forward", "layer", "end", "end", "end"}));
}

TEST(Regions, OfAStepAreTimedWhereNothingWaits) {
  const Waiting waiting;
  detail::regions_wait() = false;
  forget_regions();
  take_step();
  EXPECT_EQ(visited(), (Names{"step 1", "step/forward 1", "step/forward/layer 1"}));
}

/// Who begins to listen in the middle hears of what is open to the end, and times nothing twice.
TEST(Regions, MayBeHeardInTheMiddle) {
  const Waiting waiting;
  forget_regions();
  std::vector<std::string> heard;
  {
    const Region step("step", Parts::timed_for_tools);
    const Region forward("forward");
    const Listener listener;
    { const Region layer("layer"); }
    heard = listener.regions;
  }
  EXPECT_EQ(heard, (Names{"layer", "end"}));
  EXPECT_EQ(visited().front(), "step 1");
}

}  // namespace
}  // namespace ridgeline

#include "core/tools.hpp"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/kokkos.hpp"
#include "core/region.hpp"

namespace ridgeline {
namespace {

namespace tools = Kokkos::Tools::Experimental;

using Notes = std::vector<std::string>;

class Listener final : ToolsListener {
 public:
  Notes notes;

 private:
  void begin_kernel(const char* name) override { notes.push_back(std::string("kernel ") + name); }
  void end_kernel() override { notes.emplace_back("end"); }
  void push_region(const char* name) override { notes.push_back(std::string("push ") + name); }
  void pop_region() override { notes.emplace_back("pop"); }
  void allocate(const char* name, std::uint64_t bytes) override {
    notes.push_back(std::string("allocate ") + name + " " + std::to_string(bytes));
  }
  void deallocate(const char* name, std::uint64_t bytes) override {
    notes.push_back(std::string("deallocate ") + name + " " + std::to_string(bytes));
  }
  void begin_deep_copy(const char* to, const char* from, std::uint64_t bytes) override {
    notes.push_back(std::string("copy ") + to + " " + from + " " + std::to_string(bytes));
  }
  void end_deep_copy() override { notes.emplace_back("copied"); }
};

/// Something of every kind.
void work() {
  const Region region("outside");
  const Kokkos::View<double*, Memory> a(Kokkos::view_alloc("a", Kokkos::WithoutInitializing), 100);
  const Kokkos::View<double*, Memory> b(Kokkos::view_alloc("b", Kokkos::WithoutInitializing), 100);
  Kokkos::parallel_for(
      "kernel", RangePolicy(0, 100), KOKKOS_LAMBDA(int i) { a(i) = i; });
  Kokkos::deep_copy(b, a);
}

TEST(Tools, ListenersHearWhatKokkosDoes) {
  const Listener listener;
  work();
  EXPECT_EQ(listener.notes, (Notes{"push outside", "allocate a 800", "allocate b 800", "kernel kernel", "end",
                                   "copy b a 800", "copied", "deallocate b 800", "deallocate a 800", "pop"}));
}

/// A tool as Kokkos would have loaded it: each kernel gets a number, which is to come back.
Notes heard;
std::uint64_t next_id = 40;
void tool_begins(const char* name, std::uint32_t /*device*/, std::uint64_t* id) {
  *id = ++next_id;
  heard.push_back(std::string(name) + " " + std::to_string(*id));
}
void tool_ends(std::uint64_t id) { heard.push_back("end " + std::to_string(id)); }

TEST(Tools, ListenersComeBesideAToolAndLeaveItAsItWas) {
  const tools::EventSet before = tools::get_callbacks();
  tools::EventSet with_tool = before;
  with_tool.begin_parallel_for = tool_begins;
  with_tool.end_parallel_for = tool_ends;
  tools::set_callbacks(with_tool);
  heard.clear();
  next_id = 40;
  {
    const Listener first;
    work();
    {
      const Listener second;
      work();
      EXPECT_EQ(second.notes.size(), 10U);
    }
    work();
    EXPECT_EQ(first.notes.size(), 30U);
  }
  EXPECT_EQ(tools::get_callbacks().begin_parallel_for, tool_begins);
  EXPECT_EQ(tools::get_callbacks().push_region, before.push_region);
  work();
  EXPECT_EQ(heard, (Notes{"kernel 41", "end 41", "kernel 42", "end 42", "kernel 43", "end 43", "kernel 44", "end 44"}));
  tools::set_callbacks(before);
}

}  // namespace
}  // namespace ridgeline

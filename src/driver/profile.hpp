// `run --profile`: which kernels take the time of a run, and a trace of its first steps.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <vector>

#include "core/tools.hpp"
#include "io/kernel_times.hpp"

namespace ridgeline {

/// Operations a second of a large matrix product on this machine: some tenths of a second of work.
template <class Scalar>
double measure_gemm_rate();

/// Measures every kernel, deep copy and region for as long as it lives. On a device it waits for each kernel. A region
/// whose name begins "ridgeline::" is a call of a library (the matrix products), and counts as a kernel; what runs
/// inside a kernel or a deep copy is part of it.
class Profile final : ToolsListener {
 public:
  /// Keeps what happens one by one from the beginning of the first region "step" to the end of the one numbered
  /// `traced_steps`. `gemm_rate`: operations a second that the table compares with.
  Profile(int traced_steps, double gemm_rate);

  /// What was measured so far.
  KernelTimes kernel_times() const;

  /// Writes the trace, as trace viewers read it, with the times of kernels beside it. `title` names the run. Throws
  /// Error(Exit::file).
  void write(const std::filesystem::path& path, const std::string& title, const KernelTimes& times) const;

 private:
  enum class Kind { region, kernel, copy };
  /// What happened in one place: a path through the tree is what is open.
  struct Node {
    Kind kind = Kind::region;
    std::string name;
    Node* parent = nullptr;
    bool is_work = false;         // a line of the table, not part of one
    std::vector<Node*> children;  // in the order of their first visits
    std::size_t expected = 0;     // the child that comes next, if all is as it was the last time
    std::int64_t opened = 0;      // ns since the profile began
    std::int64_t nanoseconds = 0;
    std::int64_t calls = 0;
    double operations = 0;
  };
  enum class Trace { to_come, running, over };
  struct Event {
    const Node* node;
    std::int64_t began, ended;
  };

  void begin_kernel(const char* name) override { enter(Kind::kernel, name); }
  void end_kernel() override { leave(Kind::kernel); }
  void push_region(const char* name) override;
  void pop_region() override;
  void begin_deep_copy(const char* to, const char* from, std::uint64_t bytes) override;
  void end_deep_copy() override { leave(Kind::copy); }

  /// The clock is half of what measuring costs: it is read where somebody asks for the time.
  bool is_timed(const Node& node) const { return node.is_work || trace_ != Trace::over; }
  Node& child(Kind kind, const char* name);
  void enter(Kind kind, const char* name);
  void leave(Kind kind);
  std::int64_t now() const;
  std::vector<Event> events() const;
  static std::string place_of(const Node& node);

  int traced_steps_;
  double gemm_rate_;
  std::int64_t began_;  // ns of the clock
  std::deque<Node> nodes_;
  Node* current_;
  double counted_;  // operations when work ended last
  Trace trace_;
  int steps_ = 0;  // begun
  std::vector<Event> events_;
};

/// The table for people: kernels that take a hundredth of the time at least, and the rest together.
std::string kernel_table(const KernelTimes& times);

extern template double measure_gemm_rate<float>();
extern template double measure_gemm_rate<double>();

}  // namespace ridgeline

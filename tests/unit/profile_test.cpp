#include "driver/profile.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "core/kokkos.hpp"
#include "core/region.hpp"
#include "math/gemm.hpp"
#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

void kernel(const char* name) { Kokkos::parallel_for(name, RangePolicy(0, 10), KOKKOS_LAMBDA(int){}); }

/// The line of a kernel in a place; one without calls where there is none.
KernelTime line_of(const KernelTimes& times, const std::string& name, const std::string& place) {
  KernelTime found;
  int lines = 0;
  for (const KernelTime& line : times.kernels)
    if (line.name == name && line.place == place) {
      found = line;
      ++lines;
    }
  EXPECT_LE(lines, 1) << name << " in " << place << " has several lines";
  return found;
}

int count(const std::string& text, const std::string& part) {
  int number = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++number;
  return number;
}

std::string trace_of(const Profile& profile) {
  const test::TemporaryFolder folder;
  profile.write(folder / "profile.json", "a \"title\"", profile.kernel_times());
  return test::content_of(folder / "profile.json");
}

TEST(Profile, AddsUpAKernelWhereverItHasTheSamePlace) {
  const Profile profile(0, 1e9);
  for (int epoch = 0; epoch < 2; ++epoch) {
    const Region outer("epoch");
    for (const char* block : {"block 0", "block 1"}) {
      const Region step("step"), forward("forward"), inner(block), attention("attention");
      kernel("one");
      kernel("two");
      kernel("one");
    }
    const Region optimiser("optimiser");
    kernel("one");
  }
  const KernelTimes times = profile.kernel_times();
  EXPECT_EQ(times.kernels.size(), 3U);
  EXPECT_EQ(line_of(times, "one", "forward/attention").calls, 8);
  EXPECT_EQ(line_of(times, "two", "forward/attention").calls, 4);
  EXPECT_EQ(line_of(times, "one", "optimiser").calls, 2);
  double sum = 0;
  for (std::size_t i = 0; i < times.kernels.size(); ++i) {
    EXPECT_GT(times.kernels[i].seconds, 0);
    EXPECT_EQ(times.kernels[i].operations, 0);
    EXPECT_LE(times.kernels[i].seconds, times.kernels[std::max<std::size_t>(i, 1) - 1].seconds);
    sum += times.kernels[i].seconds;
  }
  EXPECT_LT(sum, times.seconds);
  EXPECT_EQ(times.operations_per_second, 1e9);
}

TEST(Profile, AProductIsOneKernelWithItsOperations) {
  const int n = 40;
  const Kokkos::View<double*, Memory> a("a", n * n), b("b", n * n), c("c", 2 * n * n);
  const Profile profile(0, 1e9);
  {
    const Region region("ffn");
    // Products that interleave, which a thread each may do inside a kernel.
    gemm<double>({n, n, n}, {a.data(), n}, {b.data(), n}, {c.data(), n});
    gemm<double>({n, n, n, 2}, {a.data(), n}, {b.data(), n}, {c.data(), n, n * n});
    kernel("after");
  }
  const KernelTimes times = profile.kernel_times();
  EXPECT_EQ(times.kernels.size(), 2U);
  EXPECT_EQ(line_of(times, "ridgeline::gemm", "ffn").calls, 2);
  EXPECT_EQ(line_of(times, "ridgeline::gemm", "ffn").operations, 3 * 2.0 * n * n * n);
  EXPECT_EQ(line_of(times, "after", "ffn").operations, 0);
}

TEST(Profile, ADeepCopyIsOneKernel) {
  const Kokkos::View<double*, Memory> a("a", 100);
  const Profile profile(0, 1e9);
  Kokkos::deep_copy(a, 3);  // by a kernel of Kokkos
  const KernelTimes times = profile.kernel_times();
  ASSERT_EQ(times.kernels.size(), 1U);
  EXPECT_EQ(times.kernels[0].name, "deep copy to a");
  EXPECT_EQ(times.kernels[0].place, "");
}

TEST(Profile, TracesFromTheFirstStepToTheLastThatWasAskedFor) {
  const Profile profile(2, 1e9);
  const Region epoch("epoch");
  kernel("before");
  for (int i = 0; i < 4; ++i) {
    {
      const Region step("step"), inner("forward");
      kernel("work \\");
    }
    const Region region("evaluation");
    kernel("between");
  }
  const std::string trace = trace_of(profile);
  EXPECT_EQ(count(trace, "\"name\":\"before\",\"ts\""), 0);
  EXPECT_EQ(count(trace, "\"name\":\"step\",\"ts\""), 2);
  EXPECT_EQ(count(trace, "\"name\":\"forward\",\"ts\""), 2);
  EXPECT_EQ(count(trace, "\"name\":\"work \\\\\",\"ts\""), 2);
  EXPECT_EQ(count(trace, "\"name\":\"between\",\"ts\""), 1);
  EXPECT_EQ(count(trace, "\"name\":\"epoch\",\"ts\""), 1);  // open still
  EXPECT_EQ(count(trace, "Ridgeline: a \\\"title\\\""), 1);
  EXPECT_EQ(line_of(profile.kernel_times(), "work \\", "forward").calls, 4);
}

TEST(Profile, TracesAShorterRunWhole) {
  const Profile profile(100, 1e9);
  const Region step("step");
  kernel("work");
  const std::string trace = trace_of(profile);
  EXPECT_EQ(count(trace, "\"name\":\"step\",\"ts\""), 1);
  EXPECT_EQ(count(trace, "\"name\":\"work\",\"ts\""), 1);
}

TEST(Profile, OutlivesRegionsThatDoNotBalance) {
  const Profile profile(1, 1e9);
  Kokkos::Profiling::popRegion();  // nothing is open
  {
    const Region region("layer");
    Kokkos::Profiling::pushRegion("left open");
    kernel("inside");
  }
  Kokkos::Profiling::popRegion();
  kernel("outside");
  const KernelTimes times = profile.kernel_times();
  EXPECT_EQ(line_of(times, "inside", "layer/left open").calls, 1);
  EXPECT_EQ(line_of(times, "outside", "").calls, 1);
}

TEST(Profile, ReadsBackFromAFile) {
  const test::TemporaryFolder folder;
  KernelTimes times;
  times.seconds = 12.5;
  times.operations_per_second = 1e11;
  times.kernels = {{"ridgeline::gemm", "forward/ffn", 7, 3.25, 1e9}, {"ridgeline::adam/step", "optimiser", 3, 0.5, 0}};
  hdf5::write_atomically(folder / "results.h5", [&](hdf5::File& file) { write_kernel_times(file, times); });
  hdf5::write_atomically(folder / "without.h5", [&](hdf5::File& file) { file.make_group("time"); });
  const KernelTimes read = read_kernel_times(hdf5::File::open(folder / "results.h5"));
  EXPECT_EQ(read.seconds, times.seconds);
  EXPECT_EQ(read.operations_per_second, times.operations_per_second);
  ASSERT_EQ(read.kernels.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(read.kernels[i].name, times.kernels[i].name);
    EXPECT_EQ(read.kernels[i].place, times.kernels[i].place);
    EXPECT_EQ(read.kernels[i].calls, times.kernels[i].calls);
    EXPECT_EQ(read.kernels[i].seconds, times.kernels[i].seconds);
    EXPECT_EQ(read.kernels[i].operations, times.kernels[i].operations);
  }
  EXPECT_TRUE(read_kernel_times(hdf5::File::open(folder / "without.h5")).kernels.empty());
}

TEST(Profile, TableFoldsWhatIsSmall) {
  KernelTimes times;
  times.seconds = 10;
  times.operations_per_second = 100e9;
  times.kernels = {
      {"large", "ffn", 4, 5, 200e9}, {"medium", "loss", 4, 0.5, 0}, {"a", "x", 2, 0.06, 0}, {"b", "x", 1, 0.03, 1}};
  const std::string table = kernel_table(times);
  EXPECT_EQ(table,
            "kernel, in           calls     seconds    share  GFLOP/s  of GEMM\n"
            "large, ffn               4      5.0000   50.0 %     40.0     40 %\n"
            "medium, loss             4      0.5000    5.0 %\n"
            "other kernels            3      0.0900    0.9 %\n"
            "outside kernels                 4.4100   44.1 %\n"
            "a large matrix product here: 100.0 GFLOP/s");
}

}  // namespace
}  // namespace ridgeline

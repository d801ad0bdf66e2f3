#include "data/data_set.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

namespace ridgeline {
namespace {

std::unique_ptr<Task> sine(const std::map<std::string, std::string>& texts) {
  const TaskEntry& entry = TaskRegistry::instance().get("sine");
  const OptionValues values = OptionValues::from(entry.options, texts, "data");
  return entry.make(values, values, 1, "data/train", nullptr);
}

template <class ViewType>
std::vector<double> on_host(const ViewType& view) {
  const auto copied = host_copy(view);
  return {copied.begin(), copied.end()};
}

template <class Scalar>
void expect_made_by_the_task(std::uint64_t first) {
  const auto task = sine({{"functions", "37"}, {"x", "-1 1 0.1"}});
  DataSet<Scalar> set("train", *task);
  set.fill(*task, first);
  EXPECT_EQ(set.samples(), 37);
  EXPECT_EQ(set.tokens(), 20);
  EXPECT_EQ(set.channels(), 2);
  EXPECT_EQ(set.targets(), 1);
  const std::vector<double> inputs = on_host(set.inputs()), targets = on_host(set.target_values()),
                            shown = on_host(set.shown());
  for (std::size_t i = 0; i < 37; ++i) {
    std::vector<double> in(40), out(20);
    std::vector<std::uint8_t> mask(20);
    task->make(first + i, in.data(), out.data(), mask.data());
    for (std::size_t j = 0; j < 40; ++j) ASSERT_EQ(inputs[i * 40 + j], static_cast<Scalar>(in[j]));
    for (std::size_t j = 0; j < 20; ++j) ASSERT_EQ(targets[i * 20 + j], static_cast<Scalar>(out[j]));
    for (std::size_t j = 0; j < 20; ++j) ASSERT_EQ(shown[i * 20 + j], mask[j]);
  }
}

// The task makes a sample from its number alone: on any number of threads the set is this.
TEST(DataSet, HoldsTheTasksSamplesRounded) {
  expect_made_by_the_task<float>(0);
  expect_made_by_the_task<double>(0);
}

TEST(DataSet, CanBeMadeAgainFromOtherSamples) {
  expect_made_by_the_task<float>(37);
  expect_made_by_the_task<double>(std::uint64_t{1} << 40);
}

TEST(Batch, GathersSamplesInTheOrderGiven) {
  const auto task = sine({{"functions", "11"}, {"x", "0 7 1"}, {"mask_channel", "yes"}});
  DataSet<float> set("train", *task);
  set.fill(*task, 0);
  const std::vector<int> order = {3, 10, 0, 3, 7, 1, 2, 9, 8, 6, 5};
  Kokkos::View<int*, Memory> on_device("order", order.size());
  const auto host = Kokkos::create_mirror_view(on_device);
  std::copy(order.begin(), order.end(), host_pointer(host));
  Kokkos::deep_copy(on_device, host);
  const std::vector<double> inputs = on_host(set.inputs()), targets = on_host(set.target_values()),
                            shown = on_host(set.shown());
  Batch<float> batch(set, 4);
  for (const auto& [first, count] : {std::pair{0, 4}, std::pair{4, 4}, std::pair{8, 3}}) {
    batch.gather(set, on_device, first, count);
    EXPECT_EQ(shape_of(batch.inputs()), (Shape{count, 7}));
    EXPECT_EQ(batch.inputs().extent(2), 3U);
    EXPECT_EQ(batch.targets().extent(2), 1U);
    const std::vector<double> in = on_host(batch.inputs()), out = on_host(batch.targets()),
                              mask = on_host(batch.shown());
    for (std::size_t b = 0; b < static_cast<std::size_t>(count); ++b) {
      const auto sample = static_cast<std::size_t>(order[static_cast<std::size_t>(first) + b]);
      for (std::size_t j = 0; j < 21; ++j) ASSERT_EQ(in[b * 21 + j], inputs[sample * 21 + j]);
      for (std::size_t j = 0; j < 7; ++j) ASSERT_EQ(out[b * 7 + j], targets[sample * 7 + j]);
      for (std::size_t j = 0; j < 7; ++j) ASSERT_EQ(mask[b * 7 + j], shown[sample * 7 + j]);
    }
  }
}

TEST(Shuffled, IsAPermutationThatDiffersByEpochAndSeed) {
  for (const int count : {1, 2, 3, 10, 1000}) {
    std::vector<int> sorted(static_cast<std::size_t>(count));
    std::iota(sorted.begin(), sorted.end(), 0);
    for (std::uint64_t epoch = 0; epoch < 5; ++epoch) {
      std::vector<int> order = shuffled(count, 1, epoch);
      EXPECT_EQ(order, shuffled(count, 1, epoch));
      if (count >= 10) {
        EXPECT_NE(order, sorted);
        EXPECT_NE(order, shuffled(count, 1, epoch + 1));
        EXPECT_NE(order, shuffled(count, 2, epoch));
      }
      std::sort(order.begin(), order.end());
      EXPECT_EQ(order, sorted);
    }
  }
}

TEST(Shuffled, EveryOrderIsAsLikely) {
  std::map<std::vector<int>, int> counts;
  constexpr int epochs = 24000;
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) ++counts[shuffled(4, 1, epoch)];
  EXPECT_EQ(counts.size(), 24U);
  for (const auto& [order, count] : counts) EXPECT_NEAR(count, 1000, 4.5 * 31);
}

}  // namespace
}  // namespace ridgeline

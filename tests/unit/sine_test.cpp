// task = sine: the grid, the functions, and the points that are shown.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "data/task.hpp"

namespace ridgeline {
namespace {

using Texts = std::map<std::string, std::string>;

std::unique_ptr<Task> sine(const Texts& texts, std::uint64_t seed = 1, const std::string& purpose = "data/train") {
  const TaskEntry& entry = TaskRegistry::instance().get("sine");
  const OptionValues values = OptionValues::from(entry.options, texts, "data");
  return entry.make(values, values, seed, purpose, nullptr);
}

struct Sample {
  std::vector<double> inputs, targets;
  std::vector<std::uint8_t> shown;
};

Sample sample_of(const Task& task, std::uint64_t index) {
  const auto tokens = static_cast<std::size_t>(task.tokens());
  Sample sample;
  sample.inputs.resize(tokens * static_cast<std::size_t>(task.channels()));
  sample.targets.resize(tokens);
  sample.shown.resize(tokens, 9);
  task.make(index, sample.inputs.data(), sample.targets.data(), sample.shown.data());
  return sample;
}

int points(const std::string& x) { return sine({{"x", x}, {"context", "0"}})->tokens(); }

TEST(SineGrid, OfTheExperiment) {
  EXPECT_EQ(points("-6 6 0.1"), 120);
  EXPECT_EQ(points("-3 15 0.1"), 180);
  const auto task = sine({});
  const Sample sample = sample_of(*task, 0);
  for (std::size_t i = 0; i < 120; ++i) EXPECT_NEAR(sample.inputs[2 * i], -6 + 0.1 * static_cast<double>(i), 1e-12);
}

TEST(SineGrid, NoPointIsLostOrGainedToRounding) {
  // Decimal numbers, exactly: thousandths as whole numbers.
  const auto text = [](int thousandths) {
    const std::string sign = thousandths < 0 ? "-" : "", digits = std::to_string(std::abs(thousandths) % 1000);
    return sign + std::to_string(std::abs(thousandths) / 1000) + "." + std::string(3 - digits.size(), '0') + digits;
  };
  for (const int first : {-100000, -6000, -3000, -1001, -1, 0, 1, 700, 333, 99999})
    for (const int step : {1, 3, 7, 10, 50, 100, 125, 300, 333, 999, 1000})
      for (const int length : {1, 2, 3, 9, 10, 11, 99, 100, 119, 120, 121, 180, 999, 1000, 12000}) {
        const int expected = (length + step - 1) / step;
        ASSERT_EQ(points(text(first) + " " + text(first + length) + " " + text(step)), expected)
            << text(first) << " " << text(first + length) << " " << text(step);
      }
}

TEST(SineGrid, FarFromZeroAndFine) {
  EXPECT_EQ(points("1000000 1000001 0.1"), 10);
  EXPECT_EQ(points("1e9 1000000012 0.1"), 120);
  EXPECT_EQ(points("0 1 1e-7"), 10'000'000);
  EXPECT_EQ(points("0 0.70000001 1e-7"), 7'000'001);  // a tenth of a step beyond the last point: it counts
  EXPECT_EQ(points("-1e300 1e300 1e300"), 2);
}

TEST(SineGrid, LastIsLeftOut) {
  EXPECT_EQ(points("0 1 1"), 1);
  EXPECT_EQ(points("0 1 2"), 1);
  EXPECT_EQ(points("0 1.0001 1"), 2);
  EXPECT_EQ(points("0 0.3 0.1"), 3);
  EXPECT_EQ(points("0 1e-12 1"), 1);
}

TEST(Sine, TargetsAreTheFunction) {
  const auto task = sine({});
  for (std::uint64_t index = 0; index < 50; ++index) {
    const Sample sample = sample_of(*task, index);
    // α sin(x - γ) = a sin x + b cos x: a and b from two points foretell all others.
    const double x0 = sample.inputs[0], x1 = sample.inputs[2 * 10];
    const double determinant = std::sin(x0) * std::cos(x1) - std::cos(x0) * std::sin(x1);
    const double a = (sample.targets[0] * std::cos(x1) - sample.targets[10] * std::cos(x0)) / determinant;
    const double b = (std::sin(x0) * sample.targets[10] - std::sin(x1) * sample.targets[0]) / determinant;
    for (std::size_t i = 0; i < 120; ++i) {
      const double x = sample.inputs[2 * i];
      ASSERT_NEAR(sample.targets[i], a * std::sin(x) + b * std::cos(x), 1e-12);
    }
    const double amplitude = std::hypot(a, b);
    EXPECT_GE(amplitude, 0.1 - 1e-12);
    EXPECT_LT(amplitude, 5);
    const double phase = std::atan2(-b, a);
    EXPECT_GE(phase, -1e-12);
    EXPECT_LT(phase, 3.1415926535897932);
  }
}

TEST(Sine, ShownPointsAreDistinctAndInTheInput) {
  for (const int context : {0, 1, 4, 59, 119, 120}) {
    const auto task = sine({{"context", std::to_string(context)}});
    EXPECT_EQ(task->shown_tokens(), context);
    for (std::uint64_t index = 0; index < 30; ++index) {
      const Sample sample = sample_of(*task, index);
      EXPECT_EQ(std::count(sample.shown.begin(), sample.shown.end(), 1), context);
      EXPECT_EQ(std::count(sample.shown.begin(), sample.shown.end(), 0), 120 - context);
      for (std::size_t i = 0; i < 120; ++i)
        ASSERT_EQ(sample.inputs[2 * i + 1], sample.shown[i] != 0 ? sample.targets[i] : 0);
    }
  }
}

TEST(Sine, EachPointIsShownAsOften) {
  const auto task = sine({{"x", "0 12 1"}, {"context", "4"}});
  constexpr int functions = 30000;
  std::vector<int> counts(12);
  std::map<std::set<int>, int> pairs;  // of points shown together
  for (int index = 0; index < functions; ++index) {
    const Sample sample = sample_of(*task, static_cast<std::uint64_t>(index));
    for (int i = 0; i < 12; ++i) {
      counts[static_cast<std::size_t>(i)] += sample.shown[static_cast<std::size_t>(i)];
      for (int j = 0; j < i; ++j)
        if (sample.shown[static_cast<std::size_t>(i)] != 0 && sample.shown[static_cast<std::size_t>(j)] != 0)
          ++pairs[{i, j}];
    }
  }
  // Deviations of a binomial count: 4.5 of them are beyond chance for 12 and 66 counts.
  const auto expect_fair = [&](int count, double chance) {
    EXPECT_NEAR(count, functions * chance, 4.5 * std::sqrt(functions * chance * (1 - chance)));
  };
  for (const int count : counts) expect_fair(count, 4.0 / 12);
  EXPECT_EQ(pairs.size(), 66U);
  for (const auto& [pair, count] : pairs) expect_fair(count, 4.0 * 3 / (12 * 11));
}

/// Amplitude and phase of a function, from its values at 0 and π/2.
std::pair<double, double> amplitude_and_phase(const Task& task, std::uint64_t index) {
  const Sample sample = sample_of(task, index);
  const double a = sample.targets[1], b = sample.targets[0];
  return {std::hypot(a, b), std::atan2(-b, a)};
}

TEST(Sine, AmplitudeAndPhaseAreUniform) {
  const auto task =
      sine({{"x", "0 3 1.5707963267948966"}, {"amplitude", "5 10"}, {"phase", "0.5 1.5"}, {"context", "0"}});
  constexpr int functions = 20000;
  std::vector<int> amplitudes(10), phases(10);
  double product = 0;
  for (int index = 0; index < functions; ++index) {
    const auto [amplitude, phase] = amplitude_and_phase(*task, static_cast<std::uint64_t>(index));
    const double u = (amplitude - 5) / 5, w = phase - 0.5;
    ASSERT_GE(u, -1e-12);
    ASSERT_LT(u, 1);
    ASSERT_GE(w, -1e-12);
    ASSERT_LT(w, 1);
    ++amplitudes[static_cast<std::size_t>(std::clamp(u, 0.0, 0.999) * 10)];
    ++phases[static_cast<std::size_t>(std::clamp(w, 0.0, 0.999) * 10)];
    product += (u - 0.5) * (w - 0.5);
  }
  const double deviation = std::sqrt(functions * 0.1 * 0.9);
  for (const int count : amplitudes) EXPECT_NEAR(count, functions * 0.1, 4.5 * deviation);
  for (const int count : phases) EXPECT_NEAR(count, functions * 0.1, 4.5 * deviation);
  EXPECT_NEAR(product / functions, 0, 4.5 / 12 / std::sqrt(functions));  // one says nothing of the other
}

TEST(Sine, IntervalOfOneValue) {
  const auto task = sine({{"x", "0 3 1.5707963267948966"}, {"amplitude", "2 2"}, {"phase", "1 1"}, {"context", "0"}});
  for (std::uint64_t index = 0; index < 10; ++index) {
    const auto [amplitude, phase] = amplitude_and_phase(*task, index);
    EXPECT_NEAR(amplitude, 2, 1e-12);
    EXPECT_NEAR(phase, 1, 1e-12);
  }
}

TEST(Sine, ASampleDependsOnItsNumberSeedAndPurposeAlone) {
  const Sample one = sample_of(*sine({}), 7);
  EXPECT_EQ(one.targets, sample_of(*sine({{"functions", "3"}}), 7).targets);
  EXPECT_EQ(one.inputs, sample_of(*sine({}), 7).inputs);
  EXPECT_NE(one.targets, sample_of(*sine({}), 8).targets);
  EXPECT_NE(one.targets, sample_of(*sine({}, 2), 7).targets);
  EXPECT_NE(one.targets, sample_of(*sine({}, 1, "data/eval/id"), 7).targets);
  EXPECT_NE(one.shown, sample_of(*sine({}, 1, "data/eval/id"), 7).shown);
}

TEST(Sine, MaskChannel) {
  const auto task = sine({{"mask_channel", "yes"}});
  EXPECT_EQ(task->channels(), 3);
  EXPECT_EQ(task->channel_names(), (std::vector<std::string>{"x", "shown y", "shown"}));
  const Sample sample = sample_of(*task, 3);
  for (std::size_t i = 0; i < 120; ++i) EXPECT_EQ(sample.inputs[3 * i + 2], sample.shown[i]);
}

TEST(Sine, RefusesWhatMakesNoGrid) {
  for (const Texts& texts : std::vector<Texts>{{{"x", "1 -1 0.1"}},
                                               {{"x", "1 1 0.1"}},
                                               {{"x", "1 2 0"}},
                                               {{"x", "1 2 -1"}},
                                               {{"x", "0 1 1e-12"}},
                                               {{"x", "-1e308 1e308 1"}},
                                               {{"context", "121"}},
                                               {{"amplitude", "5 1"}},
                                               {{"phase", "2 1"}},
                                               {{"phase", "-1e308 1e308"}},
                                               {{"context", "4294967297"}}})
    EXPECT_THROW(sine(texts), Error);
}

TEST(Sine, LargestNumberIsThatOfItsSamples) {
  const auto task = sine({{"x", "-3 9 4"}, {"amplitude", "-7 2"}, {"context", "0"}});
  EXPECT_NO_THROW(task->check_magnitude(7, "a test"));
  EXPECT_THROW(task->check_magnitude(6.9, "a test"), Error);
  const auto grid = sine({{"x", "-3 9 4"}, {"amplitude", "0 1"}, {"context", "0"}});
  EXPECT_NO_THROW(grid->check_magnitude(5, "a test"));
  EXPECT_THROW(grid->check_magnitude(4.9, "a test"), Error);
}

TEST(Tasks, UnknownOneIsRefusedWithTheKnown) {
  try {
    TaskRegistry::instance().get("sin");
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("sine"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace ridgeline

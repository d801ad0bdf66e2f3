#include "train/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.hpp"
#include "support/subject.hpp"

namespace ridgeline {
namespace {

using support::to_device;
using support::to_host;

std::vector<double> numbers(std::size_t count, const char* purpose) {
  const RandomStream stream(1, purpose);
  std::vector<double> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = stream.normal(i);
  return list;
}

Kokkos::View<std::uint8_t*, Memory> mask_on_device(const std::vector<std::uint8_t>& mask) {
  Kokkos::View<std::uint8_t*, Memory> view("mask", mask.size());
  const auto host = Kokkos::create_mirror_view(view);
  std::copy(mask.begin(), mask.end(), host_pointer(host));
  Kokkos::deep_copy(view, host);
  return view;
}

std::vector<std::uint8_t> every_third(std::size_t tokens) {
  std::vector<std::uint8_t> mask(tokens);
  for (std::size_t i = 0; i < tokens; i += 3) mask[i] = 1;
  return mask;
}

struct Case {
  int batch, tokens, targets;
  std::size_t size() const { return static_cast<std::size_t>(batch) * tokens * targets; }
};

template <class Scalar>
struct Outcome {
  double loss = 0;
  std::vector<double> gradient;
};

template <class Scalar>
Outcome<Scalar> loss_of(const Case& shape, const std::vector<double>& prediction, const std::vector<double>& target,
                        const std::vector<std::uint8_t>& mask, double divisor) {
  const auto p = to_device<Scalar>(prediction), t = to_device<Scalar>(target);
  const Kokkos::View<Scalar*, Memory> g("gradient", shape.size());
  const auto shown = mask_on_device(mask);
  const Kokkos::View<double, Memory> result("loss");
  SquaredError<Scalar> squared_error(shape.batch * shape.tokens);
  squared_error(
      Tensor<const Scalar>(p.data(), shape.batch, shape.tokens, shape.targets),
      Tensor<const Scalar>(t.data(), shape.batch, shape.tokens, shape.targets),
      mask.empty() ? Matrix<const std::uint8_t>() : Matrix<const std::uint8_t>(shown.data(), shape.batch, shape.tokens),
      divisor, Tensor<Scalar>(g.data(), shape.batch, shape.tokens, shape.targets), result);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), result);
  return {*host_pointer(host), to_host<Scalar>(g)};
}

template <class Scalar>
void expect_plain_loss(const Case& shape, bool masked, double tolerance) {
  const std::vector<double> prediction = to_host<Scalar>(to_device<Scalar>(numbers(shape.size(), "prediction"))),
                            target = to_host<Scalar>(to_device<Scalar>(numbers(shape.size(), "target")));
  const auto tokens = static_cast<std::size_t>(shape.batch) * shape.tokens;
  const std::vector<std::uint8_t> mask = masked ? every_third(tokens) : std::vector<std::uint8_t>();
  const double divisor = 7.5;
  double expected = 0;
  const Outcome<Scalar> result = loss_of<Scalar>(shape, prediction, target, mask, divisor);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool left_out = masked && mask[i / static_cast<std::size_t>(shape.targets)] != 0;
    const double error = left_out ? 0 : prediction[i] - target[i];
    expected += error * error / divisor;
    ASSERT_NEAR(result.gradient[i], 2 * error / divisor, tolerance) << i;
    if (left_out) {
      ASSERT_EQ(result.gradient[i], 0);
    }
  }
  EXPECT_NEAR(result.loss, expected, tolerance * expected);
}

TEST(SquaredError, IsThePlainSum) {
  for (const Case& shape : {Case{1, 1, 1}, Case{3, 7, 2}, Case{8, 120, 1}, Case{5, 1001, 3}})
    for (const bool masked : {false, true}) {
      expect_plain_loss<double>(shape, masked, 1e-13);
      expect_plain_loss<float>(shape, masked, 1e-6);
    }
}

/// The mean of so many squared ones.
double loss_of_ones(const Loss<double>& loss, int samples, int tokens) {
  const auto count = static_cast<std::size_t>(samples) * tokens;
  const auto p = to_device<double>(std::vector<double>(count, 1)), t = to_device<double>(std::vector<double>(count));
  const Kokkos::View<double*, Memory> g("gradient", count);
  const Kokkos::View<double, Memory> result("loss");
  loss(Tensor<const double>(p.data(), samples, tokens, 1), Tensor<const double>(t.data(), samples, tokens, 1), {},
       static_cast<double>(count), Tensor<double>(g.data(), samples, tokens, 1), result);
  return *host_pointer(Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), result));
}

/// An epoch's last batch, of fewer rows, is cut into more chunks here: 251, not 250.
TEST(SquaredError, HasRoomForAnySmallerBatch) {
  const SquaredError<double> loss(50 * 120);
  for (const int samples : {50, 48, 1}) EXPECT_DOUBLE_EQ(loss_of_ones(loss, samples, 120), 1) << samples;
  EXPECT_THROW(loss_of_ones(SquaredError<double>(160), 161, 1), std::logic_error);
}

TEST(CrossEntropy, HasRoomForAnySmallerBatch) {
  const CrossEntropy<double> loss(50 * 120, 1);  // the one level is sure
  for (const int samples : {50, 48, 1}) EXPECT_EQ(loss_of_ones(loss, samples, 120), 0) << samples;
  EXPECT_THROW(loss_of_ones(CrossEntropy<double>(160, 1), 161, 1), std::logic_error);
}

TEST(SquaredError, NotANumberIsNotHidden) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(loss_of<float>({1, 2, 1}, {nan, 0}, {0, 0}, {}, 2).loss));
}

TEST(SquaredError, WhatIsLeftOutMayBeAnything) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Outcome<double> result = loss_of<double>({1, 2, 1}, {nan, 3}, {0, 1}, {1, 0}, 1);
  EXPECT_EQ(result.loss, 4);
  EXPECT_EQ(result.gradient[0], 0);
  EXPECT_EQ(result.gradient[1], 4);
}

TEST(SquaredError, SumsAreThePlainSumsOfEachSample) {
  const Case shape = {4, 25, 2};
  const std::vector<double> prediction = numbers(shape.size(), "prediction"), target = numbers(shape.size(), "target");
  const std::vector<std::uint8_t> mask = every_third(100);
  const auto p = to_device<double>(prediction), t = to_device<double>(target);
  const auto shown = mask_on_device(mask);
  const SampleSums sums("sums", 6);
  SquaredError<double>(0).sum(Tensor<const double>(p.data(), 4, 25, 2), Tensor<const double>(t.data(), 4, 25, 2),
                              Matrix<const std::uint8_t>(shown.data(), 4, 25), sums, 2);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums);
  const double* all = host_pointer(host);
  for (int b = 0; b < 4; ++b) {
    double hidden = 0, over_shown = 0, truth = 0;
    for (int i = 0; i < 50; ++i) {
      const std::size_t k = static_cast<std::size_t>(b) * 50 + static_cast<std::size_t>(i);
      (mask[k / 2] != 0 ? over_shown : hidden) += std::pow(prediction[k] - target[k], 2);
      truth += target[k] * target[k];
    }
    const double* row = all + static_cast<std::size_t>(b + 2) * sums_per_sample;
    EXPECT_NEAR(row[error_hidden], hidden, 1e-12);
    EXPECT_NEAR(row[error_shown], over_shown, 1e-12);
    EXPECT_NEAR(row[truth_square], truth, 1e-12);
  }
  for (int i = 0; i < 2 * sums_per_sample; ++i) EXPECT_EQ(all[i], 0);  // the samples before `first`
}

// --- the cross-entropy --------------------------------------------------------------------------------------------------

/// A batch of logits [B, N, T · L] and levels [B, N, T].
struct Levels {
  int batch, tokens, targets, levels;
  std::size_t count() const { return static_cast<std::size_t>(batch) * tokens * targets; }
  std::vector<double> truth() const {
    const RandomStream stream(2, "levels");
    std::vector<double> list(count());
    for (std::size_t i = 0; i < list.size(); ++i) list[i] = stream.below(i, static_cast<std::uint32_t>(levels));
    return list;
  }
};

template <class Scalar>
Outcome<Scalar> entropy_of(const Levels& shape, const std::vector<double>& logits, const std::vector<double>& truth,
                           const std::vector<std::uint8_t>& mask, double divisor) {
  const auto z = to_device<Scalar>(logits), t = to_device<Scalar>(truth);
  const Kokkos::View<Scalar*, Memory> g("gradient", logits.size());
  const auto shown = mask_on_device(mask);
  const Kokkos::View<double, Memory> result("loss");
  const int outputs = shape.targets * shape.levels;
  const CrossEntropy<Scalar> loss(shape.batch * shape.tokens, shape.levels);
  loss(
      Tensor<const Scalar>(z.data(), shape.batch, shape.tokens, outputs),
      Tensor<const Scalar>(t.data(), shape.batch, shape.tokens, shape.targets),
      mask.empty() ? Matrix<const std::uint8_t>() : Matrix<const std::uint8_t>(shown.data(), shape.batch, shape.tokens),
      divisor, Tensor<Scalar>(g.data(), shape.batch, shape.tokens, outputs), result);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), result);
  return {*host_pointer(host), to_host<Scalar>(g)};
}

/// Σ over entries not left out of log Σ exp(z) - z[truth], over the divisor, from the definition.
double plain_entropy(const Levels& shape, const std::vector<double>& logits, const std::vector<double>& truth,
                     const std::vector<std::uint8_t>& mask, double divisor) {
  double sum = 0;
  for (std::size_t i = 0; i < shape.count(); ++i) {
    if (!mask.empty() && mask[i / static_cast<std::size_t>(shape.targets)] != 0) continue;
    double exponentials = 0;
    const double* z = logits.data() + i * static_cast<std::size_t>(shape.levels);
    for (int level = 0; level < shape.levels; ++level) exponentials += std::exp(z[level]);
    sum += std::log(exponentials) - z[static_cast<std::size_t>(truth[i])];
  }
  return sum / divisor;
}

void expect_entropy(const Levels& shape, const std::vector<std::uint8_t>& mask) {
  const double divisor = 3.5, step = 1e-5;
  std::vector<double> logits = numbers(shape.count() * static_cast<std::size_t>(shape.levels), "logits");
  const std::vector<double> truth = shape.truth();
  const Outcome<double> result = entropy_of<double>(shape, logits, truth, mask, divisor);
  EXPECT_NEAR(result.loss, plain_entropy(shape, logits, truth, mask, divisor), 1e-12 * std::abs(result.loss));
  const Outcome<float> single = entropy_of<float>(shape, logits, truth, mask, divisor);
  EXPECT_NEAR(single.loss, result.loss, 1e-6 * result.loss);
  for (std::size_t i = 0; i < logits.size(); i += 7) {
    const double kept = logits[i];
    logits[i] = kept + step;
    const double above = plain_entropy(shape, logits, truth, mask, divisor);
    logits[i] = kept - step;
    const double below = plain_entropy(shape, logits, truth, mask, divisor);
    logits[i] = kept;
    ASSERT_NEAR(result.gradient[i], (above - below) / (2 * step), 1e-8) << i;
    ASSERT_NEAR(single.gradient[i], result.gradient[i], 1e-6) << i;
  }
}

TEST(CrossEntropy, IsThatOfTheDefinition) {
  expect_entropy({3, 20, 1, 17}, {});
  expect_entropy({2, 9, 3, 5}, {});
  expect_entropy({1, 1, 1, 1}, {});
  expect_entropy({3, 20, 2, 4}, every_third(60));
}

TEST(CrossEntropy, LargeLogitsAreNoTrouble) {
  for (const double shift : {1e4, -1e4, 3e38}) {
    const Outcome<float> result = entropy_of<float>({1, 2, 1, 2}, {shift, shift, shift, -shift}, {1, 0}, {}, 1);
    EXPECT_NEAR(result.gradient[0], 0.5, 1e-6);
    EXPECT_NEAR(result.gradient[1], -0.5, 1e-6);
    EXPECT_EQ(result.gradient[2], shift > 0 ? 0 : -1);
    EXPECT_FALSE(std::isnan(result.loss));
  }
}

TEST(CrossEntropy, NotANumberIsNotHidden) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(std::isnan(entropy_of<float>({1, 1, 1, 3}, {0, nan, 0}, {0}, {}, 1).loss));
  EXPECT_TRUE(std::isnan(entropy_of<float>({1, 1, 1, 3}, {nan, 0, 0}, {0}, {}, 1).loss));
}

TEST(CrossEntropy, MetricsAreMeansOverEveryLevel) {
  const Levels shape{4, 25, 2, 6};
  const std::vector<double> logits = numbers(shape.count() * 6, "logits"), truth = shape.truth();
  const auto z = to_device<double>(logits), t = to_device<double>(truth);
  const auto shown = mask_on_device(std::vector<std::uint8_t>(100));
  const SampleSums sums("sums", 5);
  const CrossEntropy<double> loss(0, 6);
  loss.sum(Tensor<const double>(z.data(), 4, 25, 12), Tensor<const double>(t.data(), 4, 25, 2),
           Matrix<const std::uint8_t>(shown.data(), 4, 25), sums, 1);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums);
  const Metrics metrics = loss.metrics(host_pointer(host) + sums_per_sample, {4, 25, 0, 2});
  double right_ones = 0;
  for (std::size_t i = 0; i < shape.count(); ++i) {
    const auto begin = logits.begin() + static_cast<std::ptrdiff_t>(6 * i);
    right_ones += std::max_element(begin, begin + 6) - begin == static_cast<std::ptrdiff_t>(truth[i]) ? 1 : 0;
  }
  const double expected = plain_entropy(shape, logits, truth, {}, 200);
  EXPECT_NEAR(metrics["cross_entropy"], expected, 1e-12);
  EXPECT_NEAR(metrics["bits_per_dimension"], expected / std::log(2.0), 1e-12);
  EXPECT_EQ(metrics["accuracy"], right_ones / 200);
  EXPECT_EQ(metrics.entries().front().first, main_metric(LossKind::cross_entropy));
}

}  // namespace
}  // namespace ridgeline

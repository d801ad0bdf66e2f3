// What the layers of plugins/ promise: right gradients, the contract of layer/layer.hpp, and sentences for mistakes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "cases.hpp"
#include "core/error.hpp"
#include "support/gradient_check.hpp"

namespace ridgeline::support {
namespace {

class PluginLayer : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(, PluginLayer, ::testing::ValuesIn(every_case), case_name);

Tokens some_x(const Case& one) { return random_tokens(one.shape, one.inputs, 21); }
Tokens some_dy(const Case& one) { return random_tokens(one.shape, one.outputs, 22); }

double largest_of(const std::map<std::string, std::vector<double>>& arrays) {
  double largest = 0;
  for (const auto& [name, values] : arrays)
    for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

void expect_same_bits(const Gradients& a, const Gradients& b) {
  EXPECT_EQ(a.y.values, b.y.values);
  EXPECT_EQ(a.dx.values, b.dx.values);
  EXPECT_EQ(a.parameters, b.parameters);
}

TEST_P(PluginLayer, GradientIsThatOfDifferences) {
  const auto layer = prepared<double>(GetParam());
  GradientCheck check;
  check.entries = 8;
  const GradientError worst = worst_gradient(*layer, some_x(GetParam()), some_dy(GetParam()), check);
  EXPECT_LT(worst.error, 1e-7) << worst.text();
}

TEST_P(PluginLayer, SingleIsNearDouble) {
  const Tokens x = some_x(GetParam()), dy = some_dy(GetParam());
  const Gradients expected = differentiate(*prepared<double>(GetParam()), x, dy);
  const Gradients computed = differentiate(*prepared<float>(GetParam()), x, dy);
  EXPECT_LT(relative_error(computed.y.values, expected.y.values), 2e-4);
  EXPECT_LT(relative_error(computed.dx.values, expected.dx.values), 2e-4);
  const double floor = 1e-3 * largest_of(expected.parameters);
  for (const auto& [name, gradient] : expected.parameters) {
    double difference = 0, own = floor;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      difference = std::max(difference, std::abs(computed.parameters.at(name)[i] - gradient[i]));
      own = std::max(own, std::abs(gradient[i]));
    }
    EXPECT_LE(difference, 2e-4 * own) << name;
  }
}

TEST_P(PluginLayer, AddsToGradientsAndToTheResidual) {
  const auto layer = prepared<double>(GetParam());
  const Tokens x = some_x(GetParam()), dy = some_dy(GetParam());
  const Tokens residual = random_tokens(GetParam().shape, GetParam().outputs, 23);
  const Gradients once = differentiate(*layer, x, dy);
  const Gradients twice = differentiate(*layer, x, dy, InputGradient::wanted, true);
  for (const auto& [name, gradient] : once.parameters) {
    std::vector<double> doubled = gradient;
    for (double& entry : doubled) entry *= 2;
    EXPECT_LT(relative_error(twice.parameters.at(name), doubled), 1e-12) << name;
  }
  EXPECT_EQ(twice.dx.values, once.dx.values);
  EXPECT_EQ(differentiate(*layer, x, dy, InputGradient::unwanted).parameters, once.parameters);
  std::vector<double> sum = once.y.values;
  std::transform(sum.begin(), sum.end(), residual.values.begin(), sum.begin(), std::plus<>());
  EXPECT_LT(relative_error(evaluate(*layer, x, residual).values, sum), 1e-14);
}

TEST_P(PluginLayer, SameBitsAlsoAfterAnotherShape) {
  const Case& one = GetParam();
  const Tokens x = some_x(one), dy = some_dy(one);
  const Gradients expected = differentiate(*prepared<double>(one), x, dy);
  const Shape larger{one.shape.batch + 2, one.shape.tokens + 3}, smaller{1, 2};
  const auto layer = prepared<double>(one, {larger, smaller});
  expect_same_bits(differentiate(*layer, x, dy), expected);
  for (const Shape& other : {larger, smaller}) {
    differentiate(*layer, random_tokens(other, one.inputs, 5), random_tokens(other, one.outputs, 6));
    expect_same_bits(differentiate(*layer, x, dy), expected);
  }
}

/// The values of one sample.
std::vector<double> sample_of(const Tokens& tokens, int sample) {
  const std::ptrdiff_t size = static_cast<std::ptrdiff_t>(tokens.shape.tokens) * tokens.channels;
  return {tokens.values.begin() + sample * size, tokens.values.begin() + (sample + 1) * size};
}

TEST_P(PluginLayer, SamplesDoNotSeeOneAnother) {
  Case one = GetParam();
  one.shape.batch = std::max(one.shape.batch, 2);
  const Shape alone{1, one.shape.tokens};
  const auto layer = prepared<double>(one, {alone});
  const Tokens x = some_x(one), dy = some_dy(one);
  const Gradients clean = differentiate(*layer, x, dy);
  for (const double poison : {100.0, std::numeric_limits<double>::quiet_NaN()}) {
    Tokens other = x;
    other.at(1, 0, 0) = poison;
    const Gradients poisoned = differentiate(*layer, other, dy);
    EXPECT_NE(sample_of(poisoned.y, 1), sample_of(clean.y, 1));
    EXPECT_EQ(sample_of(poisoned.y, 0), sample_of(clean.y, 0)) << poison;
    EXPECT_EQ(sample_of(poisoned.dx, 0), sample_of(clean.dx, 0)) << poison;
  }
  const Gradients by_itself =
      differentiate(*layer, {alone, one.inputs, sample_of(x, 1)}, {alone, one.outputs, sample_of(dy, 1)});
  EXPECT_LT(relative_error(by_itself.y.values, sample_of(clean.y, 1)), 1e-12);
  EXPECT_LT(relative_error(by_itself.dx.values, sample_of(clean.dx, 1)), 1e-12);
}

/// Each sample's tokens in another order: token i of the result is token order[i].
Tokens reordered(const Tokens& tokens, const std::vector<int>& order) {
  Tokens result = tokens;
  result.shape.tokens = static_cast<int>(order.size());
  result.values.clear();
  Tokens source = tokens;
  for (int sample = 0; sample < tokens.shape.batch; ++sample)
    for (const int token : order)
      for (int channel = 0; channel < tokens.channels; ++channel)
        result.values.push_back(source.at(sample, token, channel));
  return result;
}

TEST_P(PluginLayer, TokensMayComeInAnyOrder) {
  const auto layer = prepared<double>(GetParam());
  const Tokens x = some_x(GetParam()), dy = some_dy(GetParam());
  std::vector<int> order(GetParam().shape.tokens);
  std::iota(order.begin(), order.end(), 0);
  std::rotate(order.begin(), order.begin() + order.size() / 3, order.end());
  std::reverse(order.begin() + order.size() / 2, order.end());
  const Gradients straight = differentiate(*layer, x, dy);
  const Gradients moved = differentiate(*layer, reordered(x, order), reordered(dy, order));
  EXPECT_LT(relative_error(moved.y.values, reordered(straight.y, order).values), 1e-12);
  EXPECT_LT(relative_error(moved.dx.values, reordered(straight.dx, order).values), 1e-11);
}

TEST_P(PluginLayer, EachTokenTwiceChangesNothing) {
  const Case& one = GetParam();
  const auto layer = prepared<double>(one, {{one.shape.batch, 2 * one.shape.tokens}});
  std::vector<int> twice;
  for (int token = 0; token < one.shape.tokens; ++token) twice.insert(twice.end(), 2, token);
  const Tokens y = evaluate(*layer, some_x(one));
  EXPECT_LT(relative_error(evaluate(*layer, reordered(some_x(one), twice)).values, reordered(y, twice).values), 1e-12);
}

template <class Scalar>
void expect_finite(const Case& one, double size) {
  Tokens x = some_x(one);
  for (double& value : x.values) value *= size;
  const Gradients gradients = differentiate(*prepared<Scalar>(one), x, some_dy(one));
  const auto finite = [](double value) { return std::isfinite(value); };
  EXPECT_TRUE(std::all_of(gradients.y.values.begin(), gradients.y.values.end(), finite)) << size;
  EXPECT_TRUE(std::all_of(gradients.dx.values.begin(), gradients.dx.values.end(), finite)) << size;
  for (const auto& [name, values] : gradients.parameters)
    EXPECT_TRUE(std::all_of(values.begin(), values.end(), finite)) << name << " " << size;
}

TEST_P(PluginLayer, LargeAndTinyInputsGiveFiniteValues) {
  for (const double size : {1e10, 1e-40, 0.0}) {
    expect_finite<float>(GetParam(), size);
    expect_finite<double>(GetParam(), size == 1e-40 ? 1e-310 : size);
  }
}

/// With sharp weights most slices have next to none, down to sums that are 0.
TEST(Physics, GradientOfSharpSlicesIsThatOfDifferences) {
  const Case one{{"attention", "physics", {{"heads", "2"}, {"slices", "6"}}}, {2, 9}, 6, 5};
  for (const double log_temperature : {-2.0, -6.0}) {
    const auto layer = prepared<double>(one);
    auto& parameters = layer->parameters();
    parameters.set(*parameters.find("log_temperature"), {log_temperature, log_temperature + 0.5});
    GradientCheck check;
    check.entries = 12;
    const GradientError worst = worst_gradient(*layer, some_x(one), some_dy(one), check);
    EXPECT_LT(worst.error, 1e-7) << worst.text();
  }
}

TEST(Fourier, FrequenciesAreThoseOfTheOptions) {
  const auto case_of = [](const std::string& seed) {
    return Case{{"encoder", "fourier", {{"seed", seed}, {"coordinates", "2"}}}, {2, 7}, 3, 4};
  };
  const Tokens x = some_x(case_of("1"));
  // Whatever else is drawn: the same values of the parameters make the same layer.
  const auto layer = prepared<float>(case_of("5")), other = make_layer<float>(case_of("5").layer, 3, 4);
  other->prepare({x.shape});
  EXPECT_NE(evaluate(*other, x).values, evaluate(*layer, x).values);
  Kokkos::deep_copy(other->parameters().values(), layer->parameters().values());
  EXPECT_EQ(evaluate(*other, x).values, evaluate(*layer, x).values);
  EXPECT_NE(evaluate(*prepared<float>(case_of("6")), x).values, evaluate(*layer, x).values);
  ASSERT_EQ(layer->parameters().entries().size(), 2U);
  EXPECT_EQ(layer->parameters().entries().front().name, "weight");
}

std::string complaint_of(const LayerName& layer, int width) {
  try {
    make_layer<float>(layer, width, width);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    return error.what();
  }
  return "none";
}

void expect_within(const std::string& complaint, const std::string& sentence) {
  EXPECT_NE(complaint.find(sentence), std::string::npos) << complaint;
}

TEST(PluginOptions, AreHeldAgainstTheWidth) {
  for (const std::string name : {"galerkin", "physics"})
    expect_within(complaint_of({"attention", name, {{"heads", "4"}}}, 10),
                  "[attention." + name +
                      "] heads = 4 does not divide the width of 10, which the heads share; it takes a divisor of it");
  expect_within(complaint_of({"attention", "physics", {{"heads", "65536"}, {"slices", "65536"}}}, 65536),
                "slices = 65536 makes, with 65536 heads, more weights of a token than can be indexed; it takes at most "
                "32767");
  expect_within(complaint_of({"encoder", "fourier", {{"coordinates", "3"}}}, 2),
                "[encoder.fourier] coordinates = 3 is more than the channels of a token; it takes at most 2");
}

}  // namespace
}  // namespace ridgeline::support

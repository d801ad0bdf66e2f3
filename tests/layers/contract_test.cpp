// What every layer promises (layer/layer.hpp), whatever it computes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cases.hpp"
#include "support/gradient_check.hpp"

namespace ridgeline::support {
namespace {

class LayerContract : public ::testing::TestWithParam<LayerName> {};
INSTANTIATE_TEST_SUITE_P(, LayerContract, ::testing::ValuesIn(every_variation()), test_name);

const Sizes sizes{{3, 19}, 9, 5};

Tokens some_x(const Sizes& of = sizes) { return random_tokens(of.shape, of.inputs, 21); }
Tokens some_dy(const Sizes& of = sizes) { return random_tokens(of.shape, of.outputs, 22); }

/// max |a - b| / max |b|
double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    difference = std::max(difference, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return largest > 0 ? difference / largest : difference;
}

void expect_same_bits(const Gradients& a, const Gradients& b) {
  EXPECT_EQ(a.y.values, b.y.values);
  EXPECT_EQ(a.dx.values, b.dx.values);
  EXPECT_EQ(a.parameters, b.parameters);
}

TEST_P(LayerContract, BackwardAddsToParameterGradients) {
  const auto layer = prepared_layer<double>(GetParam(), sizes);
  const Gradients once = differentiate(*layer, some_x(), some_dy());
  const Gradients twice = differentiate(*layer, some_x(), some_dy(), InputGradient::wanted, true);
  for (const auto& [name, gradient] : once.parameters) {
    std::vector<double> doubled = gradient;
    for (double& entry : doubled) entry *= 2;
    EXPECT_LT(relative_error(twice.parameters.at(name), doubled), 1e-12) << name;
  }
  EXPECT_EQ(twice.dx.values, once.dx.values);
}

TEST_P(LayerContract, ResidualIsAdded) {
  const auto layer = prepared_layer<double>(GetParam(), sizes);
  const Tokens residual = random_tokens(sizes.shape, sizes.outputs, 23);
  Tokens expected = evaluate(*layer, some_x());
  for (std::size_t i = 0; i < expected.values.size(); ++i) expected.values[i] += residual.values[i];
  EXPECT_LT(relative_error(evaluate(*layer, some_x(), residual).values, expected.values), 1e-14);
}

TEST_P(LayerContract, InputGradientMayBeUnwanted) {
  const auto layer = prepared_layer<double>(GetParam(), sizes);
  const Gradients with = differentiate(*layer, some_x(), some_dy());
  const Gradients without = differentiate(*layer, some_x(), some_dy(), InputGradient::unwanted);
  EXPECT_EQ(with.parameters, without.parameters);
}

TEST_P(LayerContract, SameBitsAlsoAfterAnotherShape) {
  const Sizes larger{{4, 41}, sizes.inputs, sizes.outputs}, smaller{{1, 2}, sizes.inputs, sizes.outputs};
  const auto alone = prepared_layer<double>(GetParam(), sizes);
  const Gradients expected = differentiate(*alone, some_x(), some_dy());
  expect_same_bits(differentiate(*alone, some_x(), some_dy()), expected);

  const auto layer = make_layer<double>(GetParam(), sizes.inputs, sizes.outputs);
  layer->prepare({larger.shape, sizes.shape, smaller.shape});
  randomise(layer->parameters(), 1);
  for (const Sizes& other : {larger, smaller}) {
    differentiate(*layer, some_x(other), some_dy(other));
    expect_same_bits(differentiate(*layer, some_x(), some_dy()), expected);
  }
}

TEST_P(LayerContract, SingleIsNearDouble) {
  const auto in_double = prepared_layer<double>(GetParam(), sizes);
  const auto in_single = prepared_layer<float>(GetParam(), sizes);
  const Gradients expected = differentiate(*in_double, some_x(), some_dy());
  const Gradients computed = differentiate(*in_single, some_x(), some_dy());
  EXPECT_LT(relative_error(computed.y.values, expected.y.values), 2e-4);
  EXPECT_LT(relative_error(computed.dx.values, expected.dx.values), 2e-4);
  double largest = 0;
  for (const auto& [name, gradient] : expected.parameters)
    for (const double entry : gradient) largest = std::max(largest, std::abs(entry));
  for (const auto& [name, gradient] : expected.parameters) {
    double difference = 0, own = 1e-3 * largest;
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      difference = std::max(difference, std::abs(computed.parameters.at(name)[i] - gradient[i]));
      own = std::max(own, std::abs(gradient[i]));
    }
    EXPECT_LE(difference, 2e-4 * own) << name;
  }
}

/// The values of one sample.
std::vector<double> sample_of(const Tokens& tokens, int sample) {
  const auto begin =
      tokens.values.begin() + static_cast<std::ptrdiff_t>(sample) * tokens.shape.tokens * tokens.channels;
  return {begin, begin + static_cast<std::ptrdiff_t>(tokens.shape.tokens) * tokens.channels};
}

TEST_P(LayerContract, SamplesDoNotSeeOneAnotherNorItsNaN) {
  const auto layer = prepared_layer<double>(GetParam(), sizes);
  const Gradients clean = differentiate(*layer, some_x(), some_dy());
  for (const double poison : {100.0, std::numeric_limits<double>::quiet_NaN()}) {
    Tokens x = some_x();
    x.at(1, 4, 2) = poison;
    const Gradients poisoned = differentiate(*layer, x, some_dy());
    EXPECT_NE(sample_of(poisoned.y, 1), sample_of(clean.y, 1));
    for (const int sample : {0, 2}) {
      EXPECT_EQ(sample_of(poisoned.y, sample), sample_of(clean.y, sample)) << poison;
      EXPECT_EQ(sample_of(poisoned.dx, sample), sample_of(clean.dx, sample)) << poison;
    }
  }
}

TEST_P(LayerContract, SmallerShapesFitWhereTheLargestDid) {
  const BareLayer<double> bare(GetParam(), sizes.inputs, sizes.outputs);
  const auto bytes_for = [&](const Shape& shape) {
    Arena arena;
    bare.layer->reserve(shape, arena);
    return arena.bytes();
  };
  EXPECT_LE(bytes_for({2, 300}), bytes_for({4, 300}));
  EXPECT_LE(bytes_for({4, 150}), bytes_for({4, 300}));
  EXPECT_GT(bytes_for({1, 1}), 0U);
}

TEST_P(LayerContract, OperationsArePositiveAndProportionalToTheBatch) {
  const BareLayer<double> bare(GetParam(), sizes.inputs, sizes.outputs);
  const Operations one = bare.layer->operations({1, 700}), three = bare.layer->operations({3, 700}),
                   five = bare.layer->operations({5, 700});
  EXPECT_GT(one.forward, 0);
  EXPECT_GT(one.backward, one.forward);
  // But for what is done once a call (folding weights).
  EXPECT_NEAR(five.forward - three.forward, three.forward - one.forward, 1e-9 * five.forward);
  EXPECT_NEAR(five.backward - three.backward, three.backward - one.backward, 1e-9 * five.backward);
}

}  // namespace
}  // namespace ridgeline::support

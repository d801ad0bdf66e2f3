// The flat buffers of parameters, and their initial values.
#include "core/parameters.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "math/linear.hpp"

namespace ridgeline {
namespace {

std::vector<double> values_of(const Parameters<double>& parameters, const std::string& name) {
  return parameters.get(*parameters.find(name));
}

TEST(Parameters, LieApartInOneBuffer) {
  Parameters<float> parameters;
  Parameter<float> a, b;
  const ParameterScope<float> scope(parameters, "blocks.0");
  scope.declare(a, "weight", {3, 5}, Initial::constant(2));
  scope.inside("norm1").declare(b, "bias", {7}, Initial::constant(-1));
  parameters.allocate();
  EXPECT_EQ(parameters.count(), 22U);
  ASSERT_EQ(parameters.entries().size(), 2U);
  EXPECT_EQ(parameters.entries()[1].name, "blocks.0.norm1.bias");
  EXPECT_EQ(a.rows(), 3);
  EXPECT_EQ(a.columns(), 5);
  EXPECT_GE(b.value.data(), a.value.data() + 15);
  EXPECT_EQ(b.value.data() - parameters.values().data(), b.gradient.data() - parameters.gradients().data());
  EXPECT_LE(b.value.data() + 7, parameters.values().data() + parameters.values().extent(0));
}

TEST(Parameters, AreSetAndGotByName) {
  Parameters<double> parameters;
  Parameter<double> a, b;
  parameters.declare(a, "a", {2, 2}, Initial::constant(0));
  parameters.declare(b, "b", {1}, Initial::constant(0.5));
  parameters.allocate();
  parameters.initialise(1);
  parameters.set(*parameters.find("a"), {1, 2, 3, 4});
  EXPECT_EQ(values_of(parameters, "a"), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(values_of(parameters, "b"), (std::vector<double>{0.5}));
  EXPECT_EQ(parameters.get_gradient(*parameters.find("a")), (std::vector<double>(4, 0.0)));
  EXPECT_EQ(parameters.find("c"), nullptr);
  EXPECT_THROW(parameters.set(*parameters.find("a"), {1, 2, 3}), std::logic_error);
}

TEST(Parameters, RefuseATakenName) {
  Parameters<double> parameters;
  Parameter<double> a, b;
  parameters.declare(a, "head.weight", {2}, Initial::constant(0));
  EXPECT_THROW(ParameterScope<double>(parameters, "head").declare(b, "weight", {2}, Initial::constant(0)),
               std::logic_error);
}

TEST(Parameters, RefuseWhatIsNoShapeOrNoNumber) {
  Parameters<double> parameters;
  Parameter<double> a;
  EXPECT_THROW(parameters.declare(a, "a", {2, -3}, Initial::constant(0)), std::logic_error);
  EXPECT_THROW(parameters.declare(a, "a", {2}, Initial::uniform(0, std::nan(""))), std::logic_error);
  parameters.declare(a, "a", {2, 0}, Initial::constant(0));
  EXPECT_EQ(parameters.count(), 0U);
}

TEST(Parameters, PaddingIsZero) {
  Parameters<double> parameters;
  Parameter<double> a, b;
  parameters.declare(a, "a", {3}, Initial::constant(1));
  parameters.declare(b, "b", {5}, Initial::constant(1));
  parameters.allocate();
  parameters.initialise(9);
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), parameters.values());
  double sum = 0;
  for (std::size_t i = 0; i < host.extent(0); ++i) sum += std::abs(host(i));
  EXPECT_EQ(sum, 8);
}

TEST(Parameters, LinearMapsStartUniformInOneOverRootInputs) {
  Parameters<double> parameters;
  const Linear<double> linear(ParameterScope<double>(parameters, ""), "head", 16, 500);
  parameters.allocate();
  parameters.initialise(2);
  for (const char* name : {"head.weight", "head.bias"}) {
    const std::vector<double> values = values_of(parameters, name);
    double square = 0, largest = 0, sum = 0;
    for (const double value : values) {
      sum += value;
      square += value * value;
      largest = std::max(largest, std::abs(value));
    }
    const double n = static_cast<double>(values.size());
    EXPECT_LE(largest, 0.25) << name;
    EXPECT_GT(largest, 0.24) << name;
    EXPECT_NEAR(sum / n, 0, 5 * 0.25 / std::sqrt(3 * n)) << name;
    EXPECT_NEAR(square / n, 0.0625 / 3, 0.004) << name;
  }
}

TEST(Parameters, NormalValuesHaveMeanAndDeviation) {
  Parameters<double> parameters;
  Parameter<double> a;
  parameters.declare(a, "a", {4000}, Initial::normal(5, 0.1));
  parameters.allocate();
  parameters.initialise(1);
  double sum = 0, square = 0;
  for (const double value : values_of(parameters, "a")) {
    sum += value;
    square += (value - 5) * (value - 5);
  }
  EXPECT_NEAR(sum / 4000, 5, 0.01);
  EXPECT_NEAR(square / 4000, 0.01, 0.002);
}

/// A parameter's values depend on seed, name and index only.
TEST(Parameters, InitialValuesDoNotDependOnOtherParameters) {
  const auto values_beside = [](int others, std::uint64_t seed) {
    Parameters<double> parameters;
    Parameter<double> a;
    std::vector<Parameter<double>> before(others);
    for (int i = 0; i < others; ++i)
      parameters.declare(before[i], "before." + std::to_string(i), {11}, Initial::uniform(0, 1));
    parameters.declare(a, "a", {9}, Initial::uniform(0, 1));
    parameters.allocate();
    parameters.initialise(seed);
    return values_of(parameters, "a");
  };
  EXPECT_EQ(values_beside(0, 1), values_beside(3, 1));
  EXPECT_NE(values_beside(0, 1), values_beside(0, 2));
}

TEST(Parameters, DifferentNamesStartDifferently) {
  Parameters<double> parameters;
  Parameter<double> a, b;
  parameters.declare(a, "a", {4}, Initial::uniform(0, 1));
  parameters.declare(b, "b", {4}, Initial::uniform(0, 1));
  parameters.allocate();
  parameters.initialise(1);
  EXPECT_NE(values_of(parameters, "a"), values_of(parameters, "b"));
}

TEST(Parameters, SingleIsDoubleRounded) {
  Parameters<double> in_double;
  Parameters<float> in_single;
  Parameter<double> a;
  Parameter<float> b;
  in_double.declare(a, "a", {50}, Initial::uniform(-1, 1));
  in_single.declare(b, "a", {50}, Initial::uniform(-1, 1));
  in_double.allocate();
  in_single.allocate();
  in_double.initialise(1);
  in_single.initialise(1);
  std::vector<double> rounded = values_of(in_double, "a");
  for (double& value : rounded) value = static_cast<float>(value);
  EXPECT_EQ(in_single.get(*in_single.find("a")), rounded);
}

}  // namespace
}  // namespace ridgeline

// The linear map's parts against plain loops.
#include "math/linear.hpp"

#include <gtest/gtest.h>

#include "matrix_support.hpp"

namespace ridgeline::support {
namespace {

template <class Scalar>
class LinearMap : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LinearMap, Scalars);

constexpr int inputs = 5, outputs = 3;

template <class Scalar>
struct Fixture {
  Fixture() : linear(ParameterScope<Scalar>(parameters, ""), "map", inputs, outputs) {
    parameters.allocate();
    parameters.set(*parameters.find("map.weight"), weight);
  }
  std::vector<double> weight = random_values(outputs * inputs, 1);
  Parameters<Scalar> parameters;
  Linear<Scalar> linear;
};

TYPED_TEST(LinearMap, Product) {
  for (const int rows : {1, 2, 37}) {
    const Fixture<TypeParam> f;
    const auto x = random_values(rows * inputs, 2);
    std::vector<double> expected(rows * outputs);
    for (int i = 0; i < rows; ++i)
      for (int o = 0; o < outputs; ++o)
        for (int j = 0; j < inputs; ++j) expected[i * outputs + o] += x[i * inputs + j] * f.weight[o * inputs + j];
    const Device<TypeParam> in(x), out(std::vector<double>(rows * outputs, NAN));
    f.linear.product(in.matrix(rows, inputs), out.matrix(rows, outputs));
    expect_near(out.host(), expected, rounding<TypeParam>);
    EXPECT_EQ(f.linear.operations(rows), 2.0 * rows * inputs * outputs);
  }
}

TYPED_TEST(LinearMap, WeightGradientIsAdded) {
  const int rows = 37;
  Fixture<TypeParam> f;
  const auto x = random_values(rows * inputs, 3), dy = random_values(rows * outputs, 4);
  std::vector<double> expected(outputs * inputs);
  for (int i = 0; i < rows; ++i)
    for (int o = 0; o < outputs; ++o)
      for (int j = 0; j < inputs; ++j) expected[o * inputs + j] += 2 * dy[i * outputs + o] * x[i * inputs + j];
  const Device<TypeParam> in(x), cotangent(dy);
  for (int time = 0; time < 2; ++time)
    f.linear.add_weight_gradient(in.matrix(rows, inputs), cotangent.matrix(rows, outputs));
  expect_near(f.parameters.get_gradient(*f.parameters.find("map.weight")), expected, rounding<TypeParam>);
}

TYPED_TEST(LinearMap, InputGradientIsWrittenOrAdded) {
  const int rows = 17;
  const Fixture<TypeParam> f;
  const auto dy = random_values(rows * outputs, 5);
  std::vector<double> expected(rows * inputs);
  for (int i = 0; i < rows; ++i)
    for (int o = 0; o < outputs; ++o)
      for (int j = 0; j < inputs; ++j) expected[i * inputs + j] += dy[i * outputs + o] * f.weight[o * inputs + j];
  const Device<TypeParam> cotangent(dy), dx(std::vector<double>(rows * inputs, NAN));
  f.linear.input_gradient(cotangent.matrix(rows, outputs), dx.matrix(rows, inputs));
  expect_near(dx.host(), expected, rounding<TypeParam>);
  f.linear.input_gradient(cotangent.matrix(rows, outputs), dx.matrix(rows, inputs), true);
  for (double& value : expected) value *= 2;
  expect_near(dx.host(), expected, rounding<TypeParam>);
}

}  // namespace
}  // namespace ridgeline::support

// LayerNorm against its formulas in double.
#include "math/layer_norm.hpp"

#include <gtest/gtest.h>

#include "matrix_support.hpp"

namespace ridgeline::support {
namespace {

template <class Scalar>
class LayerNormOf : public ::testing::Test {};
using Scalars = ::testing::Types<float, double>;
TYPED_TEST_SUITE(LayerNormOf, Scalars);

const std::vector<Size> sizes = {{1, 2}, {1, 7}, {5, 3}, {37, 33}, {300, 5}};

/// What the layer should give.
struct Plain {
  int rows, channels;
  std::vector<double> weight, bias, x, normalised, y, deviation;

  Plain(int row_count, int channel_count)
      : rows(row_count),
        channels(channel_count),
        weight(random_values(channels, 1)),
        bias(random_values(channels, 2)),
        x(random_values(static_cast<std::size_t>(rows) * channels, 3)),
        normalised(x.size()),
        y(x.size()),
        deviation(rows) {
    for (double& value : x) value = 3 + 2 * value;
    for (int i = 0; i < rows; ++i) {
      double mean = 0, variance = 0;
      for (int j = 0; j < channels; ++j) mean += x[at(i, j)] / channels;
      for (int j = 0; j < channels; ++j) variance += (x[at(i, j)] - mean) * (x[at(i, j)] - mean) / channels;
      deviation[i] = std::sqrt(variance + 1e-5);
      for (int j = 0; j < channels; ++j) {
        normalised[at(i, j)] = (x[at(i, j)] - mean) / deviation[i];
        y[at(i, j)] = normalised[at(i, j)] * weight[j] + bias[j];
      }
    }
  }

  std::size_t at(int row, int channel) const { return static_cast<std::size_t>(row) * channels + channel; }

  /// By the whole Jacobian of a row, d normalised_j / d x_k = (δ_jk - 1/C - normalised_j normalised_k / C) / deviation.
  std::vector<double> input_gradient(const std::vector<double>& dy) const {
    std::vector<double> dx(x.size());
    for (int i = 0; i < rows; ++i)
      for (int k = 0; k < channels; ++k)
        for (int j = 0; j < channels; ++j)
          dx[at(i, k)] += dy[at(i, j)] * weight[j] *
                          ((j == k) - 1.0 / channels - normalised[at(i, j)] * normalised[at(i, k)] / channels) /
                          deviation[i];
    return dx;
  }
};

template <class Scalar>
struct Fixture {
  explicit Fixture(const Plain& plain) : norm(ParameterScope<Scalar>(parameters, "norm"), plain.channels) {
    norm.reserve(plain.rows, arena);
    arena.allocate();
    arena.restart();
    norm.reserve(plain.rows, arena);
    parameters.allocate();
    parameters.set(*parameters.find("norm.weight"), plain.weight);
    parameters.set(*parameters.find("norm.bias"), plain.bias);
  }
  std::vector<double> gradient(const char* name) const { return parameters.get_gradient(*parameters.find(name)); }

  Parameters<Scalar> parameters;
  Arena arena;
  LayerNorm<Scalar> norm;
};

TYPED_TEST(LayerNormOf, Forward) {
  for (const auto& [rows, channels] : sizes) {
    const Plain plain(rows, channels);
    Fixture<TypeParam> f(plain);
    const Device<TypeParam> x(plain.x), y(std::vector<double>(plain.x.size(), NAN));
    f.norm.forward(x.matrix(rows, channels), y.matrix(rows, channels));
    expect_near(y.host(), plain.y, 10 * rounding<TypeParam>);
  }
}

TYPED_TEST(LayerNormOf, Backward) {
  for (const auto& [rows, channels] : sizes)
    for (const bool two : {false, true})
      for (const bool added : {false, true}) {
        const Plain plain(rows, channels);
        Fixture<TypeParam> f(plain);
        const auto first = random_values(plain.x.size(), 4), second = random_values(plain.x.size(), 5),
                   addend = random_values(plain.x.size(), 6);
        std::vector<double> dy = first, weight(channels), bias(channels);
        for (std::size_t i = 0; i < dy.size(); ++i) {
          if (two) dy[i] += second[i];
          weight[i % channels] += dy[i] * plain.normalised[i];
          bias[i % channels] += dy[i];
        }
        std::vector<double> dx = plain.input_gradient(dy);
        for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += added ? addend[i] : 0;

        const Device<TypeParam> x(plain.x), y(plain.x), d1(first), d2(second), plus(addend);
        f.norm.forward(x.matrix(rows, channels), y.matrix(rows, channels));
        Matrix<const TypeParam> second_view, addend_view;
        if (two) second_view = d2.matrix(rows, channels);
        if (added) addend_view = plus.matrix(rows, channels);
        // dx may be any of the three.
        const Device<TypeParam>& out = added ? plus : two ? d2 : d1;
        f.norm.backward(x.matrix(rows, channels), d1.matrix(rows, channels), second_view, addend_view,
                        out.matrix(rows, channels));
        const double tolerance = 100 * rounding<TypeParam> * plain.channels;
        expect_near(out.host(), dx, channels == 2 ? 100 * tolerance : tolerance);
        expect_near(f.gradient("norm.weight"), weight, tolerance);
        expect_near(f.gradient("norm.bias"), bias, tolerance);
      }
}

TYPED_TEST(LayerNormOf, BackwardAddsToGradients) {
  const Plain plain(5, 3);
  Fixture<TypeParam> f(plain);
  const Device<TypeParam> x(plain.x), y(plain.x), dy(random_values(15, 4)), dx(plain.x);
  f.norm.forward(x.matrix(5, 3), y.matrix(5, 3));
  f.norm.backward(x.matrix(5, 3), dy.matrix(5, 3), {}, {}, dx.matrix(5, 3));
  std::vector<double> doubled = f.gradient("norm.weight");
  for (double& value : doubled) value *= 2;
  f.norm.backward(x.matrix(5, 3), dy.matrix(5, 3), {}, {}, dx.matrix(5, 3));
  expect_near(f.gradient("norm.weight"), doubled, rounding<TypeParam>);
}

/// One that is constant has variance 0: the epsilon keeps it finite.
TYPED_TEST(LayerNormOf, ConstantRowGivesTheBias) {
  Plain plain(1, 4);
  Fixture<TypeParam> f(plain);
  const Device<TypeParam> x(std::vector<double>(4, 7.0)), y(plain.x);
  f.norm.forward(x.matrix(1, 4), y.matrix(1, 4));
  expect_near(y.host(), plain.bias, rounding<TypeParam>);
}

}  // namespace
}  // namespace ridgeline::support

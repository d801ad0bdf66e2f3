#include "train/adam.hpp"

#include <cmath>
#include <stdexcept>
#include <vector>

#include <gtest/gtest.h>

#include "core/random.hpp"
#include "support/subject.hpp"

namespace ridgeline {
namespace {

using support::to_device;
using support::to_host;

std::vector<double> numbers(std::size_t count, const char* purpose, double scale = 1) {
  const RandomStream stream(1, purpose);
  std::vector<double> list(count);
  for (std::size_t i = 0; i < count; ++i) list[i] = scale * stream.normal(i);
  return list;
}

double norm_of(const std::vector<double>& list) {
  double sum = 0;
  for (const double value : list) sum += value * value;
  return std::sqrt(sum);
}

/// torch.optim.Adam's single-tensor update, as its documentation writes it down.
struct PlainAdam {
  std::vector<double> m, v;
  void step(std::vector<double>& p, const std::vector<double>& g, int t, double rate) {
    m.resize(p.size());
    v.resize(p.size());
    for (std::size_t i = 0; i < p.size(); ++i) {
      m[i] = 0.9 * m[i] + 0.1 * g[i];
      v[i] = 0.999 * v[i] + 0.001 * g[i] * g[i];
      const double mean = m[i] / (1 - std::pow(0.9, t)), square = v[i] / (1 - std::pow(0.999, t));
      p[i] -= rate * mean / (std::sqrt(square) + 1e-8);
    }
  }
};

template <class Scalar>
void expect_plain_adam(std::size_t length, double scale, double tolerance) {
  std::vector<double> plain = to_host<Scalar>(to_device<Scalar>(numbers(length, "parameters")));
  const auto parameters = to_device<Scalar>(plain);
  Adam<Scalar> adam(length);
  PlainAdam reference;
  for (int t = 1; t <= 20; ++t) {
    const auto gradients = to_device<Scalar>(numbers(length, ("gradients" + std::to_string(t)).c_str(), scale));
    reference.step(plain, to_host<Scalar>(gradients), t, 1e-2);
    adam.step(parameters, gradients, t, 1e-2);
    for (const double gradient : to_host<Scalar>(gradients)) ASSERT_EQ(gradient, 0);
  }
  const std::vector<double> values = to_host<Scalar>(parameters), first = to_host<Scalar>(adam.first_moment()),
                            second = to_host<Scalar>(adam.second_moment());
  for (std::size_t i = 0; i < length; ++i) {
    ASSERT_NEAR(values[i], plain[i], tolerance * std::max(1.0, std::abs(plain[i]))) << i;
    ASSERT_NEAR(first[i], reference.m[i], tolerance * scale) << i;
    ASSERT_NEAR(second[i], reference.v[i], tolerance * scale * scale) << i;
  }
}

TEST(Adam, IsThePlainOne) {
  for (const std::size_t length : {1, 63, 64, 4096, 4097, 10000}) {
    expect_plain_adam<double>(length, 1, 1e-12);
    expect_plain_adam<float>(length, 1, 1e-5);
  }
}

TEST(Adam, HoldsForSmallAndLargeGradients) {
  expect_plain_adam<double>(100, 1e-9, 1e-12);  // beside epsilon
  expect_plain_adam<float>(100, 1e-9, 1e-4);
  expect_plain_adam<float>(100, 1e12, 1e-5);
}

TEST(Adam, FirstStepHasTheSizeOfTheRate) {
  // By the bias correction: mean/√square = ±1 whatever the gradient, epsilon aside.
  const auto parameters = to_device<double>({1, 1, 1}), gradients = to_device<double>({5, -0.01, 0});
  Adam<double> adam(3);
  adam.step(parameters, gradients, 1, 0.1);
  const std::vector<double> values = to_host<double>(parameters);
  EXPECT_NEAR(values[0], 0.9, 1e-8);
  EXPECT_NEAR(values[1], 1.1, 1e-6);
  EXPECT_EQ(values[2], 1);
}

TEST(Adam, KnownValuesOfPyTorch) {
  // θ = θ - 1e-3·m̂/(√v̂ + 1e-8) by hand for g = 1, -2, 0.5.
  const auto parameters = to_device<double>({0.5});
  Adam<double> adam(1);
  const double g[] = {1, -2, 0.5};
  for (int t = 1; t <= 3; ++t) adam.step(parameters, to_device<double>({g[t - 1]}), t, 1e-3);
  // m: 0.1, -0.11, -0.049; v: 1e-3, 4.999e-3, 5.244001e-3
  double expected = 0.5;
  expected -= 1e-3 * 1 / (1 + 1e-8);
  expected -= 1e-3 * (-0.11 / 0.19) / (std::sqrt(4.999e-3 / 1.999e-3) + 1e-8);
  expected -= 1e-3 * (-0.049 / 0.271) / (std::sqrt(5.244001e-3 / 2.997001e-3) + 1e-8);
  EXPECT_NEAR(to_host<double>(parameters)[0], expected, 1e-15);
}

TEST(Adam, PaddingStaysZero) {
  std::vector<double> values = numbers(200, "parameters"), gradients = numbers(200, "gradients");
  for (std::size_t i = 100; i < 164; ++i) values[i] = gradients[i] = 0;
  const auto parameters = to_device<float>(values);
  Adam<float> adam(200);
  for (int t = 1; t <= 5; ++t) adam.step(parameters, to_device<float>(gradients), t, 1e-2, t % 2 == 0 ? 1e-3 : 0);
  const std::vector<double> after = to_host<float>(parameters), first = to_host<float>(adam.first_moment());
  for (std::size_t i = 100; i < 164; ++i) {
    EXPECT_EQ(after[i], 0);
    EXPECT_EQ(first[i], 0);
  }
}

template <class Scalar>
void expect_clipped(std::size_t length, double tolerance) {
  const std::vector<double> gradients = numbers(length, "gradients", 3);
  const double norm = norm_of(gradients);
  for (const double limit : {norm / 7, norm * 2}) {
    const auto parameters = to_device<Scalar>(std::vector<double>(length));
    Adam<Scalar> adam(length);
    adam.step(parameters, to_device<Scalar>(gradients), 1, 1e-3, limit);
    const auto measured = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), adam.norm());
    EXPECT_NEAR(*host_pointer(measured), norm, tolerance * norm);
    std::vector<double> first = to_host<Scalar>(adam.first_moment());
    const double scale = limit < norm ? limit / norm : 1;
    for (std::size_t i = 0; i < length; ++i)
      ASSERT_NEAR(first[i], 0.1 * scale * gradients[i], 10 * tolerance * std::abs(gradients[i])) << i;
    EXPECT_NEAR(norm_of(first) * 10, std::min(limit, norm), 10 * tolerance * norm);
  }
}

TEST(Adam, LimitsTheNormOfAllGradients) {
  for (const std::size_t length : {1, 100, 4096, 9000}) {
    expect_clipped<double>(length, 1e-13);
    expect_clipped<float>(length, 1e-6);
  }
}

TEST(Adam, NormIsMeasuredInDouble) {
  // The squares of these gradients are beyond single precision.
  const auto gradients = to_device<float>({3e25, 4e25});
  Adam<float> adam(2);
  adam.step(to_device<float>({0, 0}), gradients, 1, 1e-3, 1);
  const auto measured = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), adam.norm());
  EXPECT_NEAR(*host_pointer(measured), 5e25, 1e20);
  EXPECT_NEAR(to_host<float>(adam.first_moment())[0], 0.06, 1e-7);
}

TEST(Adam, NormThatIsNotFiniteIsThereToNotice) {
  Adam<float> adam(2);
  adam.step(to_device<float>({0, 0}), to_device<float>({1, std::numeric_limits<double>::quiet_NaN()}), 1, 1e-3, 1);
  const auto measured = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), adam.norm());
  EXPECT_TRUE(std::isnan(*host_pointer(measured)));
}

/// Four parameters of which backward passes begin the second and the third anew, and add 1 to every entry. They share
/// chunks of the optimiser's with one another and with the others.
struct FourParameters {
  FourParameters() {
    const ParameterScope<float> scope(all, "");
    scope.declare(first, "first", {4096}, Initial::constant(1));
    scope.declare(second, "second", {4000}, Initial::constant(1));
    scope.declare(third, "third", {9000}, Initial::constant(1));
    scope.declare(last, "last", {100}, Initial::constant(1));
    all.allocate();
  }

  void backward() {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), all.gradients());
    for (const auto& entry : all.entries()) {
      const bool whole = entry.parameter == &second || entry.parameter == &third;
      const float factor = whole ? entry.parameter->gradient_factor() : 1;
      float* gradient = host_pointer(host) + entry.offset;
      for (std::size_t i = 0; i < entry.size; ++i) gradient[i] = 1 + (factor == 0 ? 0 : gradient[i]);
    }
    Kokkos::deep_copy(all.gradients(), host);
  }

  void expect_gradients(double of_begun, double of_others) const {
    for (const auto& entry : all.entries()) {
      const bool whole = entry.parameter == &second || entry.parameter == &third;
      for (const double gradient : all.get_gradient(entry))
        ASSERT_EQ(gradient, whole ? of_begun : of_others) << entry.name;
    }
  }

  Parameters<float> all;
  Parameter<float> first, second, third, last;
};

TEST(Adam, GradientsThatAreBegunAnewNeedNotBeCleared) {
  FourParameters parameters;
  Adam<float> adam(parameters.all.length());
  for (int t = 1; t <= 3; ++t) {
    parameters.backward();
    parameters.expect_gradients(1, 1);
    adam.step(parameters.all, t, 1e-3);
    // Of a chunk that holds another parameter as well, all are cleared.
    EXPECT_EQ(parameters.all.get_gradient(parameters.all.entries()[2])[4096], 1);
    for (const int other : {0, 3})
      for (const double gradient : parameters.all.get_gradient(parameters.all.entries()[other])) ASSERT_EQ(gradient, 0);
  }
  parameters.backward();
  parameters.backward();
  parameters.expect_gradients(2, 2);  // of two passes before a step
}

TEST(Adam, GradientsThatAreNoLongerBegunAnewAreAnError) {
  FourParameters parameters;
  Adam<float> adam(parameters.all.length());
  parameters.backward();
  adam.step(parameters.all, 1, 1e-3);
  // A pass that does not ask adds to what is left of the first.
  EXPECT_THROW(adam.step(parameters.all, 2, 1e-3), std::logic_error);
}

TEST(Adam, SameBitsOnEveryCall) {
  const std::vector<double> gradients = numbers(20000, "gradients");
  std::vector<double> former;
  for (int i = 0; i < 3; ++i) {
    const auto parameters = to_device<float>(numbers(20000, "parameters"));
    Adam<float> adam(20000);
    adam.step(parameters, to_device<float>(gradients), 1, 1e-3, 1);
    const std::vector<double> values = to_host<float>(parameters);
    if (i > 0) {
      EXPECT_EQ(values, former);
    }
    former = values;
  }
}

}  // namespace
}  // namespace ridgeline

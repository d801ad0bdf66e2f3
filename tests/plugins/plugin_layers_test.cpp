// The layers of plugins/: the conformance kit, what it cannot know of, and sentences for mistakes.
#include <gtest/gtest.h>

#include <cstdlib>

#include "cases.hpp"
#include "conform/gradient_check.hpp"
#include "core/error.hpp"
#include "support/position.hpp"

namespace ridgeline::support {
namespace {

class PluginLayer : public ::testing::TestWithParam<LayerName> {};
INSTANTIATE_TEST_SUITE_P(, PluginLayer,
                         ::testing::Values(LayerName{"ffn", "swiglu"}, LayerName{"encoder", "fourier"},
                                           LayerName{"attention", "galerkin"}, LayerName{"attention", "physics"},
                                           LayerName{"position", "alibi"}),
                         [](const auto& test) { return test.param.name; });

TEST_P(PluginLayer, Conforms) { expect_conforming(GetParam()); }

/// With sharp weights most slices have next to none, down to sums that are 0.
TEST(Physics, GradientOfSharpSlicesIsThatOfDifferences) {
  const LayerName physics{"attention", "physics", {{"heads", "2"}, {"slices", "6"}}};
  const Sizes sizes{{2, 9}, 6, 5};
  for (const double log_temperature : {-2.0, -6.0}) {
    const auto layer = prepared_layer<double>(physics, sizes);
    auto& parameters = layer->parameters();
    parameters.set(*parameters.find("log_temperature"), {log_temperature, log_temperature + 0.5});
    GradientCheck check;
    check.entries = 12;
    const GradientError worst = worst_gradient(*layer, some_x(sizes), some_dy(sizes), check);
    EXPECT_LT(worst.error, 1e-7) << worst.text();
  }
}

TEST(Fourier, FrequenciesAreThoseOfTheOptions) {
  const auto fourier = [](const std::string& seed) {
    return LayerName{"encoder", "fourier", {{"seed", seed}, {"coordinates", "2"}}};
  };
  const Sizes sizes{{2, 7}, 3, 4};
  const Tokens x = some_x(sizes);
  // Whatever else is drawn: the same values of the parameters make the same layer.
  const auto layer = prepared_layer<float>(fourier("5"), sizes);
  const auto other = make_layer<float>(fourier("5"), sizes.inputs, sizes.outputs);
  other->prepare({x.shape});
  EXPECT_NE(evaluate(*other, x).values, evaluate(*layer, x).values);
  Kokkos::deep_copy(other->parameters().values(), layer->parameters().values());
  EXPECT_EQ(evaluate(*other, x).values, evaluate(*layer, x).values);
  EXPECT_NE(evaluate(*prepared_layer<float>(fourier("6"), sizes), x).values, evaluate(*layer, x).values);
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

/// f_h(d) = -s_h |d|
TEST(Alibi, FallsInProportionToTheDistance) {
  const int heads = 3, tokens = 9;
  PositionAlone<double> alibi({"position", "alibi"}, "alibi", heads, tokens, {});
  alibi.parameters().initialise(1);
  const std::vector<double> slopes = alibi.parameters().get(*alibi.parameters().find("alibi.slopes")),
                            values = alibi.forward(heads, 2 * tokens - 1);
  for (int h = 0; h < heads; ++h) {
    EXPECT_GT(slopes[h], 0);
    for (int d = 1 - tokens; d < tokens; ++d)
      EXPECT_DOUBLE_EQ(values[h * (2 * tokens - 1) + tokens - 1 + d], -slopes[h] * std::abs(d));
  }
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

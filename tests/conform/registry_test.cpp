// Every built-in layer conforms, each a test of its own.
#include <gtest/gtest.h>

#include <algorithm>

#include "caught.hpp"
#include "loaded/identity_layer.hpp"
#include "support/conforming.hpp"

namespace ridgeline::conform {
namespace {

std::vector<LayerName> every_layer() {
  const Registry& registry = Registry::instance();
  std::vector<LayerName> layers;
  for (const std::string& kind : registry.kinds())
    for (const std::string& name : registry.names(kind)) layers.push_back({kind, name});
  return layers;
}

class Registered : public ::testing::TestWithParam<LayerName> {};
INSTANTIATE_TEST_SUITE_P(, Registered, ::testing::ValuesIn(every_layer()),
                         [](const auto& test) { return test.param.kind + "_" + test.param.name; });

TEST_P(Registered, Conforms) { support::expect_conforming(GetParam()); }

// ---- the kit itself ----

TEST(Kit, TriesTheDeclaredValuesOneAtATime) {
  const std::vector<LayerName> tried = variations({"attention", "functional", {{"heads", "2"}}});
  const auto has = [&](const std::string& key, const std::string& value) {
    return std::any_of(tried.begin(), tried.end(), [&](const LayerName& layer) {
      return layer.options == OptionTexts{{"heads", "2"}, {key, value}};
    });
  };
  EXPECT_TRUE(has("basis", "5"));
  EXPECT_TRUE(has("ridge", "1e-2"));
  EXPECT_TRUE(has("inner_product", "mean"));
  EXPECT_TRUE(has("order", "direct"));
  EXPECT_FALSE(has("inner_product", "sum"));  // the default
  for (const LayerName& layer : tried) EXPECT_EQ(layer.options.at("heads"), "2");
}

/// Of width 2 it refuses many channels, of width 3 all.
template <class Scalar>
std::unique_ptr<Layer<Scalar>> make_choosy(Setup<Scalar>& setup) {
  const auto width = setup.options.integer("width");
  if (width == 3 || (width == 2 && setup.inputs > 8)) throw Error(Exit::mistake, "not so many.");
  return std::make_unique<loaded::IdentityLayer<Scalar>>(setup);
}

TEST(Kit, WhatIsRefusedAtSomeSizesOnlyIsTriedAtTheOthers) {
  LayerEntry entry;
  entry.kind = "flawed";
  entry.name = "choosy";
  entry.options.integer("width", 1, "how wide it is").at_least(1).trials({"2", "3"});
  entry.make_float = make_choosy<float>;
  entry.make_double = make_choosy<double>;
  const Cases cases = cases_of(added_once(entry));
  const auto of_width_2 = [](const Case& tried) { return tried.layer.options == OptionTexts{{"width", "2"}}; };
  EXPECT_EQ(std::count_if(cases.cases.begin(), cases.cases.end(), of_width_2), 2);
  EXPECT_EQ(cases.refused, std::vector<std::string>{"--option width=3: not so many."});
}

TEST(Kit, FunctionalAttentionDependsOnTheGridUnlessItAverages) {
  const auto properties = [](const OptionTexts& options) {
    const LayerName layer{"attention", "functional", options};
    return Registry::instance().get(layer.kind, layer.name).properties(option_values(layer));
  };
  EXPECT_TRUE(properties({}).permutation_equivariant);
  EXPECT_FALSE(properties({}).grid_independent);
  EXPECT_FALSE(properties({}).causal);
  EXPECT_TRUE(properties({{"inner_product", "mean"}}).grid_independent);
}

TEST(Kit, SizesAreOfEverySort) {
  const auto any = [](const auto& holds) { return std::any_of(every_size.begin(), every_size.end(), holds); };
  EXPECT_TRUE(any([](const Sizes& s) { return s.shape.tokens == 1 && s.shape.batch > 1; }));
  EXPECT_TRUE(any([](const Sizes& s) { return s.shape.batch == 1 && s.shape.tokens > 1; }));
  EXPECT_TRUE(any([](const Sizes& s) { return s.shape.rows() > 256; }));
  EXPECT_TRUE(any([](const Sizes& s) { return s.shape.tokens > 1 && s.shape.tokens < 8; }));
  for (const Sizes& s : every_size) EXPECT_NE(s.inputs, s.outputs);
}

TEST(Kit, ReportsForMachines) {
  const std::string text = report_json(examine({"activation", "relu"}), {});
  for (const char* part : {R"("layer": "activation/relu")", R"("conforms": true)", R"("failed": 0)",
                           R"("name": "gradients")", R"("result": "not applicable")", R"("command": null)"})
    EXPECT_NE(text.find(part), std::string::npos) << text;
}

}  // namespace
}  // namespace ridgeline::conform

#include "driver/score_bias.hpp"

#include <gtest/gtest.h>

namespace ridgeline {
namespace {

ModelPlan plan_of(const std::string& attention, const OptionValues& options) {
  ModelPlan plan;
  plan.width = 8;
  plan.tokens = 5;
  plan.attention = {{attention, options}};
  return plan;
}

void expect_none(const ModelPlan& plan) {
  EXPECT_EQ(most_biased_heads(plan), 0);
  EXPECT_TRUE(score_biases(plan, Parameters<double>(), plan.tokens).empty());
}

TEST(ScoreBias, OptionsOfTheSameNamesMaySayOtherThings) {
  OptionSet number, choice, flag, channels, words;
  number.integer("position", 3, "which token is looked at");
  choice.choice("position", "first", {"first", "last"}, "which token is looked at");
  flag.flag("position", true, "whether tokens are told apart");
  channels.layer("position", "position", "sinusoidal", "of tokens");
  words.layer("position", "position", "tisa", "of distances");
  words.texts("heads", {"one", "two"}, "what heads are called");
  for (OptionSet* options : {&number, &choice, &flag, &channels}) options->integer("heads", 2, "heads");
  for (const OptionSet* options : {&number, &choice, &flag, &channels, &words})
    expect_none(plan_of("causal", OptionValues::defaults(*options)));
}

TEST(ScoreBias, IsLeftOutWhereItsParametersAreNotTheAttentions) {
  const LayerEntry& causal = Registry::instance().get("attention", "causal");
  const std::map<std::string, std::string> texts{{"position", "tisa"}, {"heads", "2"}};
  const ModelPlan plan = plan_of("causal", OptionValues::from(causal.options, texts, "attention.causal"));
  EXPECT_EQ(most_biased_heads(plan), 2);
  EXPECT_TRUE(score_biases(plan, Parameters<double>(), plan.tokens).empty());
  Parameters<double> others;
  Parameter<double> offsets, amplitudes, sharpness;
  others.declare(offsets, "blocks.0.attention.tisa.offsets", {1, 1}, {});
  others.declare(amplitudes, "blocks.0.attention.tisa.amplitudes", {1, 1}, {});
  others.declare(sharpness, "blocks.0.attention.tisa.sharpness", {1, 1}, {});
  others.allocate();
  EXPECT_TRUE(score_biases(plan, others, plan.tokens).empty());
}

}  // namespace
}  // namespace ridgeline

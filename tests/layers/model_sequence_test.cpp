// One token after another, a whole model gives what it gives of all at once: every attention that can go on, with every
// value of its options, in every place.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

#include "cases.hpp"
#include "conform/gradient_check.hpp"
#include "core/error.hpp"
#include "support/conforming.hpp"

namespace ridgeline::support {
namespace {

constexpr int width = 12, longest = 19;

Properties properties_of(const LayerName& layer) {
  return Registry::instance().get(layer.kind, layer.name).properties(option_values(layer));
}

/// The causal attentions as they are, and with each value that their options name to be tried.
std::vector<LayerName> causal_attentions() {
  std::vector<LayerName> layers;
  for (const std::string& name : Registry::instance().names("attention")) {
    const LayerName layer{"attention", name};
    if (!properties_of(layer).causal) continue;
    layers.push_back(layer);
    for (const LayerName& variation : conform::variations(layer)) {
      layers.push_back(variation);
      // Other channels of values than the width come to the width by a projection.
      if (variation.options.count("out") > 0) layers.back().options["output_projection"] = "yes";
    }
  }
  return layers;
}

LayerChoice choice_of(const LayerName& layer) { return {layer.name, option_values(layer)}; }

ModelPlan plan_with(const LayerName& attention) {
  ModelPlan plan;
  plan.inputs = 3;
  plan.targets = 2;
  plan.width = width;
  plan.residual = Residual::pre;
  plan.encoder = choice_of({"encoder", "mlp", {{"layers", "2"}}});
  // The block behind sees what the one before made of earlier tokens.
  LayerName plain{"attention", attention.name};
  const auto extra = attention.options.find("extra_channels");
  if (extra != attention.options.end()) plain.options.insert(*extra);
  plan.attention = {choice_of(attention), choice_of(plain)};
  plan.ffn = choice_of({"ffn", "mlp", {{"hidden", "6"}}});
  plan.extra_channels = extra == attention.options.end() ? 0 : std::stoi(extra->second);
  plan.position = choice_of({"position", "sinusoidal"});
  plan.final_norm = true;
  plan.tokens = longest;
  return plan;
}

/// One token of every sample.
Tokens token_of(const Tokens& all, int n) {
  Tokens token = zeros({all.shape.batch, 1}, all.channels);
  for (int b = 0; b < all.shape.batch; ++b)
    for (int c = 0; c < all.channels; ++c) token.at(b, 0, c) = all.at(b, n, c);
  return token;
}

/// The largest difference between the model's predictions one by one and at once, beside the largest prediction.
double difference_of(const ModelPlan& plan, const Shape& shape) {
  Model<double> model(plan);
  model.allocate();
  randomise(model.parameters(), 5);
  model.prepare({shape});
  model.prepare_sequence({shape.batch, longest});
  const Tokens x = random_tokens(shape, plan.inputs, 11), extra = random_tokens(shape, plan.extra_channels, 12);
  const DeviceTokens<double> in(x), more(extra), out(zeros(shape, plan.targets));
  model.forward(in.view, out.view, more.view);
  const Tokens expected = out.to_tokens();
  double error = 0, largest = 0;
  for (int round = 0; round < 2; ++round) {
    model.begin_sequence();
    for (int n = 0; n < shape.tokens; ++n) {
      const DeviceTokens<double> next(token_of(x, n)), next_extra(token_of(extra, n)),
          prediction(zeros({shape.batch, 1}, plan.targets));
      model.next_token(next.view, prediction.view, next_extra.view);
      const Tokens y = prediction.to_tokens();
      for (int b = 0; b < shape.batch; ++b)
        for (int c = 0; c < plan.targets; ++c) {
          error = std::max(error, std::abs(y.at(b, 0, c) - expected.at(b, n, c)));
          largest = std::max(largest, std::abs(expected.at(b, n, c)));
        }
    }
  }
  return error / largest;
}

class ModelSequence : public ::testing::TestWithParam<LayerName> {};
INSTANTIATE_TEST_SUITE_P(, ModelSequence, ::testing::ValuesIn(causal_attentions()), [](const auto& test) {
  std::string name = test.param.name;
  for (const auto& [key, value] : test.param.options) name += "_" + key + "_" + value;
  return name;
});

TEST_P(ModelSequence, IsAsAllAtOnce) {
  for (const Shape& shape : {Shape{2, longest}, Shape{1, 1}, Shape{3, 7}})
    for (const Residual residual : {Residual::pre, Residual::normed}) {
      ModelPlan plan = plan_with(GetParam());
      plan.residual = residual;
      EXPECT_LE(difference_of(plan, shape), 1e-10) << shape.batch << " " << shape.tokens;
    }
}

TEST(ModelSequences, BlocksOfDifferentAttention) {
  std::vector<LayerChoice> all;
  for (const LayerName& layer : causal_attentions())
    if (layer.options.empty()) all.push_back(choice_of(layer));
  ModelPlan plan = plan_with({"attention", "causal"});
  plan.attention = all;
  plan.attention.insert(plan.attention.end(), all.rbegin(), all.rend());
  plan.position = choice_of({"position", "learned", {{"channels", "4"}}});
  plan.position_mode = PositionMode::concatenate;
  EXPECT_LE(difference_of(plan, {2, longest}), 1e-10);
}

/// Takes more memory each time that it is asked what a sequence needs.
class Growing final : public Layer<double> {
 public:
  void reserve(const Shape&, Arena&) override {}
  void forward(Tensor<const double>, Tensor<const double>, Tensor<double>) override {}
  void backward(Tensor<const double>, Tensor<const double>, Tensor<double>) override {}
  Operations operations(const Shape&) const override { return Operations::unknown(); }
  bool continues() const override { return true; }
  void reserve_sequence(const Shape&, Arena& arena) override { arena.kept<double>(1000 * ++calls_); }

 private:
  std::size_t calls_ = 0;
};

/// Prepares a model of one such layer for sequences, and begins one.
void begin_with_growing_layer(const std::string& origin) {
  Registry registry = Registry::instance();
  LayerEntry entry;
  entry.kind = "attention";
  entry.name = "growing";
  entry.origin = origin;
  entry.make_double = [](Setup<double>&) { return std::make_unique<Growing>(); };
  registry.add(entry);
  ModelPlan plan = plan_with({"attention", "causal"});
  plan.attention = {{"growing", OptionValues::defaults(registry.get("attention", "growing").options)}};
  Model<double> model(plan, registry);
  model.allocate();
  model.prepare_sequence({1, longest});
  model.begin_sequence();
}

TEST(ModelSequences, OfALayerThatTakesMoreMemoryThanMeasuredDoNotBegin) {
  EXPECT_THROW(begin_with_growing_layer(LayerEntry::built_in), std::logic_error);
  try {
    begin_with_growing_layer("growing.so");
    FAIL() << "began";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::numerical);
    EXPECT_EQ(
        std::string(error.what()),
        "attention/growing of the plugin growing.so failed where it reserves memory: for 1 sequences of 19 tokens "
        "it reserves more memory than it did before (16128 bytes, not 8192).");
  }
}

}  // namespace
}  // namespace ridgeline::support

// Models whose tokens are told where they stand, and with a norm before the head: gradients, what is added to what, and
// one token after another.
#include <gtest/gtest.h>

#include "cases.hpp"
#include "conform/gradient_check.hpp"
#include "support/mistake.hpp"

namespace ridgeline::support {
namespace {

/// `position` empty: none.
ModelPlan plan_with(const std::string& position, PositionMode mode = PositionMode::add, OptionTexts options = {}) {
  ModelPlan plan;
  plan.inputs = 2;
  plan.targets = 3;
  plan.width = 5;
  plan.encoder = {"mlp", option_values({"encoder", "mlp", {{"layers", "2"}}})};
  const LayerName attention{"attention", "functional", {{"heads", "3"}, {"basis", "2"}, {"ridge", "0.1"}}};
  plan.attention.assign(1, {"functional", option_values(attention)});
  plan.ffn = {"mlp", option_values({"ffn", "mlp", {{"hidden", "6"}}})};
  plan.tokens = 12;
  plan.grid = {3, 4};
  plan.position_mode = mode;
  if (!position.empty()) plan.position = {position, option_values({"position", position, std::move(options)})};
  return plan;
}

struct Tried {
  const char* name;
  const char* position;
  PositionMode mode;
  OptionTexts options = {};
};

const Tried positions[] = {
    {"sinusoidal_added", "sinusoidal", PositionMode::add},
    {"sinusoidal_beside", "sinusoidal", PositionMode::concatenate, {{"channels", "3"}}},
    {"learned_added", "learned", PositionMode::add},
    {"learned_beside", "learned", PositionMode::concatenate, {{"channels", "4"}}},
    {"image_beside", "image", PositionMode::concatenate},
};

class ModelPosition : public ::testing::TestWithParam<Tried> {
 protected:
  static ModelPlan plan() { return plan_with(GetParam().position, GetParam().mode, GetParam().options); }
};
INSTANTIATE_TEST_SUITE_P(, ModelPosition, ::testing::ValuesIn(positions),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(ModelPosition, GradientsAreThoseOfDifferences) {
  for (const bool final_norm : {false, true}) {
    ModelPlan with_norm = plan();
    with_norm.final_norm = final_norm;
    const auto model = make_model<double>(with_norm);
    const Shape shape{2, 12};
    model->prepare({shape});
    randomise(model->parameters(), 3);
    GradientCheck check;
    check.entries = 6;
    const GradientError worst = worst_gradient(*model, random_tokens(shape, 2, 11), random_tokens(shape, 3, 12), check);
    EXPECT_LT(worst.error, 1e-7) << worst.text();
  }
}

/// Where dx is not wanted, the gradients of parameters are the same bits.
TEST_P(ModelPosition, NeedsNoGradientOfTheInput) {
  const auto model = make_model<double>(plan());
  const Shape shape{2, 12};
  model->prepare({shape});
  randomise(model->parameters(), 3);
  const Tokens x = random_tokens(shape, 2, 11), dy = random_tokens(shape, 3, 12);
  EXPECT_EQ(differentiate(*model, x, dy).parameters, differentiate(*model, x, dy, InputGradient::unwanted).parameters);
}

TEST_P(ModelPosition, TellsTokensApart) {
  const auto with = make_model<double>(plan()), without = make_model<double>(plan_with(""));
  const Shape shape{1, 12};
  Tokens same = zeros(shape, 2);
  for (double& value : same.values) value = 0.5;
  for (const auto& [model, differ] : {std::pair(with.get(), true), std::pair(without.get(), false)}) {
    model->prepare({shape});
    randomise(model->parameters(), 3);
    const Tokens y = evaluate(*model, same);
    EXPECT_EQ(y.at(0, 3, 0) != y.at(0, 9, 0), differ);
  }
}

/// Encoder and head alone: token by token what they give of all at once, from the first token on and anew.
TEST_P(ModelPosition, OneTokenAfterAnotherIsAsAllAtOnce) {
  ModelPlan pointwise = plan();
  pointwise.attention.clear();
  pointwise.final_norm = true;
  Model<double> model(pointwise);
  const Shape shape{2, 12};
  model.allocate();
  randomise(model.parameters(), 3);
  model.prepare({shape});
  model.prepare_sequence(shape);
  const Tokens x = random_tokens(shape, 2, 11);
  const DeviceTokens<double> in(x), all(zeros(shape, 3));
  for (int round = 0; round < 2; ++round) {
    model.forward(in.view, all.view);
    const Tokens expected = all.to_tokens();
    model.begin_sequence();
    for (int n = 0; n < shape.tokens; ++n) {
      Tokens token = zeros({2, 1}, 2);
      for (int b = 0; b < 2; ++b)
        for (int c = 0; c < 2; ++c) token.at(b, 0, c) = x.at(b, n, c);
      const DeviceTokens<double> next(token), prediction(zeros({2, 1}, 3));
      model.next_token(next.view, prediction.view);
      const Tokens y = prediction.to_tokens();
      for (int b = 0; b < 2; ++b)
        for (int c = 0; c < 3; ++c) EXPECT_NEAR(y.at(b, 0, c), expected.at(b, n, c), 1e-13) << n;
    }
    const DeviceTokens<double> more(zeros({2, 1}, 2)), prediction(zeros({2, 1}, 3));
    EXPECT_THROW(model.next_token(more.view, prediction.view), std::logic_error);
  }
}

TEST(ModelPositions, NamesAndShares) {
  ModelPlan plan = plan_with("learned");
  plan.final_norm = true;
  Model<float> model(plan);
  EXPECT_EQ(model.parameters().find("position.table")->shape, (std::vector<int>{12, 5}));
  EXPECT_EQ(model.parameters().find("final_norm.weight")->shape, (std::vector<int>{5}));
  EXPECT_NE(model.parameters().find("final_norm.bias"), nullptr);
  const auto shares = model.layers({2, 12});
  std::size_t parameters = 0;
  for (const LayerShare& share : shares) parameters += share.parameters;
  EXPECT_EQ(parameters, model.parameters().count());
  EXPECT_EQ(shares.front().name, "position");
  EXPECT_EQ(shares.front().parameters, 60U);
}

TEST(ModelPositions, OfWhichTokensHaveNoneAreRefused) {
  EXPECT_EQ(mistake_of([] { Model<float>(plan_with("image")); }),
            "position/image gives 2 channels and cannot be added to the width's 5; it can be concatenated.");
  EXPECT_NE(mistake_of([] { Model<float>(plan_with("tisa")); }).find("position/tisa is a bias"), std::string::npos);
  Model<float> learned(plan_with("learned"));
  EXPECT_EQ(mistake_of([&] {
              learned.prepare({{2, 12}, {1, 24}});
            }),
            "position/learned has numbers for at most 12 tokens, and a sample of 24 is too long.");
}

/// Zeros, with a signal at token 7.
class Raising final : public Position<double> {
 public:
  explicit Raising(const Signal& signal) : signal_(signal) {}
  void reserve(int, Arena&) override {}
  void forward(Matrix<double> values) override {
    Kokkos::deep_copy(values, 0);
    const Signal signal = signal_;
    Kokkos::parallel_for(
        "ridgeline::test/raise", RangePolicy(0, 1), KOKKOS_LAMBDA(int) { signal.raise(7, 0.5F); });
  }

 private:
  Signal signal_;
};

TEST(ModelPositions, HaveASignalOfTheirOwnAndNoInputs) {
  Registry registry = Registry::instance();
  LayerEntry entry;
  entry.kind = "position";
  entry.name = "raising";
  int inputs = -1;
  entry.make_position_double = [&](ridgeline::Setup<double>& setup) {
    inputs = setup.inputs;
    return std::make_unique<Raising>(setup.signal);
  };
  registry.add(entry);
  ModelPlan plan = plan_with("");
  plan.position = {"raising", OptionValues::defaults(registry.get("position", "raising").options)};
  Model<double> model(plan, registry);
  EXPECT_EQ(inputs, 0);
  model.allocate();
  randomise(model.parameters(), 3);
  model.prepare({{2, 12}});
  const DeviceTokens<double> x(random_tokens({2, 12}, 2, 11)), y(zeros({2, 12}, 3));
  model.forward(x.view, y.view);
  model.status().read();
  std::vector<std::string> raised;
  for (std::size_t slot = 0; slot < model.status().signal_count(); ++slot)
    if (const Signal::Content content = model.status().signal(slot); content.raised)
      raised.push_back(model.explain(slot, content));
  EXPECT_EQ(raised, std::vector<std::string>{"position: token 7 (0.5)"});
}

TEST(ModelPositions, ALayerThatSeesAllTokensDoesNotGoOnFromOneToTheNext) {
  Model<float> model(plan_with(""));
  EXPECT_EQ(mistake_of([&] {
              model.prepare_sequence({1, 12});
            }),
            "blocks.0.attention (attention/functional) cannot go on from token to token: it is neither causal with a "
            "memory of its own nor pointwise.");
}

TEST(ModelPositions, AttentionWithoutExtraChannelsIsGivenNone) {
  ModelPlan plan = plan_with("");
  plan.extra_channels = 3;
  EXPECT_EQ(mistake_of([&] { Model<float>{plan}; }),
            "block 0: attention/functional takes 0 extra channels, and the model gives it 3.");
}

}  // namespace
}  // namespace ridgeline::support

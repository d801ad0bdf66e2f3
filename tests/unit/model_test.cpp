// The model as a whole: names, shapes that it was prepared for, signals, and what it says of its layers.
#include "model/model.hpp"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>

#include "conform/gradient_check.hpp"
#include "support/subject.hpp"

namespace ridgeline::support {
namespace {

ModelPlan small_plan(const char* ridge = "1e-2") {
  ModelPlan plan;
  plan.inputs = 2;
  plan.targets = 1;
  plan.width = 6;
  plan.encoder = {"mlp", option_values({"encoder", "mlp", {{"layers", "2"}}})};
  plan.attention.assign(
      2,
      {"functional", option_values({"attention", "functional", {{"heads", "2"}, {"basis", "3"}, {"ridge", ridge}}})});
  plan.ffn = {"mlp", option_values({"ffn", "mlp", {{"hidden", "10"}}})};
  return plan;
}

TEST(Model, ParametersAreNamedAsTheReferenceFilesNameThem) {
  Model<float> model(small_plan());
  for (const char* name :
       {"encoder.0.weight", "encoder.1.bias", "blocks.0.attention.query_basis.weight", "blocks.0.norm1.weight",
        "blocks.1.norm2.bias", "blocks.1.ffn.up.weight", "blocks.1.ffn.down.bias", "head.weight", "head.bias"})
    EXPECT_NE(model.parameters().find(name), nullptr) << name;
  EXPECT_EQ(model.parameters().find("blocks.2.norm1.weight"), nullptr);
  EXPECT_EQ(model.parameters().find("head.weight")->shape, (std::vector<int>{1, 6}));
}

TEST(Model, SharesOfLayersAddUpToTheWhole) {
  Model<float> model(small_plan());
  const Shape shape{2, 30};
  const auto shares = model.layers(shape);
  const std::size_t parameters =
      std::accumulate(shares.begin(), shares.end(), std::size_t{0},
                      [](std::size_t sum, const LayerShare& share) { return sum + share.parameters; });
  EXPECT_EQ(parameters, model.parameters().count());
  double forward = 0;
  for (const LayerShare& share : shares) forward += share.operations.forward;
  EXPECT_DOUBLE_EQ(forward, model.operations(shape).forward);
  EXPECT_EQ(shares.front().name, "encoder");
  EXPECT_EQ(shares.back().name, "head");
}

TEST(Model, RefusesAShapeItHasNoRoomFor) {
  const auto model = make_model<double>(small_plan());
  model->prepare({{2, 10}});
  randomise(model->parameters(), 1);
  const Tokens x = random_tokens({2, 10}, 2, 1);
  const Tokens y = evaluate(*model, x);
  for (const int tokens : {11, 12, 20, 100})  // some fit in part
    EXPECT_THROW(evaluate(*model, random_tokens({2, tokens}, 2, 1)), std::logic_error) << tokens;
  EXPECT_EQ(evaluate(*model, x).values, y.values);
}

TEST(Model, MeasuresWhatPrepareAllocates) {
  Model<double> model(small_plan());
  EXPECT_GT(model.bytes_for({{2, 100}}), 2 * 100 * 6 * sizeof(double));
  EXPECT_LT(model.bytes_for({{2, 100}}), model.bytes_for({{2, 300}}));
  EXPECT_GE(model.bytes_for({{2, 100}, {1, 10}}), model.bytes_for({{2, 100}}));
}

/// A last, smaller batch and a longer evaluation set in between leave training as it was.
TEST(Model, SameBitsWhateverShapeRanBefore) {
  const Shape shape{3, 12};
  const Tokens x = random_tokens(shape, 2, 4), dy = random_tokens(shape, 1, 5);
  const auto model = make_model<float>(small_plan());
  model->prepare({shape, {1, 12}, {3, 50}});
  randomise(model->parameters(), 1);
  const Gradients first = differentiate(*model, x, dy);
  for (const Shape& other : {Shape{1, 12}, Shape{3, 50}}) {
    evaluate(*model, random_tokens(other, 2, 6));
    const Gradients again = differentiate(*model, x, dy);
    EXPECT_EQ(again.y.values, first.y.values);
    EXPECT_EQ(again.dx.values, first.dx.values);
    EXPECT_EQ(again.parameters, first.parameters);
  }
}

/// The model without blocks is its encoder and head.
TEST(Model, MayHaveNoBlocks) {
  ModelPlan plan = small_plan();
  plan.attention.clear();
  const auto model = make_model<double>(plan);
  model->prepare({{2, 5}});
  randomise(model->parameters(), 1);
  const GradientError worst = worst_gradient(*model, random_tokens({2, 5}, 2, 1), random_tokens({2, 5}, 1, 2));
  EXPECT_LT(worst.error, 1e-7) << worst.text();
}

TEST(Model, BreakdownNamesTheLayer) {
  const auto model = make_model<double>(small_plan("1e-300"));
  model->prepare({{2, 12}});
  randomise(model->parameters(), 1);
  Tokens x = random_tokens({2, 12}, 2, 1);
  for (int n = 0; n < 12; ++n)
    for (int c = 0; c < 2; ++c) x.at(1, n, c) = 0.5;
  evaluate(*model, x);
  EXPECT_EQ(model->complaint().rfind("blocks.0.attention: ", 0), 0U) << model->complaint();
  EXPECT_NE(model->complaint().find("sample 1, head 0"), std::string::npos) << model->complaint();
  model->clear_signals();
  EXPECT_EQ(model->complaint(), "");
}

TEST(Model, HealthyRunRaisesNoSignal) {
  const auto model = make_model<float>(small_plan());
  model->prepare({{2, 12}});
  randomise(model->parameters(), 1);
  evaluate(*model, random_tokens({2, 12}, 2, 1));
  EXPECT_EQ(model->complaint(), "");
}

}  // namespace
}  // namespace ridgeline::support

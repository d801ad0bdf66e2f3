// Token by token and all at once, a model gives the same.
#include "train/sampler.hpp"

#include <cmath>
#include <map>
#include <memory>

#include <gtest/gtest.h>

#include "core/random.hpp"
#include "support/subject.hpp"
#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

using Texts = std::map<std::string, std::string>;

TEST(DrawLevel, IsAsProbableAsTheLogitsSay) {
  const double logits[] = {0, std::log(2.0), std::log(5.0)};  // 1/8, 2/8, 5/8
  const RandomStream draws(3, "test");
  int counts[3] = {0, 0, 0};
  for (std::uint64_t i = 0; i < 80000; ++i) ++counts[draw_level(logits, 3, 1, draws.uniform(i))];
  EXPECT_NEAR(counts[0], 10000, 400);
  EXPECT_NEAR(counts[1], 20000, 500);
  EXPECT_NEAR(counts[2], 50000, 600);
  EXPECT_EQ(draw_level(logits, 3, 1, 0.1249), 0);
  EXPECT_EQ(draw_level(logits, 3, 1, 0.1251), 1);
  EXPECT_EQ(draw_level(logits, 3, 1, 0.3749), 1);
  EXPECT_EQ(draw_level(logits, 3, 1, 0.3751), 2);
  EXPECT_EQ(draw_level(logits, 3, 2, 0.22), 1);  // 1 / (1 + √2 + √5) = 0.215
  EXPECT_EQ(draw_level(logits, 3, 2, 0.21), 0);
}

TEST(DrawLevel, AtNoTemperatureIsTheMostProbable) {
  const double logits[] = {1, 3, 3, 2};
  for (const double uniform : {0.0, 0.5, 0.999}) EXPECT_EQ(draw_level(logits, 4, 0, uniform), 1);
  const double far_apart[] = {-1e300, 1e300};
  EXPECT_EQ(draw_level(far_apart, 2, 1e-300, 0.5), 1);
}

/// Images of 3 x 4 pixels, 2 channels of 3 levels, 3 classes.
struct ImageModel {
  ImageModel(const std::string& attention, const Texts& options, Extra chosen, const char* position) : extra(chosen) {
    Images images;
    images.count = 6;
    images.rows = 3;
    images.columns = 4;
    images.channels = 2;
    images.has_channel_extent = true;
    images.largest_level = 2;
    const RandomStream stream(5, "images");
    for (std::uint64_t i = 0; i < 6 * 24; ++i) images.levels.push_back(static_cast<std::uint16_t>(stream.below(i, 3)));
    images.levels[0] = 2;
    images.labels = {0, 1, 2, 0, 1, 2};
    hdf5::write_atomically(folder / "images.h5", [&](hdf5::File& file) { write_images(file, "train", images); });
    const TaskEntry& entry = TaskRegistry::instance().get("images");
    const OptionValues values = OptionValues::from(entry.options, {{"file", (folder / "images.h5").string()}}, "data");
    task = entry.make(values, values, 1, "data/train", nullptr);
    model = std::make_unique<Model<double>>(plan_of(attention, options, position));
    model->allocate();
    model->parameters().initialise(4);
    model->prepare({{count, 12}});
  }

  ModelPlan plan_of(const std::string& attention, Texts options, const char* position) const {
    const auto choice = [](const char* kind, const std::string& name, const Texts& texts) {
      return LayerChoice{name, support::option_values({kind, name, texts})};
    };
    ModelPlan plan;
    plan.inputs = task->channels();
    plan.targets = task->outputs();
    plan.width = 8;
    plan.residual = Residual::pre;
    plan.tokens = 12;
    plan.grid = task->grid();
    plan.extra_channels = task->extra_channels(extra);
    if (plan.extra_channels > 0) options["extra_channels"] = std::to_string(plan.extra_channels);
    plan.final_norm = true;
    if (*position != '\0') plan.position = choice("position", position, {});
    if (position == std::string("image")) plan.position_mode = PositionMode::concatenate;
    plan.encoder = choice("encoder", "mlp", {{"layers", "2"}});
    plan.attention = {choice("attention", attention, options), choice("attention", attention, options)};
    plan.ffn = choice("ffn", "mlp", {{"hidden", "16"}});
    return plan;
  }

  static Kokkos::View<double*, Memory> to_device(const std::vector<double>& numbers) {
    return support::to_device<double>(numbers);
  }

  /// Of images with these targets, all tokens in one pass: [count, 12, outputs].
  std::vector<double> logits_at_once(const std::vector<double>& targets, const std::vector<int>& labels) const {
    const int channels = task->channels(), extras = task->extra_channels(extra);
    std::vector<double> inputs(static_cast<std::size_t>(count) * 12 * channels);
    std::vector<double> more(static_cast<std::size_t>(count) * 12 * extras);
    for (int row = 0; row < count * 12; ++row) {
      const double* own = targets.data() + row * 2;
      task->encode(row % 12 > 0 ? own - 2 : nullptr, inputs.data() + row * channels);
      if (extras > 0)
        task->encode_extra(extra, labels.empty() ? 0 : labels[static_cast<std::size_t>(row / 12)], own,
                           more.data() + row * extras);
    }
    const auto x = to_device(inputs), e = to_device(more);
    const Kokkos::View<double*, Memory> prediction("prediction",
                                                   static_cast<std::size_t>(count) * 12 * task->outputs());
    model->forward(Tensor<const double>(x.data(), count, 12, channels),
                   Tensor<double>(prediction.data(), count, 12, task->outputs()),
                   extras > 0 ? Tensor<const double>(e.data(), count, 12, extras) : Tensor<const double>());
    return support::to_host<double>(prediction);
  }

  static constexpr int count = 5;
  Extra extra;
  test::TemporaryFolder folder;
  std::unique_ptr<Task> task;
  std::unique_ptr<Model<double>> model;
};

void expect_the_same_token_by_token(const std::string& attention, const Texts& options, Extra extra,
                                    const char* position = "") {
  SCOPED_TRACE(attention + (options.empty() ? "" : ", " + options.begin()->first) + " " + position);
  const ImageModel images(attention, options, extra, position);
  SamplingPlan plan;
  plan.count = ImageModel::count;
  plan.seed = 11;
  if (extra == Extra::class_label) plan.labels = {2, 0, 1, 2, 2};
  // As many at once as divide the count, and not.
  const std::vector<double> made = Sampler<double>(*images.model, *images.task, extra, 5).sample(plan);
  EXPECT_EQ(Sampler<double>(*images.model, *images.task, extra, 2).sample(plan), made);
  const std::vector<double> expected = images.logits_at_once(made, plan.labels);
  plan.kept = 12;
  plan.given = made;
  Sampler<double> sampler(*images.model, *images.task, extra, 3);
  const std::vector<double> found = sampler.logits(plan);
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-10) << i;
  // What was made goes on as it did, from whatever token it is taken up.
  for (int kept = 0; kept <= 12; ++kept) {
    plan.kept = kept;
    plan.given.clear();
    for (int i = 0; i < plan.count; ++i)
      plan.given.insert(plan.given.end(), made.begin() + i * 24, made.begin() + i * 24 + kept * 2);
    EXPECT_EQ(sampler.sample(plan), made) << kept;
  }
}

TEST(Sampler, CausalGivesWhatItGivesAtOnce) {
  expect_the_same_token_by_token("causal", {{"heads", "2"}}, Extra::none);
  expect_the_same_token_by_token("causal", {{"mask_center", "yes"}}, Extra::none, "image");
  expect_the_same_token_by_token("causal", {{"heads", "4"}}, Extra::class_label, "sinusoidal");
  expect_the_same_token_by_token("causal", {{"heads", "2"}, {"position", "tisa"}}, Extra::class_label);
  expect_the_same_token_by_token("causal", {{"mask_center", "yes"}}, Extra::image, "learned");
  expect_the_same_token_by_token("causal", {{"output_projection", "no"}}, Extra::none);
}

TEST(Sampler, LinearGivesWhatItGivesAtOnce) {
  expect_the_same_token_by_token("causal_linear", {{"heads", "2"}}, Extra::none, "image");
  expect_the_same_token_by_token("causal_linear", {{"mask_center", "yes"}}, Extra::image);
  expect_the_same_token_by_token("causal_linear", {{"output_projection", "yes"}}, Extra::class_label, "learned");
  for (const char* feature : {"elu1", "relu", "exp"})
    expect_the_same_token_by_token("causal_linear", {{"feature", feature}}, Extra::none);
  expect_the_same_token_by_token("causal_linear", {{"normalize", "no"}}, Extra::none);
}

}  // namespace
}  // namespace ridgeline

// From a deck's [model] to the plan: positions, attention by block, and what does not go together.
#include "driver/model_plan.hpp"

#include <gtest/gtest.h>

#include "core/error.hpp"
#include "files_support.hpp"

namespace ridgeline {
namespace {

struct Planned {
  ModelPlan plan;
  std::vector<std::string> sections;  ///< that it uses
};

/// Of samples with 2 channels, 12 pixels (3 rows of 4), in sets `train` and `far`, the latter of 24.
Planned planned(const std::string& deck, int extra_channels = 0, Grid grid = {3, 4}, int far_tokens = 12) {
  const LayerNames names = [](const std::string& kind) { return Registry::instance().names(kind); };
  const Settings settings(Deck::parse(deck, "some.ini"), {}, names);
  std::vector<OptionValues> sections;
  Planned result{plan_model(settings, settings.bind("model", model_options()),
                            {2, 3, extra_channels, grid, {{"train", 12}, {"far", far_tokens}}}, sections),
                 {}};
  for (const OptionValues& section : sections) result.sections.push_back(section.section());
  return result;
}

std::string complaint_of(const std::string& deck, int extra_channels = 0, Grid grid = {3, 4}, int far_tokens = 12) {
  try {
    planned(deck, extra_channels, grid, far_tokens);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    return error.what();
  }
  return "none";
}

TEST(ModelPlan, WithoutAWordHasNoPositionAndNoFinalNorm) {
  const Planned model = planned("[model]\nwidth = 8\n");
  EXPECT_FALSE(model.plan.position.has_value());
  EXPECT_FALSE(model.plan.final_norm);
  EXPECT_EQ(model.plan.tokens, 12);
  EXPECT_EQ(model.plan.attention.size(), 2U);
  EXPECT_EQ(model.sections, (std::vector<std::string>{"encoder.mlp", "attention.functional", "ffn.mlp"}));
  EXPECT_EQ(layers_text(model.plan), "encoder mlp, 2 blocks of attention functional and ffn mlp (normed), width 8");
}

TEST(ModelPlan, PositionsOfTokens) {
  const Planned model = planned(
      "[model]\nposition = learned\nposition_mode = concatenate\nfinal_norm = yes\n[position.learned]\nchannels = 4\n");
  ASSERT_TRUE(model.plan.position.has_value());
  EXPECT_EQ(model.plan.position->name, "learned");
  EXPECT_EQ(model.plan.position->options.integer("channels"), 4);
  EXPECT_EQ(model.plan.position_mode, PositionMode::concatenate);
  EXPECT_TRUE(model.plan.final_norm);
  EXPECT_EQ(model.sections.front(), "position.learned");
  EXPECT_NE(layers_text(model.plan).find(", position learned concatenated"), std::string::npos);
}

TEST(ModelPlan, PositionsThatCannotBeHad) {
  EXPECT_EQ(
      complaint_of("[model]\nposition = image\n"),
      "some.ini:2: [model] position = image cannot be had: position/image gives 2 channels and cannot be added to "
      "the width's 128; it can be concatenated.");
  EXPECT_EQ(complaint_of("[model]\nposition = image\nposition_mode = concatenate\n", 0, {}),
            "some.ini:2: [model] position = image cannot be had: position/image gives rows and columns of an image's "
            "pixels, and the samples are no images.");
  EXPECT_EQ(complaint_of("[model]\nposition = learned\n", 0, {3, 4}, 24),
            "some.ini:2: [model] position = learned cannot be had for the set far: position/learned has numbers for at "
            "most 12 tokens, "
            "and a sample of 24 is too long.");
  EXPECT_EQ(complaint_of("[model]\nposition = sinusoidal\n", 0, {3, 4}, 24), "none");
  EXPECT_EQ(complaint_of("[model]\nposition = tisa\n"),
            "some.ini:2: [model] position = tisa is a bias of attention's scores, and tokens have none; it takes none, "
            "image, learned or sinusoidal.");
  EXPECT_NE(complaint_of("[model]\nposition = sinusoid\n").find("did you mean sinusoidal?"), std::string::npos);
  EXPECT_NE(complaint_of("[attention.functional]\nposition = tisa\n").find("position is not a known key"),
            std::string::npos);
}

TEST(ModelPlan, AttentionIsOneForAllBlocksOrOneForEach) {
  EXPECT_EQ(planned("[model]\nblocks = 3\nattention = functional functional functional\n").plan.attention.size(), 3U);
  EXPECT_EQ(
      complaint_of("[model]\nblocks = 3\nattention = functional functional\n"),
      "some.ini:3: [model] attention = functional functional names 2 layers, and there are 3 blocks; it takes one "
      "for all blocks, or one for each.");
  EXPECT_NE(complaint_of("[model]\nattention = functional functionel\n").find("did you mean functional?"),
            std::string::npos);
  EXPECT_NE(complaint_of("[model]\nattention = functionel\n").find("did you mean functional?"), std::string::npos);
  EXPECT_NE(complaint_of("[model]\nattention =\n").find("has no value"), std::string::npos);
}

TEST(ModelPlan, ExtraChannelsWantAnAttentionThatLooksAtThem) {
  EXPECT_EQ(complaint_of("[model]\nattention = functional\n", 10),
            "some.ini:2: [model] attention = functional names functional, which looks at no extra channels, and the "
            "samples have 10.");
}

}  // namespace
}  // namespace ridgeline

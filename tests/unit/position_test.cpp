// Positions: their numbers by formula, their lengths, and the bias that a layer takes by name.
#include "support/position.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.hpp"
#include "layer/score_bias.hpp"
#include "support/mistake.hpp"

namespace ridgeline {
namespace {

using support::mistake_of;
using support::PositionAlone;

TEST(Position, SinusoidalIsSinesAndCosinesOfAnyWidth) {
  for (const int channels : {1, 2, 7, 8}) {
    const int tokens = 70000;
    PositionAlone<double> in_double({"position", "sinusoidal"}, "", channels, tokens, {});
    PositionAlone<float> in_single({"position", "sinusoidal"}, "", channels, tokens, {});
    const std::vector<double> values = in_double.forward(tokens, channels),
                              single = in_single.forward(tokens, channels);
    for (const int p : {0, 1, 2, 119, 65536, tokens - 1})
      for (int c = 0; c < channels; ++c) {
        const double angle = p * std::pow(10000.0, -static_cast<double>(c - c % 2) / channels);
        const double expected = c % 2 == 0 ? std::sin(angle) : std::cos(angle);
        const std::size_t at = static_cast<std::size_t>(p) * channels + c;
        EXPECT_NEAR(values[at], expected, 1e-10) << p << " " << c;
        EXPECT_NEAR(single[at], expected, 1e-6) << p << " " << c;
      }
  }
}

TEST(Position, ImageIsRowAndColumn) {
  PositionAlone<double> image({"position", "image"}, "", 2, 15, {3, 5});
  const std::vector<double> values = image.forward(15, 2);
  for (int r = 0; r < 3; ++r)
    for (int c = 0; c < 5; ++c) {
      EXPECT_DOUBLE_EQ(values[2 * (5 * r + c)], -0.5 + r / 3.0);
      EXPECT_DOUBLE_EQ(values[2 * (5 * r + c) + 1], -0.5 + c / 5.0);
    }
  EXPECT_EQ(image.position().channels(), 2);
}

TEST(Position, ImageHasNumbersForItsPixelsOnly) {
  const auto made_for = [](int tokens, Grid grid) {
    return mistake_of([&] { PositionAlone<float>({"position", "image"}, "", 2, tokens, grid); });
  };
  EXPECT_EQ(made_for(15, {3, 5}), "none");
  EXPECT_EQ(made_for(14, {3, 5}), "position/image has numbers for 15 tokens, and a sample of 14 is too short.");
  EXPECT_EQ(made_for(16, {3, 5}), "position/image has numbers for 15 tokens, and a sample of 16 is too long.");
  EXPECT_NE(made_for(15, {}).find("the samples are no images"), std::string::npos);
}

TEST(Position, LearnedIsATableForAsManyTokensAsInTraining) {
  PositionAlone<double> learned({"position", "learned"}, "position", 4, 6, {});
  auto& parameters = learned.parameters();
  const auto* table = parameters.find("position.table");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->shape, (std::vector<int>{6, 4}));
  parameters.initialise(1);
  const std::vector<double> rows = parameters.get(*table);
  EXPECT_EQ(learned.forward(6, 4), rows);
  learned.prepare(3);
  EXPECT_EQ(learned.forward(3, 4), std::vector<double>(rows.begin(), rows.begin() + 12));
  EXPECT_EQ(mistake_of([&] { learned.prepare(7); }),
            "position/learned has numbers for at most 6 tokens, and a sample of 7 is too long.");
}

/// f_h(d) by its formula.
double bells(const std::vector<double>& c, const std::vector<double>& a, const std::vector<double>& b, int heads,
             int head, int d) {
  double sum = 0;
  for (std::size_t s = 0; s < c.size() / heads; ++s) {
    const std::size_t at = s * heads + head;
    sum += a[at] * std::exp(-std::fabs(b[at]) * (c[at] - d) * (c[at] - d));
  }
  return sum;
}

TEST(Position, TisaIsASumOfBellsOverTheDistanceAtAnyLength) {
  const int heads = 3;
  PositionAlone<double> tisa({"position", "tisa"}, "tisa", heads, 10, {});
  auto& parameters = tisa.parameters();
  parameters.initialise(1);
  std::vector<double> sharpness = parameters.get(*parameters.find("tisa.sharpness"));
  sharpness[4] = -sharpness[4];  // its magnitude counts
  parameters.set(*parameters.find("tisa.sharpness"), sharpness);
  const std::vector<double> c = parameters.get(*parameters.find("tisa.offsets")),
                            a = parameters.get(*parameters.find("tisa.amplitudes"));
  EXPECT_EQ(parameters.find("tisa.offsets")->shape, (std::vector<int>{5, heads}));
  for (const int tokens : {1, 10, 20, 3000}) {
    tisa.prepare(tokens);
    const std::vector<double> values = tisa.forward(heads, 2 * tokens - 1);
    for (int h = 0; h < heads; ++h)
      for (int d = 1 - tokens; d < tokens; ++d)
        EXPECT_NEAR(values[static_cast<std::size_t>(h) * (2 * tokens - 1) + tokens - 1 + d],
                    bells(c, a, sharpness, heads, h, d), 1e-14);
  }
}

TEST(Position, TisaOfNoKernelsIsNoBias) {
  PositionAlone<double> tisa({"position", "tisa", {{"kernels", "0"}}}, "tisa", 2, 4, {});
  EXPECT_TRUE(tisa.parameters().entries().empty());
  EXPECT_EQ(tisa.forward(2, 7), std::vector<double>(14));
}

/// Means and standard deviations: c ~ N(0, 5), a and b ~ N(0.1, 0.01).
TEST(Position, TisaStartsFromItsDistributions) {
  PositionAlone<double> tisa({"position", "tisa", {{"kernels", "2000"}}}, "tisa", 10, 2, {});
  tisa.parameters().initialise(1);
  const auto expect = [&](const std::string& name, double mean, double deviation) {
    const std::vector<double> values = tisa.parameters().get(*tisa.parameters().find("tisa." + name));
    const double count = static_cast<double>(values.size());
    double sum = 0, squares = 0;
    for (const double value : values) sum += value;
    for (const double value : values) squares += (value - sum / count) * (value - sum / count);
    EXPECT_NEAR(sum / count, mean, 4 * deviation / std::sqrt(count)) << name;
    EXPECT_NEAR(std::sqrt(squares / count), deviation, 0.03 * deviation) << name;
  };
  expect("offsets", 0, 5);
  expect("amplitudes", 0.1, 0.01);
  expect("sharpness", 0.1, 0.01);
}

/// What a layer with the option `position` gets for a value.
struct ScoreBias {
  explicit ScoreBias(const std::string& name, const Sections* sections = nullptr) {
    OptionSet set;
    declare_score_bias(set);
    const Registry& registry = Registry::instance();
    const OptionValues options = OptionValues::from(set, {{"position", name}}, "attention.some",
                                                    [&](const std::string& kind) { return registry.names(kind); });
    Setup<double> setup{8, 8, options, ParameterScope<double>(parameters, "attention"), Signal(), registry};
    setup.sections = sections;
    position = make_score_bias(setup, 2);
  }
  Parameters<double> parameters;
  std::unique_ptr<Position<double>> position;
};

TEST(ScoreBias, HasItsParametersInAScopeOfItsName) {
  const ScoreBias tisa("tisa");
  ASSERT_NE(tisa.position, nullptr);
  ASSERT_NE(tisa.parameters.find("attention.tisa.offsets"), nullptr);
  EXPECT_EQ(tisa.parameters.find("attention.tisa.offsets")->shape, (std::vector<int>{5, 2}));
  EXPECT_EQ(ScoreBias("none").position, nullptr);
}

TEST(ScoreBias, TakesTheOptionsOfItsOwnSection) {
  const LayerEntry& entry = Registry::instance().get("position", "tisa");
  const Sections sections{{"position.tisa", OptionValues::from(entry.options, {{"kernels", "3"}})}};
  EXPECT_EQ(ScoreBias("tisa", &sections).parameters.find("attention.tisa.offsets")->shape, (std::vector<int>{3, 2}));
}

TEST(ScoreBias, IsNoPositionOfTokens) {
  EXPECT_EQ(mistake_of([] { ScoreBias("sinusoidal"); }),
            "[attention.some] position = sinusoidal gives channels to tokens, and no bias to scores; it takes none or "
            "tisa.");
  EXPECT_NE(mistake_of([] { ScoreBias("tiso"); }).find("did you mean tisa?"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline

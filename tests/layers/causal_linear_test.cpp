// attention/causal_linear as a layer: what it declares and refuses, and the conformance kit on its options together.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cases.hpp"
#include "conform/gradient_check.hpp"
#include "support/conforming.hpp"

namespace ridgeline::support {
namespace {

LayerName causal_linear(OptionTexts options = {}) { return {"attention", "causal_linear", std::move(options)}; }

std::string refusal(const LayerName& layer, int inputs, int outputs) {
  try {
    const LayerAlone<double> alone(layer, inputs, outputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    return error.what();
  }
  return "";
}

TEST(CausalLinearAttention, DeclaresWhatItIs) {
  const LayerEntry& entry = Registry::instance().get("attention", "causal_linear");
  EXPECT_TRUE(entry.properties(option_values(causal_linear())).causal);
  EXPECT_EQ(entry.options.find("position"), nullptr);  // it has no scores
  EXPECT_EQ(*entry.options.find("output_projection")->standard(), "no");
  EXPECT_TRUE(LayerAlone<float>(causal_linear(), 6, 6).layer().continues());
}

TEST(CausalLinearAttention, RefusesWhatItCannotDo) {
  EXPECT_EQ(refusal(causal_linear({{"heads", "5"}}), 24, 36),
            "[attention.causal_linear] heads = 5 does not divide both `embed`, 24, and `out`, 36; 1, 2, 3, 4, 6, 12 "
            "would.");
  EXPECT_EQ(refusal(causal_linear({{"out", "8"}}), 6, 6),
            "[attention.causal_linear] out = 8 is not the layer's outputs, 6, as it has to be where there is no output "
            "projection; `output_projection = yes` makes 6 of any.");
  EXPECT_NE(refusal(causal_linear({{"feature", "softplus"}}), 6, 6).find("elu1, relu, exp"), std::string::npos);
  EXPECT_NE(refusal(causal_linear({{"position", "tisa"}}), 6, 6).find("position"), std::string::npos);
  const std::string wide = refusal(causal_linear({{"embed", "4000000"}}), 1, 1);
  EXPECT_NE(wide.find("[attention.causal_linear] heads = 1 (the default) leaves each head 4000000 channels of keys and "
                      "1 of values"),
            std::string::npos)
      << wide;
}

/// What the kit does not combine: options together.
TEST(CausalLinearAttention, ConformsWithOptionsTogether) {
  for (const char* feature : {"elu1", "relu", "exp"})
    for (const char* normalize : {"yes", "no"})
      for (const char* mask_center : {"yes", "no"})
        expect_conforming(causal_linear({{"feature", feature},
                                         {"normalize", normalize},
                                         {"mask_center", mask_center},
                                         {"heads", "2"},
                                         {"embed", "12"},
                                         {"extra_channels", "24"},
                                         {"output_projection", "auto"}}));
}

/// The layers that share their projections make these, and their gradients, some thousand rows at a time.
TEST(ProjectedAttention, HasTheGradientsOfManyRows) {
  const OptionTexts options{{"heads", "2"}, {"extra_channels", "2"}, {"output_projection", "yes"}};
  for (const auto& [name, shape] : {std::pair("causal_linear", Shape{2, 4200}),
                                    std::pair("causal_linear", Shape{9, 500}), std::pair("causal", Shape{9, 500})}) {
    LayerAlone<double> layer({"attention", name, options}, 6, 4);
    randomise(layer.parameters(), 3);
    layer.prepare({shape});
    const GradientError error =
        worst_gradient(layer, random_tokens(shape, 6, 1), random_tokens(shape, 4, 2), {2, 1e-8});
    EXPECT_LT(error.error, 1e-7) << name << ": " << error.text();
  }
}

}  // namespace
}  // namespace ridgeline::support

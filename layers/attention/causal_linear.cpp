// attention/causal_linear: causal attention whose cost grows as the number of tokens.
//
//   q = x Wqᵀ + bq, [k, v] = [x, extra] Wkvᵀ + bkv; linear attention by head (linear_attention.hpp); heads side by side,
//   then `output` where it is asked for
#include <fmt/format.h>

#include "linear_attention.hpp"
#include "projected_attention.hpp"

namespace ridgeline {
namespace {

template <class Scalar>
class CausalLinearAttention final : public ProjectedAttention<Scalar> {
 public:
  static void declare(OptionSet& options) {
    declare_attention_options(options, {true, false, "no"});
    options.choice(
        "feature", "elu1", {"elu1", "relu", "exp"},
        "what queries and keys pass through: elu(x) + 1, max(x, 0), or exp(x) less the largest exponent so far");
    options.flag("normalize", true, "whether weights are divided by their sum over the tokens");
  }

  static Properties properties(const OptionValues&) {
    Properties properties;
    properties.causal = true;
    return properties;
  }

  explicit CausalLinearAttention(Setup<Scalar>& setup) : ProjectedAttention<Scalar>(setup) {
    const LinearAttentionSettings settings = read(this->sizes(), setup.options);
    const double scratch = linear_attention_scratch_bytes<Scalar>(settings);
    if (scratch > largest_linear_attention_scratch_bytes())
      throw setup.options.mistake(
          "heads",
          fmt::format("leaves each head {} channels of keys and {} of values, which take {:.3g} MiB for a chunk "
                      "of tokens; at most {:.3g} MiB can be had: more heads take less.",
                      settings.features(), settings.values(), scratch / 0x1p20,
                      largest_linear_attention_scratch_bytes() / 0x1p20));
    this->set_core(make_linear_attention<Scalar>(settings));
  }

  bool continues() const override { return true; }

 private:
  static LinearAttentionSettings read(const AttentionSizes& sizes, const OptionValues& options) {
    const std::string& name = options.text("feature");
    const Feature feature = name == "relu" ? Feature::relu : name == "exp" ? Feature::exp : Feature::elu1;
    return {sizes.embed, sizes.out, sizes.heads, sizes.mask_center, feature, options.flag("normalize")};
  }
};

RIDGELINE_REGISTER_LAYER("attention", "causal_linear", CausalLinearAttention,
                         "causal attention in time that grows as the number of tokens (arXiv 2006.16236)");

}  // namespace
}  // namespace ridgeline

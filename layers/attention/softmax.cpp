// attention/softmax and attention/causal: softmax attention over all tokens, and over those up to a token.
#include "layer/score_bias.hpp"
#include "softmax_core.hpp"

namespace ridgeline {
namespace {

template <class Scalar>
class SoftmaxAttention final : public ProjectedAttention<Scalar> {
 public:
  static void declare(OptionSet& options) { declare_attention_options(options, {false, true, "yes"}); }

  static Properties properties(const OptionValues& options) {
    const bool anywhere = options.text("position") == "none";
    return {false, anywhere, anywhere};
  }

  explicit SoftmaxAttention(Setup<Scalar>& setup) : ProjectedAttention<Scalar>(setup) {
    this->set_core(softmax::make_core<Scalar>(this->sizes(), false, make_score_bias(setup, this->sizes().heads)));
  }
};

template <class Scalar>
class CausalAttention final : public ProjectedAttention<Scalar> {
 public:
  static void declare(OptionSet& options) { declare_attention_options(options, {true, true, "yes"}); }

  static Properties properties(const OptionValues&) {
    Properties properties;
    properties.causal = true;
    return properties;
  }

  explicit CausalAttention(Setup<Scalar>& setup) : ProjectedAttention<Scalar>(setup) {
    this->set_core(softmax::make_core<Scalar>(this->sizes(), true, make_score_bias(setup, this->sizes().heads)));
  }

  bool continues() const override { return true; }
};

RIDGELINE_REGISTER_LAYER("attention", "softmax", SoftmaxAttention, "softmax over all tokens");
RIDGELINE_REGISTER_LAYER("attention", "causal", CausalAttention, "softmax over the tokens up to each one");

}  // namespace
}  // namespace ridgeline

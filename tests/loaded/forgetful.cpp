// Attention that is causal and cannot be asked for one token after another: it has no memory of its own.
#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
class Forgetful final : public loaded::IdentityLayer<Scalar> {
 public:
  using loaded::IdentityLayer<Scalar>::IdentityLayer;
  static Properties properties(const OptionValues&) {
    Properties promised;
    promised.causal = true;
    return promised;
  }
};

RIDGELINE_REGISTER_LAYER("attention", "forgetful", Forgetful, "causal, but only as a whole");

}  // namespace

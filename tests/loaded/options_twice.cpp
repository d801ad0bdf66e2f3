// Declares an option twice.
#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
class OptionsTwice final : public loaded::IdentityLayer<Scalar> {
 public:
  using loaded::IdentityLayer<Scalar>::IdentityLayer;
  static void declare(OptionSet& options) {
    options.flag("bend", false, "once");
    options.flag("bend", false, "and again");
  }
};

RIDGELINE_REGISTER_LAYER("ffn", "options_twice", OptionsTwice, "an option declared twice");

}  // namespace

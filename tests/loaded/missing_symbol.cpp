// Calls a function that nobody has.
#include "identity_layer.hpp"

namespace elsewhere {
int forgotten_function(double);
}

namespace {

using namespace ridgeline;

template <class Scalar>
class Missing final : public loaded::IdentityLayer<Scalar> {
 public:
  using loaded::IdentityLayer<Scalar>::IdentityLayer;
  Operations operations(const Shape&) const override { return {1. * elsewhere::forgotten_function(1), 0}; }
};

RIDGELINE_REGISTER_LAYER("ffn", "missing", Missing, "calls what is not there");

}  // namespace

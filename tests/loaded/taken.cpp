// A layer under a name that there is already, beside one under a new name.
#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
using NewName = loaded::IdentityLayer<Scalar>;
template <class Scalar>
using TakenName = loaded::IdentityLayer<Scalar>;

RIDGELINE_REGISTER_LAYER("ffn", "new_name", NewName, "a new name");
RIDGELINE_REGISTER_LAYER("ffn", "mlp", TakenName, "a built-in layer's name");

}  // namespace

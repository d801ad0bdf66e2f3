// A layer under the kind of positions, which have a call of their own.
#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
using Misplaced = loaded::IdentityLayer<Scalar>;

RIDGELINE_REGISTER_LAYER("position", "misplaced", Misplaced, "no position");

}  // namespace

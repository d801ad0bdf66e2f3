// A layer that hands its work to one of another plugin, which hands back to one of this.
#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
class First final : public loaded::HandingLayer<Scalar> {
 public:
  explicit First(Setup<Scalar>& setup) : loaded::HandingLayer<Scalar>(setup, "second_of_two") {}
};

template <class Scalar>
using Last = loaded::IdentityLayer<Scalar>;

RIDGELINE_REGISTER_LAYER("ffn", "first_of_two", First, "needs second_of_two");
RIDGELINE_REGISTER_LAYER("ffn", "last_of_two", Last, "what second_of_two needs");

}  // namespace

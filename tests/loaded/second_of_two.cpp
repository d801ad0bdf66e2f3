// The other of two plugins that need each other.
#include "identity_layer.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
class Second final : public loaded::HandingLayer<Scalar> {
 public:
  explicit Second(Setup<Scalar>& setup) : loaded::HandingLayer<Scalar>(setup, "last_of_two") {}
};

RIDGELINE_REGISTER_LAYER("ffn", "second_of_two", Second, "needs last_of_two");

}  // namespace

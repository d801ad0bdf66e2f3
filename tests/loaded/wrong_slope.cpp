// An activation whose slope is that of another function: it trains, and the conformance kit finds it.
#include "layer/activation.hpp"

namespace {

using namespace ridgeline;

struct WrongSlope {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION static ValueAndSlope<Scalar> apply(Scalar z) {
    const Scalar inverse = 1 / (1 + std::fabs(z));
    return {z * inverse, inverse};
  }
};

RIDGELINE_REGISTER_ACTIVATION("wrong_slope", WrongSlope, "z / (1 + |z|), its slope wrong");

}  // namespace

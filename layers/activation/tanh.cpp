#include "layer/activation.hpp"

namespace ridgeline {
namespace {

struct HyperbolicTangent {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION static ValueAndSlope<Scalar> apply(Scalar z) {
    return hyperbolic_tangent(z);
  }
};

RIDGELINE_REGISTER_ACTIVATION("tanh", HyperbolicTangent, "hyperbolic tangent");

}  // namespace
}  // namespace ridgeline

// A plugin as it should be, and as small as it can be: one function.
#include "layer/activation.hpp"

namespace {

using namespace ridgeline;

struct Softsign {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION static ValueAndSlope<Scalar> apply(Scalar z) {
    const Scalar inverse = 1 / (1 + std::fabs(z));
    return {z * inverse, inverse * inverse};
  }
};

RIDGELINE_REGISTER_ACTIVATION("softsign", Softsign, "z / (1 + |z|)");

}  // namespace

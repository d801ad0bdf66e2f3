#include "layer/activation.hpp"

namespace ridgeline {
namespace {

struct Gelu {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION static ValueAndSlope<Scalar> apply(Scalar z) {
    return gelu(z);
  }
};

RIDGELINE_REGISTER_ACTIVATION("gelu", Gelu, "z Φ(z), exact, with the normal distribution's Φ (Hendrycks, Gimpel 2016)");

}  // namespace
}  // namespace ridgeline

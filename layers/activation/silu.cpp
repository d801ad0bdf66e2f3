#include "layer/activation.hpp"

namespace ridgeline {
namespace {

struct Silu {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION static ValueAndSlope<Scalar> apply(Scalar z) {
    return silu(z);
  }
};

RIDGELINE_REGISTER_ACTIVATION("silu", Silu, "z / (1 + exp(-z)) (Elfwing, Uchibe, Doya 2018)");

}  // namespace
}  // namespace ridgeline

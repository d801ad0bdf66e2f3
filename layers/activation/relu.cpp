#include "layer/activation.hpp"

namespace ridgeline {
namespace {

struct Relu {
  template <class Scalar>
  KOKKOS_INLINE_FUNCTION static ValueAndSlope<Scalar> apply(Scalar z) {
    // A NaN is in neither half, and stays.
    return {z > Scalar(0) ? z : (z <= Scalar(0) ? Scalar(0) : z), z > Scalar(0) ? Scalar(1) : Scalar(0)};
  }
};

RIDGELINE_REGISTER_ACTIVATION("relu", Relu, "the larger of z and 0");

}  // namespace
}  // namespace ridgeline

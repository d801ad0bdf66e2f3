// A position as a layer, so that the checks of layers examine it.
#pragma once

#include <memory>

#include "conform/check.hpp"

namespace ridgeline::conform {

/// What the kit says of the samples that a position is made for: an image's pixels.
constexpr Grid pixels = {4, 6};

/// A layer that does not look at x. y(b, n, c) is the number c of token n; of a bias, that of head c for the distance n
/// where b is even, and -n where it is odd. `setup` is a layer's: what a position is told of the samples is `pixels`.
template <class Scalar>
std::unique_ptr<Layer<Scalar>> make_position_layer(const LayerEntry& entry, const Setup<Scalar>& setup);

}  // namespace ridgeline::conform

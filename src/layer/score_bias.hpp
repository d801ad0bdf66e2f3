// The bias that a layer may add to its scores: a position by name, with parameters of the layer's own.
#pragma once

#include "layer/registry.hpp"

namespace ridgeline {

/// Declares the option `position`, for a layer that has scores.
Option& declare_score_bias(OptionSet& options);

/// The position that the option `position` names, for so many heads, its parameters in a scope of its name; null for
/// none. A part of the layer, it raises the layer's signal. Throws Error(Exit::mistake) where what it names is no bias.
template <class Scalar>
std::unique_ptr<Position<Scalar>> make_score_bias(Setup<Scalar>& setup, int heads);

/// The positions of one use, in alphabetical order.
std::vector<std::string> positions_for(PositionUse use, const Registry& registry);

}  // namespace ridgeline

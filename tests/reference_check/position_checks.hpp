// The reference files of positions, which are asked for numbers and not given tokens.
#pragma once

#include "checks.hpp"
#include "comparison.hpp"

namespace ridgeline::reference {

/// The numbers of tokens, by every position that the file names.
Verdict check_positions(const Case& reference);

/// A bias by distance: its numbers, the matrix [heads, N, N] that an attention looks up in them, and its parameters'
/// gradients from those of both.
Verdict check_bias(const Case& reference);

/// The number, and which data set it is from where it is too large.
std::string text_of(const Worst& worst);
Verdict verdict_of(const Worst& in_double, const Worst& in_single);

/// What errors are allowed in a precision.
template <class Scalar>
constexpr double allowed_error = sizeof(Scalar) == sizeof(double) ? 1e-10 : 2e-4;

double largest_of(const Arrays& arrays);

/// Sets the parameters to the file's. Throws Failed unless it holds exactly those there are, in their shapes.
template <class Scalar>
void set_parameters(Parameters<Scalar>& parameters, const Arrays& arrays);

}  // namespace ridgeline::reference

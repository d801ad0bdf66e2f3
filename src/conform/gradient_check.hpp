// Gradients against differences: the conformance kit and the tests of whole models are made of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "conform/subject.hpp"

namespace ridgeline::conform {

/// Standard normal numbers; the same seed gives the same ones.
Tokens random_tokens(const Shape& shape, int channels, std::uint64_t seed);

/// Draws a subject's parameters from their initial distributions; those that start as constants get some noise, as ones
/// and zeros would hide mistakes.
template <class Scalar>
void randomise(Parameters<Scalar>& parameters, std::uint64_t seed);

struct GradientCheck {
  int entries = 24;           ///< of each parameter and of x, drawn at random; all where there are fewer
  double good_enough = 1e-9;  ///< no smaller step is tried where the error is below
  std::uint64_t seed = 1;
};

/// The derivative that is furthest from the difference quotient.
struct GradientError {
  std::string where;  ///< "query.weight[3, 5]", "x[0, 2, 1]", or "a direction through all entries"
  double error = 0;   ///< beside the largest entry of the same array
  double backward = 0;
  double difference = 0;

  std::string text() const;
};

/// Compares the gradients of L = Σ dy·y with central differences, extrapolated to step zero by Richardson's method:
/// entry by entry for a sample of every array, and once along a random direction through all of them. As a function
/// may have a kink (relu) next to a value, or be curved, smaller steps are tried where a difference is off: a gradient
/// that is wrong stays off at all of them.
///
/// The subject has been prepared for the shape of x; its parameters are as before afterwards, rounding aside.
GradientError worst_gradient(Subject<double>& subject, const Tokens& x, const Tokens& dy,
                             const GradientCheck& check = {});

}  // namespace ridgeline::conform

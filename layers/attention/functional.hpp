// Functional attention (arXiv 2605.31559): what its two orders of evaluation share.
#pragma once

#include "layer/layer.hpp"
#include "math/linear.hpp"
#include "math/ridge.hpp"

namespace ridgeline::functional {

struct Settings {
  int inputs;   ///< channels of x, and the width of every head
  int outputs;  ///< channels of y
  int heads;
  int basis;
  double ridge;
  bool joint;     ///< the softmax runs over all heads' basis functions of a token, not over each head's
  bool averaged;  ///< contractions over tokens are divided by their number

  int all_basis() const { return heads * basis; }   ///< basis functions of all heads
  int all_width() const { return heads * inputs; }  ///< channels of all heads
  int group() const { return joint ? all_basis() : basis; }
  double token_weight(int tokens) const { return averaged ? 1.0 / tokens : 1.0; }
};

/// The layer's parameters, [out, in] each: query, key, value: inputs → heads·inputs; query_basis, key_basis:
/// heads·inputs → heads·basis; output: heads·inputs → outputs.
template <class Scalar>
struct Maps {
  Maps(const ParameterScope<Scalar>& parameters, const Settings& s)
      : query(parameters, "query", s.inputs, s.all_width()),
        key(parameters, "key", s.inputs, s.all_width()),
        value(parameters, "value", s.inputs, s.all_width()),
        query_basis(parameters, "query_basis", s.all_width(), s.all_basis()),
        key_basis(parameters, "key_basis", s.all_width(), s.all_basis()),
        output(parameters, "output", s.all_width(), s.outputs) {}

  Linear<Scalar> query, key, value, query_basis, key_basis, output;
};

// The two orders of evaluation are layers themselves: they compute the same function and the same gradients, rounding
// aside, from the same parameters.

/// Tokens contracted first, with folded weights: no array of tokens × heads·width exists.
template <class Scalar>
std::unique_ptr<Layer<Scalar>> contracted_order(const Settings& settings, Maps<Scalar>& maps, Signal signal);

/// As the formulas are written, q, k and v for every token: cheaper for few tokens.
template <class Scalar>
std::unique_ptr<Layer<Scalar>> direct_order(const Settings& settings, Maps<Scalar>& maps, Signal signal);

}  // namespace ridgeline::functional

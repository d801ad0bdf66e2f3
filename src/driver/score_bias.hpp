// What attention adds to its scores for how far a key stands from the query, by block, for the report.
#pragma once

#include <string>
#include <vector>

#include "model/model.hpp"

namespace ridgeline {

/// Of one block: f_h(d) for every head and distance d = key - query, -(N-1) … N-1.
struct ScoreBias {
  std::string block;     ///< "block 0"
  std::string position;  ///< "tisa"
  int heads = 0;
  int tokens = 0;
  bool causal = false;         ///< keys behind the query are not looked at
  std::vector<double> values;  ///< [heads, 2 tokens - 1]
};

/// Heads of the block that has most of them among those whose attention has such a bias; 0: none has.
int most_biased_heads(const ModelPlan& plan);

/// Of every block whose attention has such a bias, with the model's parameters as they are, for samples of `tokens`.
template <class Scalar>
std::vector<ScoreBias> score_biases(const ModelPlan& plan, const Parameters<Scalar>& parameters, int tokens);

}  // namespace ridgeline

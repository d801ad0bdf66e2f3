// Softmax attention between the projections, causal or not: scores q·k / sqrt(E/H), plus a bias by distance where there
// is one; of a token, the softmax over the keys that it sees weighs their values.
#pragma once

#include <memory>

#include "attention_core.hpp"
#include "projected_attention.hpp"

namespace ridgeline::softmax {

/// How tiles are worked on: in the registers of a CPU where kernels run on one, or by the loops that GPUs run, which
/// tests ask for.
enum class Tiles { fastest, portable };

/// `bias` may be null. A token that sees nothing gets zeros. Scores are made tile by tile, and again in the backward
/// pass: memory grows as the tokens.
template <class Scalar>
std::unique_ptr<AttentionCore<Scalar>> make_core(const AttentionSizes& sizes, bool causal,
                                                 std::unique_ptr<Position<Scalar>> bias, Tiles tiles = Tiles::fastest);

extern template std::unique_ptr<AttentionCore<float>> make_core(const AttentionSizes&, bool,
                                                                std::unique_ptr<Position<float>>, Tiles);
extern template std::unique_ptr<AttentionCore<double>> make_core(const AttentionSizes&, bool,
                                                                 std::unique_ptr<Position<double>>, Tiles);

}  // namespace ridgeline::softmax

// Linear causal attention between its projections: queries and keys pass through a feature map φ, and
//
//   output_i = Σ_j (φ(q_i) φ(k_j)) v_j / (Σ_j φ(q_i) φ(k_j) + 1e-10)        j ≤ i, or j < i where a token's own is masked
//
// (with Feature::exp without the 1e-10: there the sum is at least 1), in O(N) time and memory: chunks of tokens, inside of
// which a running state (running_state.hpp) goes from token to token, and before each of which stands the state of all
// chunks before it.
#pragma once

#include "attention_core.hpp"
#include "layer/layer.hpp"

namespace ridgeline {

/// φ: elu(x) + 1; max(x, 0); exp(x), less the largest exponent so far: φ(q_i) φ(k_j) = Σ_e exp(q_ie + k_je - m_i), m_i the
/// largest q_ie + k_je of all e and all j that i sees.
enum class Feature { elu1, relu, exp };

struct LinearAttentionSettings {
  int embed, out;  ///< channels of all heads
  int heads;       ///< divides both
  bool mask_center;
  Feature feature;
  bool normalize;  ///< otherwise the numerator alone

  int features() const { return embed / heads; }  ///< of a head
  int values() const { return out / heads; }      ///< of a head
  /// Of a head's state: its values, and a 1 that counts for the normaliser.
  int columns() const { return values() + (normalize ? 1 : 0); }
  /// Nothing cancels the largest exponent: the gradient goes through it.
  bool largest_matters() const { return feature == Feature::exp && !normalize; }
};

template <class Scalar>
std::unique_ptr<AttentionCore<Scalar>> make_linear_attention(const LinearAttentionSettings& settings);

/// Bytes of a team's scratch memory, and the most that there is.
template <class Scalar>
double linear_attention_scratch_bytes(const LinearAttentionSettings& settings);
double largest_linear_attention_scratch_bytes();

}  // namespace ridgeline

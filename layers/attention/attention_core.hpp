// What softmax, causal and linear causal attention do between their projections; the projections, the extra channels and
// the options that they share are ProjectedAttention's.
#pragma once

#include "layer/layer.hpp"

namespace ridgeline {

/// Attention of queries [B, N, E] over keys and values that lie side by side, [B, N, E + O]; the heads share E and O in
/// equal parts, side by side: head h has the columns h E/H … of the queries and keys, and h O/H … of the values and of
/// the result [B, N, O]. Calls come as those of a Layer.
template <class Scalar>
class AttentionCore {
 public:
  virtual ~AttentionCore() = default;

  virtual void reserve(const Shape& shape, Arena& arena) = 0;
  virtual void forward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<Scalar> attended) = 0;
  /// After forward with the same arguments. Writes both gradients; adds to those of parameters of its own, if any.
  virtual void backward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<const Scalar> attended,
                        Tensor<const Scalar> dattended, Tensor<Scalar> dqueries, Tensor<Scalar> dkeys_values) = 0;

  /// As those of a Layer: the tensors hold one token a sample, the next one.
  virtual void reserve_sequence(const Shape& longest, Arena& arena) = 0;
  virtual void begin_sequence() = 0;
  virtual void next_token(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<Scalar> attended) = 0;

  /// As a Layer's: of forward and backward, and which of them gemm does not count.
  virtual Operations operations(const Shape& shape) const = 0;
};

}  // namespace ridgeline

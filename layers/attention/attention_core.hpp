// What softmax, causal and linear causal attention do between their projections; the projections, the extra channels and
// the options that they share are ProjectedAttention's.
#pragma once

#include <limits>

#include "layer/layer.hpp"
#include "math/lanes.hpp"

namespace ridgeline {

/// Tokens, of one sample after another: rows of a tensor taken as a matrix.
struct Rows {
  int first, count;
};

/// Rows that stay in a processor's cache from one kernel over them to the next, so that they come from memory once. A
/// device has all at once: each kernel costs a launch there, and needs thousands of rows.
inline constexpr int rows_at_once = detail::team_on_host<Team> ? 4096 : std::numeric_limits<int>::max();

/// Attention of queries [B, N, E] over keys and values that lie side by side, [B, N, E + O]; the heads share E and O in
/// equal parts, side by side: head h has the columns h E/H … of the queries and keys, and h O/H … of the values and of
/// the result [B, N, O]. Calls come as those of a Layer.
template <class Scalar>
class AttentionCore {
 public:
  virtual ~AttentionCore() = default;

  virtual void reserve(const Shape& shape, Arena& arena) = 0;
  virtual void forward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<Scalar> attended) = 0;

  /// After forward with the same arguments, and before backward: what has to go over all tokens first.
  virtual void begin_backward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values,
                              Tensor<const Scalar> attended, Tensor<const Scalar> dattended) = 0;
  /// The gradients of these rows' queries, [rows, E], and keys and values, [rows, E + O], are written; those of parameters
  /// of its own, if any, are added to. Once for each of the rows that rows_from gives, in any order.
  virtual void backward(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<const Scalar> attended,
                        Tensor<const Scalar> dattended, Rows rows, Matrix<Scalar> dqueries,
                        Matrix<Scalar> dkeys_values) = 0;
  /// The rows from `first` on that backward takes at once: the first time the most, and all of them unless a core can
  /// do with less.
  virtual Rows rows_from(const Shape& shape, int first) const { return {first, shape.rows() - first}; }

  /// As those of a Layer: the tensors hold one token a sample, the next one.
  virtual void reserve_sequence(const Shape& longest, Arena& arena) = 0;
  virtual void begin_sequence() = 0;
  virtual void next_token(Tensor<const Scalar> queries, Tensor<const Scalar> keys_values, Tensor<Scalar> attended) = 0;

  /// As a Layer's: of forward and backward, and which of them gemm does not count.
  virtual Operations operations(const Shape& shape) const = 0;
};

}  // namespace ridgeline

// Functional attention's basis functions: softmax of a token's logits, with what the contractions need beside it.
#pragma once

#include "core/arena.hpp"
#include "math/rows.hpp"

namespace ridgeline::functional {

/// Softmax over groups of adjacent columns of [B·N, columns], forward and backward in place.
template <class Scalar>
class BasisFunctions {
 public:
  /// `group` divides `columns`.
  BasisFunctions(int columns, int group) : columns_(columns), group_(group) {}

  void reserve(const Shape& shape, Arena& arena);

  /// logits + bias [columns] become Φ. Where `sums` [columns, B] is not empty, it becomes
  /// weight Σ over the tokens of Φ.
  void forward(Matrix<Scalar> logits, Vector<const Scalar> bias, Scalar weight, Matrix<Scalar> sums) const;

  /// dΦ, plus weight · dsums [columns, B] for every token where that is not empty, becomes dlogits. Where `bias_gradient`
  /// [columns] is not empty it becomes dlogits summed over all tokens.
  void backward(Matrix<const Scalar> phi, Matrix<Scalar> gradient, Scalar weight, Matrix<const Scalar> dsums,
                Vector<Scalar> bias_gradient) const;

 private:
  int columns_;
  int group_;
  Shape shape_;
  int chunk_ = 1;           // tokens of a sample that one team takes
  int chunks_ = 0;          // of a sample
  Matrix<Scalar> partial_;  // [B·chunks, 2·columns]: sums over a chunk; what is the same for every token of it
};

extern template class BasisFunctions<float>;
extern template class BasisFunctions<double>;

}  // namespace ridgeline::functional

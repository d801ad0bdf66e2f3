// A transformer block: attention and a feed-forward network, each with a residual and a layer normalisation.
#pragma once

#include <memory>

#include "layer/layer.hpp"
#include "math/layer_norm.hpp"

namespace ridgeline {

/// Where the normalisation stands.
///   normed  u = LN1(x) + attention(x);  w = LN2(u);  y = w + ffn(w)
///   pre     u = x + attention(LN1(x));               y = u + ffn(LN2(u))
enum class Residual { normed, pre };

template <class Scalar>
class Block {
 public:
  /// Declares norm1 and norm2 beside what the two layers have declared, all [B, N, width].
  Block(Residual residual, int width, ParameterScope<Scalar> parameters, std::unique_ptr<Layer<Scalar>> attention,
        std::unique_ptr<Layer<Scalar>> ffn);

  void reserve(const Shape& shape, Arena& arena);
  void forward(Tensor<const Scalar> x, Tensor<Scalar> y) { pass(x, y, &Layer<Scalar>::forward); }
  /// dx overlaps neither x nor dy; it is always written.
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx);

  /// As a Layer's: x and y hold one token a sample.
  void reserve_sequence(const Shape& longest, Arena& arena);
  void begin_sequence();
  void next_token(Tensor<const Scalar> x, Tensor<Scalar> y) { pass(x, y, &Layer<Scalar>::next_token); }

  Layer<Scalar>& attention() { return *attention_; }
  const Layer<Scalar>& attention() const { return *attention_; }
  const Layer<Scalar>& ffn() const { return *ffn_; }

 private:
  using LayerPass = void (Layer<Scalar>::*)(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y);

  void reserve_states(const Shape& shape, Arena& arena);
  void pass(Tensor<const Scalar> x, Tensor<Scalar> y, LayerPass call);

  Residual residual_;
  int width_;
  LayerNorm<Scalar> norm1_, norm2_;
  std::unique_ptr<Layer<Scalar>> attention_, ffn_;
  Tensor<Scalar> first_normed_;     // LN1(x)
  Tensor<Scalar> attended_;         // u
  Tensor<Scalar> second_normed_;    // LN2(u)
  Tensor<Scalar> layer_gradient_;   // of what the attention or the network was given
  Tensor<Scalar> middle_gradient_;  // of u
};

extern template class Block<float>;
extern template class Block<double>;

}  // namespace ridgeline

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
  void forward(Tensor<const Scalar> x, Tensor<Scalar> y);
  /// dx overlaps neither x nor dy; it is always written.
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx);

  const Layer<Scalar>& attention() const { return *attention_; }
  const Layer<Scalar>& ffn() const { return *ffn_; }

 private:
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

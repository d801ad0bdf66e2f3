// What softmax, causal and linear causal attention share: the projections before and after, the channels that enter keys
// and values only, and the options.
#pragma once

#include <memory>

#include "attention_core.hpp"
#include "layer/registry.hpp"
#include "math/linear.hpp"

namespace ridgeline {

/// Where the layers that share ProjectedAttention differ in their options.
struct AttentionOptions {
  bool causal;                    ///< `mask_center` is one
  bool scores;                    ///< `position` is one
  const char* output_projection;  ///< its default
};

/// Declares `heads`, `embed`, `out`, `extra_channels`, `output_projection`, and those of `which`.
void declare_attention_options(OptionSet& options, const AttentionOptions& which);

/// Sizes of a layer, from its options.
struct AttentionSizes {
  int inputs;        ///< channels of x: C
  int extra;         ///< channels that enter keys and values only: X
  int outputs;       ///< channels of y
  int embed;         ///< channels of queries, and of keys: E
  int out;           ///< channels of values: O
  int heads;         ///< which share E and O in equal parts
  bool projected;    ///< y = `output` of the heads side by side, otherwise these themselves
  bool mask_center;  ///< a token does not look at itself

  int head_embed() const { return embed / heads; }
  int head_out() const { return out / heads; }
};

/// Throws Error(Exit::mistake) where heads do not divide `embed` and `out`, and where `out` has to be the layer's
/// outputs and is not.
AttentionSizes attention_sizes(int inputs, int outputs, const OptionValues& options);

/// x → queries [B, N, E]; x and the extra channels → keys and values [B, N, E + O]; a core between them; → y. The
/// parameters: `query` C → E, `key_value` C + X → E + O (of inputs, x's channels first; of outputs, the keys), and where
/// the layer projects its output, `output` O → outputs.
template <class Scalar>
class ProjectedAttention : public Layer<Scalar> {
 public:
  void reserve(const Shape& shape, Arena& arena) final;
  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) final;
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) final;
  Operations operations(const Shape& shape) const final;

  int extra_channels() const final { return sizes_.extra; }
  void set_extra(Tensor<const Scalar> extra, Tensor<Scalar> dextra) final;

  void reserve_sequence(const Shape& longest, Arena& arena) final;
  void begin_sequence() final { core_->begin_sequence(); }
  void next_token(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) final;

 protected:
  /// Declares the projections. Throws as attention_sizes.
  explicit ProjectedAttention(Setup<Scalar>& setup);

  const AttentionSizes& sizes() const { return sizes_; }
  /// What lies between the projections; once, before anything else is called.
  void set_core(std::unique_ptr<AttentionCore<Scalar>> core) { core_ = std::move(core); }

 private:
  void reserve_tokens(const Shape& shape, Arena& arena);
  void project(Tensor<const Scalar> x) const;
  void write(Tensor<const Scalar> residual, Tensor<Scalar> y) const;
  Tensor<const Scalar> output_backward(Tensor<const Scalar> dy);
  void key_value_product(Matrix<const Scalar> x, Matrix<const Scalar> extra, Matrix<Scalar> y) const;
  void project_backward(Tensor<const Scalar> x, Rows all, Tensor<Scalar> dx);
  void query_backward(Matrix<const Scalar> x, Matrix<const Scalar> dy, Matrix<Scalar> dx);
  void key_value_backward(Matrix<const Scalar> x, Matrix<const Scalar> dy, Matrix<Scalar> dx);
  void extra_backward(Matrix<const Scalar> extra, Matrix<const Scalar> dy, Matrix<Scalar> dextra);

  AttentionSizes sizes_;
  Linear<Scalar> query_, key_value_;
  std::unique_ptr<Linear<Scalar>> output_;
  std::unique_ptr<AttentionCore<Scalar>> core_;
  ColumnSums<Scalar> sums_;
  Tensor<Scalar> queries_, keys_values_, attended_, attended_gradient_;
  Matrix<Scalar> queries_gradient_, keys_values_gradient_;  // [rows that the core takes at once, ·]
  Tensor<const Scalar> extra_;
  Tensor<Scalar> extra_gradient_;
};

extern template class ProjectedAttention<float>;
extern template class ProjectedAttention<double>;

}  // namespace ridgeline

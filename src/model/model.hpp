// The model: an encoder, blocks, and a head, over one flat buffer of parameters.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "layer/registry.hpp"
#include "math/linear.hpp"
#include "model/block.hpp"

namespace ridgeline {

/// Which layer, with which options.
struct LayerChoice {
  std::string name;
  OptionValues options;
};

/// What a model is made from.
struct ModelPlan {
  int inputs = 0;   ///< channels of a token as the task gives it
  int targets = 0;  ///< channels of a prediction
  int width = 0;
  Residual residual = Residual::normed;
  LayerChoice encoder;
  std::vector<LayerChoice> attention;  ///< one a block
  LayerChoice ffn;
};

/// A layer of a model, for people: its name as in parameters' names, its share of parameters and operations.
struct LayerShare {
  std::string name;
  std::size_t parameters = 0;
  Operations operations;
};

/// Parameters are named encoder.…, blocks.0.attention.…, blocks.0.norm1.…, blocks.0.ffn.…, head.….
template <class Scalar>
class Model {
 public:
  /// Makes every layer from the registry; takes no memory for parameters yet.
  explicit Model(const ModelPlan& plan, const Registry& registry = Registry::instance());

  /// Allocates the parameters, all zero: initialise them, or set them.
  void allocate() { parameters_.allocate(); }

  Parameters<Scalar>& parameters() { return parameters_; }
  const Parameters<Scalar>& parameters() const { return parameters_; }

  /// Makes room for all of these shapes; between two calls every shape that is run must be among them.
  void prepare(const std::vector<Shape>& shapes);
  /// Bytes that prepare would allocate.
  std::size_t bytes_for(const std::vector<Shape>& shapes);

  /// prediction [B, N, targets] from x [B, N, inputs].
  void forward(Tensor<const Scalar> x, Tensor<Scalar> prediction);
  /// From dL/dprediction: adds to all gradients, and writes dL/dx unless `dx` is empty. After forward with the same x.
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dprediction, Tensor<Scalar> dx = {});

  /// Encoder, each block's attention and network, norms, head.
  std::vector<LayerShare> layers(const Shape& shape) const;
  Operations operations(const Shape& shape) const;

  /// What a step tells the host. The numbers are the trainer's; of the signals there is a slot for every layer, all
  /// silent after `clear_signals`.
  Status& status() { return status_; }
  const Status& status() const { return status_; }
  Kokkos::View<std::uint64_t*, Memory> signals() const { return status_.signals(); }
  void clear_signals();
  /// What a raised slot means: "blocks.1.attention: …".
  std::string explain(std::size_t slot, const Signal::Content& content) const;

 private:
  std::unique_ptr<Layer<Scalar>> make(const std::string& kind, const LayerChoice& choice, int inputs, int outputs,
                                      const std::string& name, std::size_t slot);
  void reserve(const Shape& shape, Arena& arena);
  void lay_out(const Shape& shape);

  const Registry& registry_;
  ModelPlan plan_;
  Parameters<Scalar> parameters_;
  Status status_;
  std::vector<std::string> slot_names_;
  std::unique_ptr<Layer<Scalar>> encoder_;
  std::vector<std::unique_ptr<Block<Scalar>>> blocks_;
  std::unique_ptr<Linear<Scalar>> head_;

  Arena arena_;
  Shape shape_;
  std::vector<Tensor<Scalar>> states_;  // what each block is given, and what the head is given
  Tensor<Scalar> gradients_[2];         // of the states, in turn
  ColumnSums<Scalar> head_sums_;
  std::vector<std::string> block_names_;
};

extern template class Model<float>;
extern template class Model<double>;

}  // namespace ridgeline

// The model: an encoder, blocks, and a head, over one flat buffer of parameters.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.hpp"
#include "layer/registry.hpp"
#include "math/linear.hpp"
#include "model/block.hpp"
#include "model/input_position.hpp"

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
  bool width_is_overridden = false;  ///< by `--set`, for messages
  Residual residual = Residual::normed;
  LayerChoice encoder;
  std::vector<LayerChoice> attention;  ///< one a block
  LayerChoice ffn;
  std::optional<LayerChoice> position = {};  ///< of the input's tokens
  PositionMode position_mode = PositionMode::add;
  bool final_norm = false;  ///< a layer normalisation before the head
  int extra_channels = 0;   ///< of a token, besides its input: what attention may look at
  int tokens = 0;           ///< of a sample of the training set
  Grid grid = {};           ///< where samples are images
  Sections sections = {};   ///< of what the options of layers name
};

/// A layer of a model, for people: its name as in parameters' names, its share of parameters and operations.
struct LayerShare {
  std::string name;
  std::size_t parameters = 0;
  Operations operations;
};

/// Parameters are named position.…, encoder.…, blocks.0.attention.…, blocks.0.norm1.…, blocks.0.ffn.…, final_norm.…,
/// head.….
template <class Scalar>
class Model {
 public:
  /// Makes every layer from the registry; takes no memory for parameters yet. Throws Error(Exit::mistake) where a layer
  /// or the position refuses to be made, or attention takes other extra channels than there are.
  explicit Model(const ModelPlan& plan, const Registry& registry = Registry::instance());

  /// Allocates the parameters, all zero: initialise them, or set them.
  void allocate() { parameters_.allocate(); }

  Parameters<Scalar>& parameters() { return parameters_; }
  const Parameters<Scalar>& parameters() const { return parameters_; }

  /// Makes room for all of these shapes; between two calls every shape that is run must be among them. Throws
  /// Error(Exit::mistake) where the position has no numbers for so many tokens.
  void prepare(const std::vector<Shape>& shapes);
  /// Bytes that prepare would allocate.
  std::size_t bytes_for(const std::vector<Shape>& shapes);

  /// prediction [B, N, targets] from x [B, N, inputs] and extra [B, N, extra channels], which is there until backward.
  void forward(Tensor<const Scalar> x, Tensor<Scalar> prediction, Tensor<const Scalar> extra = {});
  /// From dL/dprediction: adds to all gradients, and writes dL/dx unless `dx` is empty. After forward with the same x.
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dprediction, Tensor<Scalar> dx = {});

  /// What a block was given when `forward` was called last, [B, N, width]; of the number of blocks, what they gave.
  Tensor<const Scalar> state(std::size_t block) const { return states_.at(block); }

  /// Makes room for sequences of up to `longest.tokens` tokens, given one after another, besides that for `prepare`'s
  /// shapes. Throws Error(Exit::mistake), naming it, where a layer cannot go on from token to token.
  void prepare_sequence(const Shape& longest);
  /// Bytes that prepare_sequence would allocate. Throws as that.
  std::size_t bytes_for_sequence(const Shape& longest);
  /// Forgets all tokens. To be called first, and again after forward.
  void begin_sequence();
  /// prediction [B, 1, targets] of the token after those so far, from x [B, 1, inputs] and extra [B, 1, extra channels]:
  /// that which forward has for this token, rounding aside.
  void next_token(Tensor<const Scalar> x, Tensor<Scalar> prediction, Tensor<const Scalar> extra = {});

  /// Position, encoder, each block's attention and network, norms, head.
  std::vector<LayerShare> layers(const Shape& shape) const;
  Operations operations(const Shape& shape) const;

  /// What a step tells the host. The numbers are the trainer's; of the signals there is a slot for every layer and
  /// for the position of tokens, all silent after `clear_signals`.
  Status& status() { return status_; }
  const Status& status() const { return status_; }
  Kokkos::View<std::uint64_t*, Memory> signals() const { return status_.signals(); }
  void clear_signals();
  /// What a raised slot means: "blocks.1.attention: …".
  std::string explain(std::size_t slot, const Signal::Content& content) const;

 private:
  std::unique_ptr<Layer<Scalar>> make(const std::string& kind, const LayerChoice& choice, int inputs, int outputs,
                                      const std::string& name, std::size_t slot);
  void make_position();
  void make_block(std::size_t number);
  void reserve(const Shape& shape, Arena& arena);
  void check_continues() const;
  void reserve_sequence(const Shape& longest, Arena& arena);
  void lay_out(const Shape& shape);
  void set_extra(Tensor<const Scalar> extra, const Shape& shape);
  void encode(Tensor<const Scalar> x, int first,
              void (Layer<Scalar>::*call)(Tensor<const Scalar>, Tensor<const Scalar>, Tensor<Scalar>));
  void predict(Tensor<Scalar> prediction);
  Matrix<const Scalar> head_input();

  const Registry& registry_;
  ModelPlan plan_;
  Parameters<Scalar> parameters_;
  Status status_;
  std::vector<std::string> slot_names_;
  std::unique_ptr<InputPosition<Scalar>> position_;  // null where there is none
  std::unique_ptr<Layer<Scalar>> encoder_;
  std::vector<std::unique_ptr<Block<Scalar>>> blocks_;
  std::unique_ptr<LayerNorm<Scalar>> final_norm_;  // null where there is none
  std::unique_ptr<Linear<Scalar>> head_;

  Arena arena_;
  Shape shape_;
  std::vector<Tensor<Scalar>> states_;  // what each block is given, and what the head is given
  Tensor<Scalar> gradients_[2];         // of the states, in turn
  Tensor<Scalar> normed_;               // the last state, where there is a final norm
  ColumnSums<Scalar> head_sums_;
  std::vector<std::string> block_names_;

  Arena sequence_arena_;
  Shape longest_;
  int next_ = -1;  // number of the next token; -1 where the layers are not laid out for one after another
};

extern template class Model<float>;
extern template class Model<double>;

}  // namespace ridgeline

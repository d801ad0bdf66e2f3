// What tells a model's tokens where they stand: numbers added to what the encoder gives, or channels beside its input's.
#pragma once

#include <memory>

#include "layer/registry.hpp"

namespace ridgeline {

enum class PositionMode { add, concatenate };

/// For a token, `numbers` stands for the position's channels.
///   add          state = encoder(x) + numbers
///   concatenate  state = encoder(x, numbers)
template <class Scalar>
class InputPosition {
 public:
  /// For tokens of `inputs` channels. The position's parameters are declared in the setup's scope, which is one of
  /// `parameters`. Throws Error(Exit::mistake) where the position is none of tokens, cannot be made, or is to be added
  /// and has other channels than the width (setup.outputs).
  InputPosition(const LayerEntry& entry, PositionMode mode, int inputs, Setup<Scalar>& setup,
                const Parameters<Scalar>& parameters);

  /// Channels that the encoder is given besides `inputs` of its own.
  int joined_channels() const { return mode_ == PositionMode::concatenate ? channels_ : 0; }

  /// Throws Error(Exit::mistake) where the position has no numbers for so many tokens.
  void reserve(const Shape& shape, Arena& arena);
  /// For one token at a time, of sequences of up to `longest.tokens`.
  void reserve_sequence(const Shape& longest, Arena& arena);

  /// Computes the numbers [tokens, channels], where those or parameters may have changed. Before join and add.
  void compute();
  /// The encoder's input: x [B, N, inputs]; where the numbers of tokens `first` … are concatenated, with these beside,
  /// [B, N, inputs + channels].
  Tensor<const Scalar> join(Tensor<const Scalar> x, int first = 0);
  /// What join gave for x.
  Tensor<const Scalar> joined(Tensor<const Scalar> x) const {
    return mode_ == PositionMode::concatenate ? read(joined_) : x;
  }
  /// Adds the numbers of tokens `first` … to what the encoder gave, [B, N, width], where they are added.
  void add(Tensor<Scalar> state, int first = 0) const;

  /// Adds to the gradients of the position's parameters, from that of what `add` was given, [B, N, width].
  void backward_of_add(Tensor<const Scalar> dstate);
  /// Where the encoder's backward pass writes the gradient of what `join` gave, in its shape; empty: nobody needs it.
  /// dx [B, N, inputs], or empty.
  Tensor<Scalar> joined_gradient(Tensor<Scalar> dx) const;
  /// From there: adds to the gradients of the position's parameters and writes dx [B, N, inputs], unless it
  /// is empty.
  void backward_of_join(Tensor<Scalar> dx);

 private:
  void reserve_numbers(int tokens, Arena& arena);
  Matrix<const Scalar> numbers(int first, int tokens) const;
  void add_gradients(Tensor<const Scalar> gradient, int first_channel);

  PositionMode mode_;
  int inputs_;
  int channels_ = 0;
  bool has_parameters_ = false;
  bool is_current_ = false;
  std::unique_ptr<Position<Scalar>> position_;
  Matrix<Scalar> numbers_;          // [tokens, channels]
  Matrix<Scalar> gradient_;         // of the numbers
  Tensor<Scalar> joined_;           // [B, N, inputs + channels]
  Tensor<Scalar> joined_gradient_;  // likewise
};

extern template class InputPosition<float>;
extern template class InputPosition<double>;

}  // namespace ridgeline

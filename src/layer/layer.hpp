// What a layer is: everything that its author writes, and nothing that the driver can do for it.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "config/options.hpp"
#include "core/arena.hpp"
#include "core/parameters.hpp"
#include "core/signal.hpp"
#include "core/tensor.hpp"

namespace ridgeline {

/// Floating-point operations (a multiply-add counts two) of one call, its backward pass with the gradient of x.
struct Operations {
  double forward = 0;
  double backward = 0;
  double own_forward = 0;   ///< of these, what the layer's own kernels do: the others count along, in gemm and RidgeMap
  double own_backward = 0;  ///< likewise
  bool known = true;        ///< false: the layer does not say, or of a sum, a part does not

  static Operations unknown() {
    Operations operations;
    operations.known = false;
    return operations;
  }

  Operations& operator+=(const Operations& other) {
    forward += other.forward;
    backward += other.backward;
    own_forward += other.own_forward;
    own_backward += other.own_backward;
    known = known && other.known;
    return *this;
  }
};

/// What a layer's function promises, for given values of its options, beyond what every layer does.
struct Properties {
  bool causal = false;                   ///< token n's output depends on tokens 0 … n only, to the bit
  bool permutation_equivariant = false;  ///< tokens in another order give the same outputs in that order
  bool grid_independent = false;         ///< every token given twice gives the same outputs
  bool pointwise = false;                ///< token n's output depends on token n only, to the bit
};

/// A layer maps x [B, N, inputs] to y [B, N, outputs] and back. Calls come in the order reserve, forward, and, when
/// training, backward with the same x; the shape of x is that of the last reserve.
///
/// A causal layer can also be asked for one token after another: see reserve_sequence.
template <class Scalar>
class Layer {
 public:
  virtual ~Layer() = default;

  /// Takes the views that the layer needs for this shape from the arena: kept from forward to backward, or passing.
  virtual void reserve(const Shape& shape, Arena& arena) = 0;

  /// y = f(x), or residual + f(x) where `residual` [B, N, outputs] is not empty. y overlaps neither.
  virtual void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) = 0;

  /// From dL/dy: adds to the gradients of the layer's parameters, and writes dL/dx of f, unless `dx` is empty.
  /// The residual's gradient is the caller's. dx overlaps neither x nor dy.
  virtual void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) = 0;

  virtual Operations operations(const Shape& shape) const = 0;

  /// Channels that each token has besides those of x, for layers that look at a token with more than they pass on.
  virtual int extra_channels() const { return 0; }
  /// The extra channels [B, N, extra_channels()] of the next calls of forward, backward and next_token, and where backward
  /// writes dL/dextra, unless `dextra` is empty. Neither overlaps anything else.
  virtual void set_extra(Tensor<const Scalar> /*extra*/, Tensor<Scalar> /*dextra*/) {}

  /// Whether the three calls below are there: what they give of token n is what forward gives of it, rounding aside.
  virtual bool continues() const { return false; }
  /// Takes the views that sequences of up to `longest.tokens` tokens need, one token at a time. In place of reserve: the
  /// layer's next calls are begin_sequence and next_token.
  virtual void reserve_sequence(const Shape& longest, Arena& arena);
  /// Forgets all tokens.
  virtual void begin_sequence() {}
  /// y = f(x), or residual + f(x), of the token after those so far; x [B, 1, inputs], y [B, 1, outputs].
  virtual void next_token(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y);

  /// What a raised signal means, as part of a sentence: "sample 3, head 1: … smallest pivot 2e-9".
  virtual std::string explain(const Signal::Content& content) const;
};

/// A function of one number, applied to whole matrices: what a layer's option `activation` names.
template <class Scalar>
class Activation {
 public:
  virtual ~Activation() = default;

  /// value = f(z + bias) and slope = f'(z + bias) for z [rows, columns] and bias [columns]; slope may be z itself.
  virtual void apply(Matrix<const Scalar> z, Vector<const Scalar> bias, Matrix<Scalar> value,
                     Matrix<Scalar> slope) const = 0;
};

/// Numbers that say where a token stands, or how far one is from another: what a model's or a layer's option `position`
/// names. Which of the two, its registration says (PositionUse). The numbers of a token, or of a distance, are the same
/// however many tokens there are. Calls come in the order reserve, forward, and, when training, backward.
template <class Scalar>
class Position {
 public:
  virtual ~Position() = default;

  /// Takes the views that it needs for sequences of `tokens`, shortest() to longest() of them.
  virtual void reserve(int tokens, Arena& arena) = 0;

  /// Writes the numbers: of tokens [N, channels]; of distances [heads, 2 N - 1], entry (h, N - 1 + d) for a key that
  /// stands d tokens after the query.
  virtual void forward(Matrix<Scalar> values) = 0;

  /// From dL/dvalues: adds to the gradients of its parameters, where it has any.
  virtual void backward(Matrix<const Scalar> /*dvalues*/) {}

  /// Channels that it gives a token; 0: as many as it was asked for (Setup::outputs).
  virtual int channels() const { return 0; }
  /// The fewest and the most tokens that it has numbers for; 0: any number.
  virtual int shortest() const { return 1; }
  virtual int longest() const { return 0; }
};

/// Rows and columns of an image whose pixels, row by row, are the tokens; 0 where they are no image's.
struct Grid {
  int rows = 0;
  int columns = 0;
};

class Registry;

/// The values of sections that the options of layers lead to ("position.tisa"), by the section's name.
using Sections = std::map<std::string, OptionValues>;

/// What a layer, or a position, is made from.
template <class Scalar>
struct Setup {
  int inputs;                   ///< channels of x; of a position, 0
  int outputs;                  ///< channels of y; of a position, those of a token, or the heads that ask for a bias
  const OptionValues& options;  ///< there while the constructor runs, and no longer
  ParameterScope<Scalar> parameters;
  Signal signal;
  const Registry& registry;
  int tokens = 0;  ///< of a sample of the training set; 0 where nothing is known of it
  Grid grid = {};
  const Sections* sections = nullptr;  ///< of what the options name; defaults where they are not there
};

}  // namespace ridgeline

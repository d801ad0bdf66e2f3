// What tests and the reference check examine: a layer, a block or a model standing alone, with its parameters, memory
// and signals, given and asked for plain numbers on the host.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/parameters.hpp"
#include "core/tensor.hpp"
#include "model/model.hpp"

namespace ridgeline::support {

/// Numbers on the host, [batch, tokens, channels], channel fastest. Empty where nothing is given or wanted.
struct Tokens {
  Shape shape;
  int channels = 0;
  std::vector<double> values;

  bool empty() const { return values.empty(); }
  double& at(int sample, int token, int channel) {
    return values.at((static_cast<std::size_t>(sample) * shape.tokens + token) * channels + channel);
  }
};

/// A layer's options as a deck would give them.
using OptionTexts = std::map<std::string, std::string>;

struct LayerName {
  std::string kind;
  std::string name;
  OptionTexts options = {};
};

template <class Scalar>
class Subject {
 public:
  Subject(int inputs, int outputs) : inputs_(inputs), outputs_(outputs) {}
  virtual ~Subject() = default;

  int inputs() const { return inputs_; }
  int outputs() const { return outputs_; }

  virtual Parameters<Scalar>& parameters() = 0;
  /// Makes room for these shapes; what is run later must be among them.
  virtual void prepare(const std::vector<Shape>& shapes) = 0;
  /// As Layer's; a block and a model know no residual.
  virtual void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) = 0;
  virtual void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) = 0;
  /// What the first raised signal means; empty where none is.
  virtual std::string complaint() const = 0;
  virtual void clear_signals() = 0;

 private:
  int inputs_;
  int outputs_;
};

/// All three throw Error(Exit::mistake) where a layer or an option is unknown.
template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_layer(const LayerName& layer, int inputs, int outputs);
template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_block(Residual residual, const LayerName& attention, const LayerName& ffn,
                                            int width);
template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_model(const ModelPlan& plan);

/// A layer's options, checked against its declaration.
OptionValues option_values(const LayerName& layer);

/// y for x, and residual + y where `residual` is not empty.
template <class Scalar>
Tokens evaluate(Subject<Scalar>& subject, const Tokens& x, const Tokens& residual = {});

struct Gradients {
  Tokens y;
  Tokens dx;
  std::map<std::string, std::vector<double>> parameters;  ///< by name
};

enum class InputGradient { wanted, unwanted };

/// One forward and one backward pass. Parameter gradients begin at zero, or at what they are where `accumulate`.
template <class Scalar>
Gradients differentiate(Subject<Scalar>& subject, const Tokens& x, const Tokens& dy,
                        InputGradient input_gradient = InputGradient::wanted, bool accumulate = false);

/// [length], copied from the host and rounded to Scalar.
template <class Scalar>
Kokkos::View<Scalar*, Memory> to_device(const std::vector<double>& values);
template <class Scalar>
std::vector<double> to_host(const Kokkos::View<Scalar*, Memory>& values);

}  // namespace ridgeline::support

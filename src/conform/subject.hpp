// What the conformance kit, the tests and the reference check examine: a layer standing alone, with its parameters,
// memory and signal, given and asked for plain numbers on the host.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/error.hpp"
#include "core/parameters.hpp"
#include "core/tensor.hpp"
#include "layer/registry.hpp"

namespace ridgeline::conform {

/// Numbers on the host, [batch, tokens, channels], channel fastest. Empty where nothing is given or wanted.
struct Tokens {
  Shape shape;
  int channels = 0;
  std::vector<double> values;

  bool empty() const { return values.empty(); }
  double& at(int sample, int token, int channel) { return values.at(index(sample, token, channel)); }
  double at(int sample, int token, int channel) const { return values.at(index(sample, token, channel)); }

 private:
  std::size_t index(int sample, int token, int channel) const {
    return (static_cast<std::size_t>(sample) * shape.tokens + token) * channels + channel;
  }
};

Tokens zeros(const Shape& shape, int channels);

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

/// The layer, or what examines it, does not fit into memory.
struct NoRoom : Error {
  using Error::Error;
};

using SignalSlots = Kokkos::View<std::uint64_t*, Memory>;

std::vector<Signal::Content> read_signals(const SignalSlots& slots);

/// Memory and signals of something that is laid out anew for every shape, as a model does it for its layers.
template <class Scalar>
class Standalone : public Subject<Scalar> {
 public:
  /// `guard`: as Arena's.
  Standalone(int inputs, int outputs, int signals, std::size_t guard = 0);

  Parameters<Scalar>& parameters() override { return parameters_; }
  /// Throws NoRoom.
  void prepare(const std::vector<Shape>& shapes) override;
  void clear_signals() override;

  const Arena& arena() const { return arena_; }

 protected:
  virtual void reserve(const Shape& shape, Arena& arena) = 0;

  /// Makes room for one layout, of whatever the function takes, and lays it out. Throws NoRoom.
  void prepare_by(const std::function<void(Arena&)>& reserve_all);
  /// Throws Error(Exit::numerical) where the shape needs more memory than what was prepared.
  void lay_out(const Shape& shape);
  /// Allocates the parameters. Throws NoRoom.
  void allocate_parameters();
  std::unique_ptr<Layer<Scalar>> make(const LayerName& layer, int inputs, int outputs, const std::string& scope,
                                      int slot);

  Parameters<Scalar> parameters_;
  SignalSlots signals_;

 private:
  void check_room() const;

  Arena arena_;
  Shape shape_;
};

/// Extra channels of a layer stand behind its own in x and dx: of `inputs`, it has so many fewer.
template <class Scalar>
class LayerAlone final : public Standalone<Scalar> {
 public:
  /// Throws Error(Exit::mistake) where the layer or an option is unknown, or the layer refuses to be made, and NoRoom.
  LayerAlone(const LayerName& layer, int inputs, int outputs, std::size_t guard = 0);

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override;
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override;
  std::string complaint() const override;

  Layer<Scalar>& layer() { return *layer_; }
  /// Whether backward asks for the gradient of extra channels, as it does otherwise: training does not.
  void want_extra_gradient(bool wanted) { extra_gradient_wanted_ = wanted; }

  /// Makes room for sequences, in place of prepare.
  void prepare_sequence(const Shape& longest);
  /// Of one token after another, on the host as x: what the layer gives where it is asked for each by itself.
  Tokens one_by_one(const Tokens& x, const Tokens& residual = {});

 private:
  void reserve(const Shape& shape, Arena& arena) override;
  void reserve_parts(const Shape& shape, Arena& arena);
  void split(Tensor<const Scalar> x);

  std::unique_ptr<Layer<Scalar>> layer_;
  bool extra_gradient_wanted_ = true;
  Tensor<Scalar> own_, own_gradient_, extra_, extra_gradient_;  // of x, where there are extra channels
};

/// Sizes of a call.
struct Sizes {
  Shape shape;
  int inputs;
  int outputs;
};

/// A layer, prepared for a shape, with random parameters.
template <class Scalar>
std::unique_ptr<LayerAlone<Scalar>> prepared_layer(const LayerName& layer, const Sizes& sizes, std::uint64_t seed = 1);

/// A layer's options, checked against its declaration. Throws Error(Exit::mistake).
OptionValues option_values(const LayerName& layer);

/// Memory for tokens on the device, and the view that layers take of it.
template <class Scalar>
struct DeviceTokens {
  explicit DeviceTokens(const Tokens& tokens);

  Tokens to_tokens() const;
  void fill(double value) { Kokkos::deep_copy(memory, static_cast<Scalar>(value)); }

  Kokkos::View<Scalar*, Memory> memory;
  Tensor<Scalar> view;
};

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

/// The gradients of all parameters, by name.
template <class Scalar>
std::map<std::string, std::vector<double>> parameter_gradients(const Parameters<Scalar>& parameters);

/// [length], copied from the host and rounded to Scalar.
template <class Scalar>
Kokkos::View<Scalar*, Memory> to_device(const std::vector<double>& values);
template <class Scalar>
std::vector<double> to_host(const Kokkos::View<Scalar*, Memory>& values);

}  // namespace ridgeline::conform

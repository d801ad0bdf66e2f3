#include "subject.hpp"

#include <algorithm>

namespace ridgeline::support {
namespace {

using Slots = Kokkos::View<std::uint64_t*, Memory>;

std::vector<Signal::Content> read_signals(const Slots& slots) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), slots);
  std::vector<Signal::Content> contents;
  for (std::size_t i = 0; i < host.extent(0); ++i) contents.push_back(Signal::decode(host(i)));
  return contents;
}

/// Memory and signals of something that is laid out anew for every shape, as a model does it for its layers.
template <class Scalar>
class Standalone : public Subject<Scalar> {
 public:
  Standalone(int inputs, int outputs, int signals)
      : Subject<Scalar>(inputs, outputs), signals_("ridgeline::test/signals", signals) {
    clear_signals();
  }

  Parameters<Scalar>& parameters() override { return parameters_; }

  void prepare(const std::vector<Shape>& shapes) override {
    for (const Shape& shape : shapes) lay_out(shape);
    arena_.allocate();
    shape_ = {};
  }

  void clear_signals() override { Kokkos::deep_copy(signals_, Signal::silent); }

 protected:
  virtual void reserve(const Shape& shape, Arena& arena) = 0;

  void lay_out(const Shape& shape) {
    if (shape == shape_) return;
    arena_.restart();
    shape_ = {};
    reserve(shape, arena_);
    shape_ = shape;
  }

  std::unique_ptr<Layer<Scalar>> make(const LayerName& layer, int inputs, int outputs, const std::string& scope,
                                      int slot) {
    const Registry& registry = Registry::instance();
    const OptionValues options = option_values(layer);
    Setup<Scalar> setup{
        inputs, outputs, options, ParameterScope<Scalar>(parameters_, scope), Signal(signals_.data() + slot), registry};
    return registry.get(layer.kind, layer.name).template make<Scalar>(setup);
  }

  Parameters<Scalar> parameters_;
  Slots signals_;

 private:
  Arena arena_;
  Shape shape_;
};

template <class Scalar>
class LayerAlone final : public Standalone<Scalar> {
 public:
  LayerAlone(const LayerName& layer, int inputs, int outputs)
      : Standalone<Scalar>(inputs, outputs, 1), layer_(this->make(layer, inputs, outputs, "", 0)) {
    this->parameters_.allocate();
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    this->lay_out(shape_of(x));
    layer_->forward(x, residual, y);
  }
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    layer_->backward(x, dy, dx);
  }

  std::string complaint() const override {
    const Signal::Content content = read_signals(this->signals_).front();
    return content.raised ? layer_->explain(content) : "";
  }

 private:
  void reserve(const Shape& shape, Arena& arena) override { layer_->reserve(shape, arena); }

  std::unique_ptr<Layer<Scalar>> layer_;
};

template <class Scalar>
class BlockAlone final : public Standalone<Scalar> {
 public:
  BlockAlone(Residual residual, const LayerName& attention, const LayerName& ffn, int width)
      : Standalone<Scalar>(width, width, 2) {
    auto attention_layer = this->make(attention, width, width, "attention", 0);
    auto ffn_layer = this->make(ffn, width, width, "ffn", 1);
    block_ = std::make_unique<Block<Scalar>>(residual, width, ParameterScope<Scalar>(this->parameters_, ""),
                                             std::move(attention_layer), std::move(ffn_layer));
    this->parameters_.allocate();
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar>, Tensor<Scalar> y) override {
    this->lay_out(shape_of(x));
    block_->forward(x, y);
  }
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    block_->backward(x, dy, dx);
  }

  std::string complaint() const override {
    const auto contents = read_signals(this->signals_);
    if (contents[0].raised) return "attention: " + block_->attention().explain(contents[0]);
    if (contents[1].raised) return "ffn: " + block_->ffn().explain(contents[1]);
    return "";
  }

 private:
  void reserve(const Shape& shape, Arena& arena) override { block_->reserve(shape, arena); }

  std::unique_ptr<Block<Scalar>> block_;
};

template <class Scalar>
class WholeModel final : public Subject<Scalar> {
 public:
  explicit WholeModel(const ModelPlan& plan) : Subject<Scalar>(plan.inputs, plan.targets), model_(plan) {
    model_.allocate();
  }

  Parameters<Scalar>& parameters() override { return model_.parameters(); }
  void prepare(const std::vector<Shape>& shapes) override { model_.prepare(shapes); }
  void forward(Tensor<const Scalar> x, Tensor<const Scalar>, Tensor<Scalar> y) override { model_.forward(x, y); }
  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    model_.backward(x, dy, dx);
  }
  void clear_signals() override { model_.clear_signals(); }

  std::string complaint() const override {
    const auto contents = read_signals(model_.signals());
    for (std::size_t slot = 0; slot < contents.size(); ++slot)
      if (contents[slot].raised) return model_.explain(slot, contents[slot]);
    return "";
  }

 private:
  Model<Scalar> model_;
};

/// Memory for tokens on the device, and the view that layers take of it.
template <class Scalar>
struct DeviceTokens {
  explicit DeviceTokens(const Tokens& tokens)
      : memory(to_device<Scalar>(tokens.values)),
        view(tokens.empty() ? nullptr : memory.data(), tokens.empty() ? 0 : tokens.shape.batch,
             tokens.empty() ? 0 : tokens.shape.tokens, tokens.empty() ? 0 : tokens.channels) {}

  Tokens to_tokens() const { return {shape_of(view), extent(view, 2), to_host<Scalar>(memory)}; }

  Kokkos::View<Scalar*, Memory> memory;
  Tensor<Scalar> view;
};

Tokens zeros(const Shape& shape, int channels) {
  return {shape, channels, std::vector<double>(static_cast<std::size_t>(shape.rows()) * channels)};
}

}  // namespace

OptionValues option_values(const LayerName& layer) {
  const Registry& registry = Registry::instance();
  return OptionValues::from(registry.get(layer.kind, layer.name).options, layer.options, layer.kind + "." + layer.name,
                            [&](const std::string& kind) { return registry.names(kind); });
}

template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_layer(const LayerName& layer, int inputs, int outputs) {
  return std::make_unique<LayerAlone<Scalar>>(layer, inputs, outputs);
}

template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_block(Residual residual, const LayerName& attention, const LayerName& ffn,
                                            int width) {
  return std::make_unique<BlockAlone<Scalar>>(residual, attention, ffn, width);
}

template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_model(const ModelPlan& plan) {
  return std::make_unique<WholeModel<Scalar>>(plan);
}

template <class Scalar>
Tokens evaluate(Subject<Scalar>& subject, const Tokens& x, const Tokens& residual) {
  const DeviceTokens<Scalar> in(x), added(residual), out(zeros(x.shape, subject.outputs()));
  subject.forward(in.view, added.view, out.view);
  return out.to_tokens();
}

template <class Scalar>
Gradients differentiate(Subject<Scalar>& subject, const Tokens& x, const Tokens& dy, InputGradient input_gradient,
                        bool accumulate) {
  const bool wanted = input_gradient == InputGradient::wanted;
  const DeviceTokens<Scalar> in(x), out(zeros(x.shape, subject.outputs())), cotangent(dy),
      gradient(wanted ? zeros(x.shape, x.channels) : Tokens{});
  Parameters<Scalar>& parameters = subject.parameters();
  if (!accumulate) Kokkos::deep_copy(parameters.gradients(), Scalar(0));
  subject.forward(in.view, {}, out.view);
  subject.backward(in.view, cotangent.view, gradient.view);
  Gradients result{out.to_tokens(), wanted ? gradient.to_tokens() : Tokens{}, {}};
  for (const auto& entry : parameters.entries()) result.parameters[entry.name] = parameters.get_gradient(entry);
  return result;
}

template <class Scalar>
Kokkos::View<Scalar*, Memory> to_device(const std::vector<double>& values) {
  const Kokkos::View<Scalar*, Memory> device("ridgeline::test/values", values.size());
  const auto host = Kokkos::create_mirror_view(device);
  std::transform(values.begin(), values.end(), host_pointer(host), [](double v) { return static_cast<Scalar>(v); });
  Kokkos::deep_copy(device, host);
  return device;
}

template <class Scalar>
std::vector<double> to_host(const Kokkos::View<Scalar*, Memory>& values) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), values);
  const Scalar* data = host_pointer(host);
  return {data, data + host.extent(0)};
}

#define RIDGELINE_INSTANTIATE(Scalar)                                                                      \
  template std::unique_ptr<Subject<Scalar>> make_layer(const LayerName&, int, int);                        \
  template std::unique_ptr<Subject<Scalar>> make_block(Residual, const LayerName&, const LayerName&, int); \
  template std::unique_ptr<Subject<Scalar>> make_model(const ModelPlan&);                                  \
  template Tokens evaluate(Subject<Scalar>&, const Tokens&, const Tokens&);                                \
  template Gradients differentiate(Subject<Scalar>&, const Tokens&, const Tokens&, InputGradient, bool);   \
  template Kokkos::View<Scalar*, Memory> to_device(const std::vector<double>&);                            \
  template std::vector<double> to_host(const Kokkos::View<Scalar*, Memory>&);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE

}  // namespace ridgeline::support

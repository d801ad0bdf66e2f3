#include "conform/subject.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/text.hpp"
#include "conform/gradient_check.hpp"
#include "conform/position_layer.hpp"
#include "io/free_memory.hpp"

namespace ridgeline::conform {

std::vector<Signal::Content> read_signals(const SignalSlots& slots) {
  const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), slots);
  const std::uint64_t* data = host_pointer(host);
  std::vector<Signal::Content> contents;
  for (std::size_t i = 0; i < host.extent(0); ++i) contents.push_back(Signal::decode(data[i]));
  return contents;
}

template <class Scalar>
Standalone<Scalar>::Standalone(int inputs, int outputs, int signals, std::size_t guard)
    : Subject<Scalar>(inputs, outputs), signals_("ridgeline::conform/signals", signals), arena_(guard) {
  Standalone::clear_signals();
}

template <class Scalar>
void Standalone<Scalar>::prepare(const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) {
    arena_.restart();
    reserve(shape, arena_);
  }
  check_room();
  arena_.allocate();
  shape_ = {};
}

template <class Scalar>
void Standalone<Scalar>::prepare_by(const std::function<void(Arena&)>& reserve_all) {
  for (const bool measuring : {true, false}) {
    arena_.restart();
    reserve_all(arena_);
    if (!measuring) break;
    check_room();
    arena_.allocate();
  }
  shape_ = {};
}

template <class Scalar>
void Standalone<Scalar>::clear_signals() {
  Kokkos::deep_copy(signals_, Signal::silent);
}

template <class Scalar>
void Standalone<Scalar>::lay_out(const Shape& shape) {
  if (shape == shape_) return;
  arena_.restart();
  shape_ = {};
  reserve(shape, arena_);
  if (!arena_.fits())
    throw Error(Exit::numerical, fmt::format("for {} of {} it reserves more memory than it did before for the same.",
                                             count_text(shape.batch, "sample"), count_text(shape.tokens, "token")));
  shape_ = shape;
}

template <class Scalar>
void Standalone<Scalar>::allocate_parameters() {
  check_room();
  parameters_.allocate();
}

/// Counts what the checks need: values and gradients on the device, on the host one of each, a direction and two copies
/// moved along it, in double; memory that was reserved, and what is looked at of it.
template <class Scalar>
void Standalone<Scalar>::check_room() const {
  if constexpr (!host_reads_memory) return;  // a device says so itself when its memory is full
  const double parameters = (2.0 * sizeof(Scalar) + 5.0 * sizeof(double)) * static_cast<double>(parameters_.length()),
               activations = 2.0 * static_cast<double>(arena_.bytes()), free = free_memory();
  if (parameters + activations <= free) return;
  throw NoRoom(
      Exit::mistake,
      fmt::format("the checks need {:.3g} GiB of memory ({:.3g} for parameters, {:.3g} for activations), and "
                  "{:.3g} GiB are free; a smaller layer needs less.",
                  (parameters + activations) / 0x1p30, parameters / 0x1p30, activations / 0x1p30, free / 0x1p30));
}

template <class Scalar>
std::unique_ptr<Layer<Scalar>> Standalone<Scalar>::make(const LayerName& layer, int inputs, int outputs,
                                                        const std::string& scope, int slot) {
  const Registry& registry = Registry::instance();
  const LayerEntry& entry = registry.get(layer.kind, layer.name);
  const OptionValues options = option_values(layer);
  Setup<Scalar> setup{
      inputs, outputs, options, ParameterScope<Scalar>(parameters_, scope), Signal(signals_.data() + slot), registry};
  if (entry.make_position_double) return make_position_layer<Scalar>(entry, setup);
  return entry.make<Scalar>(setup);
}

template <class Scalar>
LayerAlone<Scalar>::LayerAlone(const LayerName& layer, int inputs, int outputs, std::size_t guard)
    : Standalone<Scalar>(inputs, outputs, 1, guard), layer_(this->make(layer, inputs, outputs, "", 0)) {
  if (const int extra = layer_->extra_channels(); extra > 0) {
    if (inputs <= extra)
      throw Error(Exit::mistake, fmt::format("{}/{} has {} extra channels, and {} are all there are.", layer.kind,
                                             layer.name, extra, inputs));
    layer_.reset();
    this->parameters_ = Parameters<Scalar>();
    layer_ = this->make(layer, inputs - extra, outputs, "", 0);
  }
  this->allocate_parameters();
}

template <class Scalar>
void LayerAlone<Scalar>::reserve_parts(const Shape& shape, Arena& arena) {
  const int extra = layer_->extra_channels();
  if (extra == 0) return;
  for (Tensor<Scalar>* part : {&own_, &own_gradient_})
    *part = arena.kept<Scalar>(shape.batch, shape.tokens, this->inputs() - extra);
  for (Tensor<Scalar>* part : {&extra_, &extra_gradient_}) *part = arena.kept<Scalar>(shape.batch, shape.tokens, extra);
}

template <class Scalar>
void LayerAlone<Scalar>::reserve(const Shape& shape, Arena& arena) {
  reserve_parts(shape, arena);
  layer_->reserve(shape, arena);
}

namespace {

/// to[row, to_first + c] = from[row, from_first + c] for so many columns.
template <class Scalar>
void copy_columns(Matrix<const Scalar> from, int from_first, Matrix<Scalar> to, int to_first, int columns) {
  Kokkos::parallel_for(
      "ridgeline::conform/columns", RangePolicy(0, extent(from, 0)), KOKKOS_LAMBDA(int row) {
        for (int c = 0; c < columns; ++c) to(row, to_first + c) = from(row, from_first + c);
      });
}

}  // namespace

template <class Scalar>
void LayerAlone<Scalar>::split(Tensor<const Scalar> x) {
  const int own = extent(own_, 2), extra = extent(extra_, 2);
  copy_columns<Scalar>(rows_of(x), 0, rows_of(own_), 0, own);
  copy_columns<Scalar>(rows_of(x), own, rows_of(extra_), 0, extra);
}

template <class Scalar>
void LayerAlone<Scalar>::forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) {
  this->lay_out(shape_of(x));
  if (layer_->extra_channels() > 0) {
    split(x);
    layer_->set_extra(extra_, {});
    layer_->forward(own_, residual, y);
  } else {
    layer_->forward(x, residual, y);
  }
}

template <class Scalar>
void LayerAlone<Scalar>::backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) {
  if (layer_->extra_channels() == 0) {
    layer_->backward(x, dy, dx);
    return;
  }
  const bool wanted = dx.data() != nullptr;
  split(x);
  layer_->set_extra(extra_, wanted && extra_gradient_wanted_ ? extra_gradient_ : Tensor<Scalar>());
  layer_->backward(own_, dy, wanted ? own_gradient_ : Tensor<Scalar>());
  if (!wanted) return;
  const int own = extent(own_, 2), extra = extent(extra_, 2);
  copy_columns<Scalar>(rows_of(own_gradient_), 0, rows_of(dx), 0, own);
  copy_columns<Scalar>(rows_of(extra_gradient_), 0, rows_of(dx), own, extra);
}

template <class Scalar>
void LayerAlone<Scalar>::prepare_sequence(const Shape& longest) {
  this->prepare_by([&](Arena& arena) {
    reserve_parts({longest.batch, 1}, arena);
    layer_->reserve_sequence(longest, arena);
  });
}

template <class Scalar>
Tokens LayerAlone<Scalar>::one_by_one(const Tokens& x, const Tokens& residual) {
  const auto token_of = [](const Tokens& all, int n) {
    if (all.empty()) return Tokens{};
    Tokens token = zeros({all.shape.batch, 1}, all.channels);
    for (int b = 0; b < all.shape.batch; ++b)
      for (int c = 0; c < all.channels; ++c) token.at(b, 0, c) = all.at(b, n, c);
    return token;
  };
  Tokens y = zeros(x.shape, this->outputs());
  layer_->begin_sequence();
  for (int n = 0; n < x.shape.tokens; ++n) {
    const DeviceTokens<Scalar> in(token_of(x, n)), added(token_of(residual, n)),
        out(zeros({x.shape.batch, 1}, y.channels));
    if (layer_->extra_channels() > 0) {
      split(in.view);
      layer_->set_extra(extra_, {});
      layer_->next_token(own_, added.view, out.view);
    } else {
      layer_->next_token(in.view, added.view, out.view);
    }
    const Tokens token = out.to_tokens();
    for (int b = 0; b < x.shape.batch; ++b)
      for (int c = 0; c < y.channels; ++c) y.at(b, n, c) = token.at(b, 0, c);
  }
  return y;
}

template <class Scalar>
std::string LayerAlone<Scalar>::complaint() const {
  const Signal::Content content = read_signals(this->signals_).front();
  return content.raised ? layer_->explain(content) : "";
}

template <class Scalar>
std::unique_ptr<LayerAlone<Scalar>> prepared_layer(const LayerName& layer, const Sizes& sizes, std::uint64_t seed) {
  auto subject = std::make_unique<LayerAlone<Scalar>>(layer, sizes.inputs, sizes.outputs);
  subject->prepare({sizes.shape});
  randomise(subject->parameters(), seed);
  return subject;
}

OptionValues option_values(const LayerName& layer) {
  const Registry& registry = Registry::instance();
  return OptionValues::from(registry.get(layer.kind, layer.name).options, layer.options, layer.kind + "." + layer.name,
                            [&](const std::string& kind) { return registry.names(kind); });
}

Tokens zeros(const Shape& shape, int channels) {
  return {shape, channels, std::vector<double>(static_cast<std::size_t>(shape.rows()) * channels)};
}

template <class Scalar>
DeviceTokens<Scalar>::DeviceTokens(const Tokens& tokens)
    : memory(to_device<Scalar>(tokens.values)),
      view(tokens.empty() ? nullptr : memory.data(), tokens.empty() ? 0 : tokens.shape.batch,
           tokens.empty() ? 0 : tokens.shape.tokens, tokens.empty() ? 0 : tokens.channels) {}

template <class Scalar>
Tokens DeviceTokens<Scalar>::to_tokens() const {
  return {shape_of(view), extent(view, 2), to_host<Scalar>(memory)};
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
  if (!accumulate) Kokkos::deep_copy(subject.parameters().gradients(), Scalar(0));
  subject.forward(in.view, {}, out.view);
  subject.backward(in.view, cotangent.view, gradient.view);
  return {out.to_tokens(), wanted ? gradient.to_tokens() : Tokens{}, parameter_gradients(subject.parameters())};
}

template <class Scalar>
std::map<std::string, std::vector<double>> parameter_gradients(const Parameters<Scalar>& parameters) {
  std::map<std::string, std::vector<double>> gradients;
  for (const auto& entry : parameters.entries()) gradients[entry.name] = parameters.get_gradient(entry);
  return gradients;
}

template <class Scalar>
Kokkos::View<Scalar*, Memory> to_device(const std::vector<double>& values) {
  Kokkos::View<Scalar*, Memory> device("ridgeline::conform/values", values.size());
  const auto host = Kokkos::create_mirror_view(device);
  std::transform(values.begin(), values.end(), host_pointer(host), [](double v) { return static_cast<Scalar>(v); });
  Kokkos::deep_copy(device, host);
  return device;
}

template <class Scalar>
std::vector<double> to_host(const Kokkos::View<Scalar*, Memory>& values) {
  const std::vector<Scalar> copied = host_copy(values);
  return {copied.begin(), copied.end()};
}

// NOLINTBEGIN(bugprone-macro-parentheses): Scalar is a type
#define RIDGELINE_INSTANTIATE(Scalar)                                                                         \
  template class Standalone<Scalar>;                                                                          \
  template class LayerAlone<Scalar>;                                                                          \
  template struct DeviceTokens<Scalar>;                                                                       \
  template std::unique_ptr<LayerAlone<Scalar>> prepared_layer(const LayerName&, const Sizes&, std::uint64_t); \
  template Tokens evaluate(Subject<Scalar>&, const Tokens&, const Tokens&);                                   \
  template Gradients differentiate(Subject<Scalar>&, const Tokens&, const Tokens&, InputGradient, bool);      \
  template std::map<std::string, std::vector<double>> parameter_gradients(const Parameters<Scalar>&);         \
  template Kokkos::View<Scalar*, Memory> to_device(const std::vector<double>&);                               \
  template std::vector<double> to_host(const Kokkos::View<Scalar*, Memory>&);
RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace ridgeline::conform

#include "model/model.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "core/region.hpp"

namespace ridgeline {

template <class Scalar>
Model<Scalar>::Model(const ModelPlan& plan, const Registry& registry)
    : registry_(registry), plan_(plan), status_(1 + 2 * plan.attention.size()) {
  slot_names_.resize(status_.signal_count());
  encoder_ = make("encoder", plan.encoder, plan.inputs, plan.width, "encoder", 0);
  for (std::size_t i = 0; i < plan.attention.size(); ++i) {
    const std::string name = fmt::format("blocks.{}", i);
    auto attention = make("attention", plan.attention[i], plan.width, plan.width, name + ".attention", 1 + 2 * i);
    auto ffn = make("ffn", plan.ffn, plan.width, plan.width, name + ".ffn", 2 + 2 * i);
    blocks_.push_back(std::make_unique<Block<Scalar>>(
        plan.residual, plan.width, ParameterScope<Scalar>(parameters_, name), std::move(attention), std::move(ffn)));
    block_names_.push_back(fmt::format("block {}", i));
  }
  head_ = std::make_unique<Linear<Scalar>>(ParameterScope<Scalar>(parameters_, ""), "head", plan.width, plan.targets);
  clear_signals();
}

template <class Scalar>
std::unique_ptr<Layer<Scalar>> Model<Scalar>::make(const std::string& kind, const LayerChoice& choice, int inputs,
                                                   int outputs, const std::string& name, std::size_t slot) {
  slot_names_[slot] = name;
  Setup<Scalar> setup{
      inputs,   outputs, choice.options, ParameterScope<Scalar>(parameters_, name), Signal(signals().data() + slot),
      registry_};
  return registry_.get(kind, choice.name).template make<Scalar>(setup);
}

template <class Scalar>
void Model<Scalar>::reserve(const Shape& shape, Arena& arena) {
  arena.restart();
  states_.resize(blocks_.size() + 1);
  for (Tensor<Scalar>& state : states_) state = arena.kept<Scalar>(shape.batch, shape.tokens, plan_.width);
  for (Tensor<Scalar>& gradient : gradients_) gradient = arena.passing<Scalar>(shape.batch, shape.tokens, plan_.width);
  arena.reserve_apart(*encoder_, shape);
  for (auto& block : blocks_) arena.reserve_apart(*block, shape);
  const Arena::Frame frame(arena);
  head_sums_.reserve(shape.rows(), plan_.targets, arena);
}

template <class Scalar>
void Model<Scalar>::prepare(const std::vector<Shape>& shapes) {
  for (const Shape& shape : shapes) reserve(shape, arena_);
  arena_.allocate();
  shape_ = {};
}

template <class Scalar>
std::size_t Model<Scalar>::bytes_for(const std::vector<Shape>& shapes) {
  Arena measure;
  for (const Shape& shape : shapes) reserve(shape, measure);
  shape_ = {};
  return measure.bytes();
}

template <class Scalar>
void Model<Scalar>::lay_out(const Shape& shape) {
  if (shape == shape_) return;
  shape_ = {};
  reserve(shape, arena_);
  if (!arena_.fits())
    throw std::logic_error(
        fmt::format("a model was not prepared for {} samples of {} tokens", shape.batch, shape.tokens));
  shape_ = shape;
}

template <class Scalar>
void Model<Scalar>::forward(Tensor<const Scalar> x, Tensor<Scalar> prediction) {
  lay_out(shape_of(x));
  {
    const Region region("encoder");
    encoder_->forward(x, {}, states_.front());
  }
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Region region(block_names_[i]);
    blocks_[i]->forward(states_[i], states_[i + 1]);
  }
  const Region region("head");
  head_->product(rows_of(read(states_.back())), rows_of(prediction));
  add_bias<Scalar>(rows_of(prediction), head_->bias.value, {});
}

template <class Scalar>
void Model<Scalar>::backward(Tensor<const Scalar> x, Tensor<const Scalar> dprediction, Tensor<Scalar> dx) {
  int current = 0;
  {
    const Region region("head");
    head_sums_.add(rows_of(dprediction), head_->bias.gradient);
    head_->add_weight_gradient(rows_of(read(states_.back())), rows_of(dprediction));
    head_->input_gradient(rows_of(dprediction), rows_of(gradients_[current]));
  }
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    const Region region(block_names_[i]);
    blocks_[i]->backward(states_[i], gradients_[current], gradients_[1 - current]);
    current = 1 - current;
  }
  const Region region("encoder");
  encoder_->backward(x, gradients_[current], dx);
}

template <class Scalar>
std::vector<LayerShare> Model<Scalar>::layers(const Shape& shape) const {
  std::vector<LayerShare> shares;
  shares.push_back({"encoder", 0, encoder_->operations(shape)});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::string name = fmt::format("blocks.{}.", i);
    shares.push_back({name + "attention", 0, blocks_[i]->attention().operations(shape)});
    shares.push_back({name + "ffn", 0, blocks_[i]->ffn().operations(shape)});
    shares.push_back({name + "norm1", 0, {}});
    shares.push_back({name + "norm2", 0, {}});
  }
  const double head = head_->operations(shape.rows());
  shares.push_back({"head", 0, {head, 2 * head}});
  for (LayerShare& share : shares) {
    const std::string prefix = share.name + ".";
    for (const auto& entry : parameters_.entries())
      if (entry.name.compare(0, prefix.size(), prefix) == 0) share.parameters += entry.size;
  }
  return shares;
}

template <class Scalar>
Operations Model<Scalar>::operations(const Shape& shape) const {
  Operations total;
  for (const LayerShare& share : layers(shape)) total += share.operations;
  return total;
}

template <class Scalar>
void Model<Scalar>::clear_signals() {
  Kokkos::deep_copy(signals(), Signal::silent);
}

template <class Scalar>
std::string Model<Scalar>::explain(std::size_t slot, const Signal::Content& content) const {
  const Layer<Scalar>* layer = encoder_.get();
  if (slot > 0) layer = slot % 2 == 1 ? &blocks_[(slot - 1) / 2]->attention() : &blocks_[(slot - 1) / 2]->ffn();
  return slot_names_[slot] + ": " + layer->explain(content);
}

template class Model<float>;
template class Model<double>;

}  // namespace ridgeline

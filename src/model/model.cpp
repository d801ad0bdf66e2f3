#include "model/model.hpp"

#include <fmt/format.h>

#include <stdexcept>

#include "core/error.hpp"
#include "core/region.hpp"

namespace ridgeline {

template <class Scalar>
Model<Scalar>::Model(const ModelPlan& plan, const Registry& registry)
    : registry_(registry), plan_(plan), status_(1 + 2 * plan.attention.size() + (plan.position ? 1 : 0)) {
  slot_names_.resize(status_.signal_count());
  if (plan.position) make_position();
  const int inputs = plan.inputs + (position_ ? position_->joined_channels() : 0);
  encoder_ = make("encoder", plan_.encoder, inputs, plan.width, "encoder", 0);
  for (std::size_t i = 0; i < plan.attention.size(); ++i) make_block(i);
  const ParameterScope<Scalar> all(parameters_, "");
  if (plan.final_norm) final_norm_ = std::make_unique<LayerNorm<Scalar>>(all.inside("final_norm"), plan.width);
  head_ = std::make_unique<Linear<Scalar>>(all, "head", plan.width, plan.targets);
  clear_signals();
}

template <class Scalar>
std::unique_ptr<Layer<Scalar>> Model<Scalar>::make(const std::string& kind, const LayerChoice& choice, int inputs,
                                                   int outputs, const std::string& name, std::size_t slot) {
  slot_names_[slot] = name;
  Setup<Scalar> setup{inputs,
                      outputs,
                      choice.options,
                      ParameterScope<Scalar>(parameters_, name),
                      Signal(signals().data() + slot),
                      registry_,
                      plan_.tokens,
                      plan_.grid,
                      &plan_.sections};
  try {
    return registry_.get(kind, choice.name).template make<Scalar>(setup);
  } catch (const Error& error) {
    // What a layer cannot be made with may be the width, which is no option of its own.
    if (error.status() != Exit::mistake || !plan_.width_is_overridden) throw;
    throw Error(Exit::mistake, fmt::format("{}; --set makes the width {}.", clause(error.what()), plan_.width));
  }
}

template <class Scalar>
void Model<Scalar>::make_position() {
  slot_names_.back() = "position";
  Setup<Scalar> setup{0,
                      plan_.width,
                      plan_.position->options,
                      ParameterScope<Scalar>(parameters_, "position"),
                      Signal(signals().data() + slot_names_.size() - 1),
                      registry_,
                      plan_.tokens,
                      plan_.grid,
                      &plan_.sections};
  position_ = std::make_unique<InputPosition<Scalar>>(registry_.get("position", plan_.position->name),
                                                      plan_.position_mode, plan_.inputs, setup, parameters_);
}

template <class Scalar>
void Model<Scalar>::make_block(std::size_t number) {
  const std::string name = fmt::format("blocks.{}", number);
  const LayerChoice& choice = plan_.attention[number];
  auto attention = make("attention", choice, plan_.width, plan_.width, name + ".attention", 1 + 2 * number);
  if (attention->extra_channels() != plan_.extra_channels)
    throw Error(Exit::mistake, fmt::format("block {}: attention/{} takes {} extra channels, and the model gives it {}.",
                                           number, choice.name, attention->extra_channels(), plan_.extra_channels));
  auto ffn = make("ffn", plan_.ffn, plan_.width, plan_.width, name + ".ffn", 2 + 2 * number);
  blocks_.push_back(std::make_unique<Block<Scalar>>(
      plan_.residual, plan_.width, ParameterScope<Scalar>(parameters_, name), std::move(attention), std::move(ffn)));
  block_names_.push_back(fmt::format("block {}", number));
}

template <class Scalar>
void Model<Scalar>::reserve(const Shape& shape, Arena& arena) {
  arena.restart();
  next_ = -1;
  states_.resize(blocks_.size() + 1);
  for (Tensor<Scalar>& state : states_) state = arena.kept<Scalar>(shape.batch, shape.tokens, plan_.width);
  for (Tensor<Scalar>& gradient : gradients_) gradient = arena.passing<Scalar>(shape.batch, shape.tokens, plan_.width);
  {
    // Together: what the encoder's backward pass writes, the position reads.
    const Arena::Frame frame(arena);
    if (position_) position_->reserve(shape, arena);
    arena.reserve_apart(*encoder_, shape);
  }
  for (auto& block : blocks_) arena.reserve_apart(*block, shape);
  if (final_norm_) {
    normed_ = arena.kept<Scalar>(shape.batch, shape.tokens, plan_.width);
    const Arena::Frame frame(arena);
    final_norm_->reserve(shape.rows(), arena);
  }
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
void Model<Scalar>::set_extra(Tensor<const Scalar> extra, const Shape& shape) {
  if (plan_.extra_channels == 0) return;
  if (!(shape_of(extra) == shape) || extent(extra, 2) != plan_.extra_channels)
    throw std::logic_error("a model is not given the extra channels that it was made for");
  for (auto& block : blocks_) block->attention().set_extra(extra, {});
}

/// The first state, of tokens `first` ….
template <class Scalar>
void Model<Scalar>::encode(Tensor<const Scalar> x, int first,
                           void (Layer<Scalar>::*call)(Tensor<const Scalar>, Tensor<const Scalar>, Tensor<Scalar>)) {
  const Region region("encoder");
  (encoder_.get()->*call)(position_ ? position_->join(x, first) : x, {}, states_.front());
  if (position_) position_->add(states_.front(), first);
}

template <class Scalar>
Matrix<const Scalar> Model<Scalar>::head_input() {
  return rows_of(read(final_norm_ ? normed_ : states_.back()));
}

template <class Scalar>
void Model<Scalar>::predict(Tensor<Scalar> prediction) {
  const Region region("head");
  if (final_norm_) final_norm_->forward(rows_of(read(states_.back())), rows_of(normed_));
  head_->product(head_input(), rows_of(prediction));
  add_bias<Scalar>(rows_of(prediction), head_->bias.value, {});
}

template <class Scalar>
void Model<Scalar>::forward(Tensor<const Scalar> x, Tensor<Scalar> prediction, Tensor<const Scalar> extra) {
  lay_out(shape_of(x));
  set_extra(extra, shape_of(x));
  if (position_) position_->compute();
  encode(x, 0, &Layer<Scalar>::forward);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Region region(block_names_[i]);
    blocks_[i]->forward(states_[i], states_[i + 1]);
  }
  predict(prediction);
}

template <class Scalar>
void Model<Scalar>::backward(Tensor<const Scalar> x, Tensor<const Scalar> dprediction, Tensor<Scalar> dx) {
  int current = 0;
  {
    const Region region("head");
    head_sums_.add(rows_of(dprediction), head_->bias.gradient);
    head_->add_weight_gradient(head_input(), rows_of(dprediction));
    head_->input_gradient(rows_of(dprediction), rows_of(gradients_[current]));
    const Matrix<Scalar> gradient = rows_of(gradients_[current]);
    if (final_norm_) final_norm_->backward(rows_of(read(states_.back())), gradient, {}, {}, gradient);
  }
  for (std::size_t i = blocks_.size(); i-- > 0;) {
    const Region region(block_names_[i]);
    blocks_[i]->backward(states_[i], gradients_[current], gradients_[1 - current]);
    current = 1 - current;
  }
  const Region region("encoder");
  if (!position_) return encoder_->backward(x, gradients_[current], dx);
  position_->backward_of_add(gradients_[current]);
  encoder_->backward(position_->joined(x), gradients_[current], position_->joined_gradient(dx));
  position_->backward_of_join(dx);
}

template <class Scalar>
void Model<Scalar>::reserve_sequence(const Shape& longest, Arena& arena) {
  arena.restart();
  shape_ = {};
  next_ = -1;
  states_.resize(blocks_.size() + 1);
  for (Tensor<Scalar>& state : states_) state = arena.kept<Scalar>(longest.batch, 1, plan_.width);
  const auto reserve_apart = [&](auto& part) {
    const Arena::Frame frame(arena);
    part.reserve_sequence(longest, arena);
  };
  if (position_) reserve_apart(*position_);
  reserve_apart(*encoder_);
  for (auto& block : blocks_) reserve_apart(*block);
  if (!final_norm_) return;
  normed_ = arena.kept<Scalar>(longest.batch, 1, plan_.width);
  const Arena::Frame frame(arena);
  final_norm_->reserve(longest.batch, arena);
}

template <class Scalar>
void Model<Scalar>::check_continues() const {
  const auto check = [&](const Layer<Scalar>& layer, const std::string& name, const std::string& title) {
    if (!layer.continues())
      throw Error(Exit::mistake, fmt::format("{} ({}) cannot go on from token to token: it is neither causal with a "
                                             "memory of its own nor pointwise.",
                                             name, title));
  };
  check(*encoder_, "encoder", "encoder/" + plan_.encoder.name);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    check(blocks_[i]->attention(), fmt::format("blocks.{}.attention", i), "attention/" + plan_.attention[i].name);
    check(blocks_[i]->ffn(), fmt::format("blocks.{}.ffn", i), "ffn/" + plan_.ffn.name);
  }
}

template <class Scalar>
std::size_t Model<Scalar>::bytes_for_sequence(const Shape& longest) {
  check_continues();
  Arena measure;
  reserve_sequence(longest, measure);
  return measure.bytes();
}

template <class Scalar>
void Model<Scalar>::prepare_sequence(const Shape& longest) {
  check_continues();
  longest_ = longest;
  reserve_sequence(longest, sequence_arena_);
  sequence_arena_.allocate();
}

template <class Scalar>
void Model<Scalar>::begin_sequence() {
  if (longest_.tokens == 0) throw std::logic_error("a model was not prepared for sequences");
  reserve_sequence(longest_, sequence_arena_);
  if (!sequence_arena_.fits())
    throw std::logic_error(
        fmt::format("a layer takes more memory for {} sequences of {} tokens than when they were "
                    "prepared for",
                    longest_.batch, longest_.tokens));
  encoder_->begin_sequence();
  for (auto& block : blocks_) block->begin_sequence();
  if (position_) position_->compute();
  next_ = 0;
}

template <class Scalar>
void Model<Scalar>::next_token(Tensor<const Scalar> x, Tensor<Scalar> prediction, Tensor<const Scalar> extra) {
  if (next_ < 0 || next_ >= longest_.tokens || !(shape_of(x) == Shape{longest_.batch, 1}))
    throw std::logic_error("a model is given a token of a sequence that it was not prepared for");
  set_extra(extra, shape_of(x));
  encode(x, next_, &Layer<Scalar>::next_token);
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const Region region(block_names_[i]);
    blocks_[i]->next_token(states_[i], states_[i + 1]);
  }
  predict(prediction);
  ++next_;
}

template <class Scalar>
std::vector<LayerShare> Model<Scalar>::layers(const Shape& shape) const {
  std::vector<LayerShare> shares;
  if (position_) shares.push_back({"position", 0, {}});
  shares.push_back({"encoder", 0, encoder_->operations(shape)});
  for (std::size_t i = 0; i < blocks_.size(); ++i) {
    const std::string name = fmt::format("blocks.{}.", i);
    shares.push_back({name + "attention", 0, blocks_[i]->attention().operations(shape)});
    shares.push_back({name + "ffn", 0, blocks_[i]->ffn().operations(shape)});
    shares.push_back({name + "norm1", 0, {}});
    shares.push_back({name + "norm2", 0, {}});
  }
  if (final_norm_) shares.push_back({"final_norm", 0, {}});
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
  if (slot > 2 * blocks_.size())
    return fmt::format("{}: token {} ({})", slot_names_[slot], content.where, content.number);
  if (slot > 0) layer = slot % 2 == 1 ? &blocks_[(slot - 1) / 2]->attention() : &blocks_[(slot - 1) / 2]->ffn();
  return slot_names_[slot] + ": " + layer->explain(content);
}

template class Model<float>;
template class Model<double>;

}  // namespace ridgeline

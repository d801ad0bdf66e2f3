#include "model/block.hpp"

#include "core/region.hpp"

namespace ridgeline {

template <class Scalar>
Block<Scalar>::Block(Residual residual, int width, ParameterScope<Scalar> parameters,
                     std::unique_ptr<Layer<Scalar>> attention, std::unique_ptr<Layer<Scalar>> ffn)
    : residual_(residual),
      width_(width),
      norm1_(parameters.inside("norm1"), width),
      norm2_(parameters.inside("norm2"), width),
      attention_(std::move(attention)),
      ffn_(std::move(ffn)) {}

template <class Scalar>
void Block<Scalar>::reserve_states(const Shape& shape, Arena& arena) {
  for (Tensor<Scalar>* kept : {&first_normed_, &attended_, &second_normed_})
    *kept = arena.kept<Scalar>(shape.batch, shape.tokens, width_);
  for (LayerNorm<Scalar>* norm : {&norm1_, &norm2_}) {
    const Arena::Frame frame(arena);
    norm->reserve(shape.rows(), arena);
  }
}

template <class Scalar>
void Block<Scalar>::reserve(const Shape& shape, Arena& arena) {
  for (Tensor<Scalar>* passing : {&layer_gradient_, &middle_gradient_})
    *passing = arena.passing<Scalar>(shape.batch, shape.tokens, width_);
  reserve_states(shape, arena);
  arena.reserve_apart(*attention_, shape);
  arena.reserve_apart(*ffn_, shape);
}

template <class Scalar>
void Block<Scalar>::reserve_sequence(const Shape& longest, Arena& arena) {
  reserve_states({longest.batch, 1}, arena);
  for (Layer<Scalar>* layer : {attention_.get(), ffn_.get()}) {
    const Arena::Frame frame(arena);
    layer->reserve_sequence(longest, arena);
  }
}

template <class Scalar>
void Block<Scalar>::begin_sequence() {
  attention_->begin_sequence();
  ffn_->begin_sequence();
}

template <class Scalar>
void Block<Scalar>::pass(Tensor<const Scalar> x, Tensor<Scalar> y, LayerPass call) {
  const bool normed = residual_ == Residual::normed;
  {
    const Region region("norm");
    norm1_.forward(rows_of(x), rows_of(first_normed_));
  }
  {
    const Region region("attention");
    if (normed)
      (attention_.get()->*call)(x, first_normed_, attended_);
    else
      (attention_.get()->*call)(first_normed_, x, attended_);
  }
  {
    const Region region("norm");
    norm2_.forward(rows_of(read(attended_)), rows_of(second_normed_));
  }
  const Region region("ffn");
  (ffn_.get()->*call)(second_normed_, normed ? second_normed_ : attended_, y);
}

template <class Scalar>
void Block<Scalar>::backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) {
  const bool normed = residual_ == Residual::normed;
  const Matrix<const Scalar> none;
  const Matrix<const Scalar> from_layer = rows_of(layer_gradient_), from_middle = rows_of(middle_gradient_);
  {
    const Region region("ffn");
    ffn_->backward(second_normed_, dy, layer_gradient_);
  }
  {
    const Region region("norm");
    if (normed)
      norm2_.backward(rows_of(read(attended_)), rows_of(dy), from_layer, none, rows_of(middle_gradient_));
    else
      norm2_.backward(rows_of(read(attended_)), from_layer, none, rows_of(dy), rows_of(middle_gradient_));
  }
  {
    const Region region("attention");
    attention_->backward(normed ? x : read(first_normed_), middle_gradient_, layer_gradient_);
  }
  const Region region("norm");
  if (normed)
    norm1_.backward(rows_of(x), from_middle, none, from_layer, rows_of(dx));
  else
    norm1_.backward(rows_of(x), from_layer, none, from_middle, rows_of(dx));
}

template class Block<float>;
template class Block<double>;

}  // namespace ridgeline

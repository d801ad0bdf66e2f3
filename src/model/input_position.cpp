#include "model/input_position.hpp"

#include <fmt/format.h>

#include "core/error.hpp"
#include "math/rows.hpp"

namespace ridgeline {
namespace {

/// joined[b, n] = x[b, n] and numbers[n] side by side
template <class Scalar>
void put_side_by_side(Tensor<const Scalar> x, Matrix<const Scalar> numbers, Tensor<Scalar> joined) {
  const int tokens = extent(x, 1), inputs = extent(x, 2), channels = extent(numbers, 1);
  const Chunks chunks(extent(x, 0) * tokens);
  Kokkos::parallel_for(
      "ridgeline::position/join", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          const int b = row / tokens, n = row % tokens;
          Scalar* out = &joined(b, n, 0);
          const Scalar* in = &x(b, n, 0);
          const Scalar* own = &numbers(n, 0);
          for_lanes(team, inputs, [=](int c) { out[c] = in[c]; });
          for_lanes(team, channels, [=](int c) { out[inputs + c] = own[c]; });
        }
      });
}

/// state[b, n] += numbers[n]
template <class Scalar>
void add_to_every_sample(Matrix<const Scalar> numbers, Tensor<Scalar> state) {
  const int tokens = extent(state, 1), channels = extent(state, 2);
  const Chunks chunks(extent(state, 0) * tokens);
  Kokkos::parallel_for(
      "ridgeline::position/add", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          Scalar* out = &state(row / tokens, row % tokens, 0);
          const Scalar* own = &numbers(row % tokens, 0);
          for_lanes(team, channels, [=](int c) { out[c] += own[c]; });
        }
      });
}

/// sums[n, c] = Σ_b tensor[b, n, first + c]
template <class Scalar>
void sum_over_samples(Tensor<const Scalar> tensor, int first, Matrix<Scalar> sums) {
  const int batch = extent(tensor, 0), channels = extent(sums, 1);
  Kokkos::parallel_for(
      "ridgeline::position/sum", one_team_each(extent(sums, 0)), KOKKOS_LAMBDA(const Team& team) {
        const int n = team.league_rank();
        for_lanes(team, channels, [=](int c) {
          Scalar sum = 0;
          for (int b = 0; b < batch; ++b) sum += tensor(b, n, first + c);
          sums(n, c) = sum;
        });
      });
}

/// first[b, n] = the first channels of all[b, n]
template <class Scalar>
void take_first_channels(Tensor<const Scalar> all, Tensor<Scalar> first) {
  const int tokens = extent(all, 1), channels = extent(first, 2);
  Kokkos::parallel_for(
      "ridgeline::position/split", RangePolicy(0, extent(all, 0) * tokens), KOKKOS_LAMBDA(int row) {
        for (int c = 0; c < channels; ++c) first(row / tokens, row % tokens, c) = all(row / tokens, row % tokens, c);
      });
}

}  // namespace

template <class Scalar>
InputPosition<Scalar>::InputPosition(const LayerEntry& entry, PositionMode mode, int inputs, Setup<Scalar>& setup,
                                     const Parameters<Scalar>& parameters)
    : mode_(mode), inputs_(inputs) {
  const std::string title = "position/" + entry.name;
  if (entry.position_use != PositionUse::channels)
    throw Error(Exit::mistake,
                title + " is a bias of attention's scores and gives tokens no channels: it is an attention layer's.");
  const std::size_t before = parameters.entries().size();
  position_ = entry.make_position<Scalar>(setup);
  channels_ = position_->channels() > 0 ? position_->channels() : setup.outputs;
  has_parameters_ = parameters.entries().size() > before;
  if (mode == PositionMode::add && channels_ != setup.outputs)
    throw Error(Exit::mistake, fmt::format("{} gives {} channels and cannot be added to the width's {}; it can be "
                                           "concatenated.",
                                           title, channels_, setup.outputs));
}

template <class Scalar>
void InputPosition<Scalar>::reserve_numbers(int tokens, Arena& arena) {
  is_current_ = false;
  position_->reserve(tokens, arena);
  numbers_ = arena.kept<Scalar>(tokens, channels_);
}

template <class Scalar>
void InputPosition<Scalar>::reserve(const Shape& shape, Arena& arena) {
  reserve_numbers(shape.tokens, arena);
  if (has_parameters_) gradient_ = arena.passing<Scalar>(shape.tokens, channels_);
  if (mode_ == PositionMode::add) return;
  joined_ = arena.kept<Scalar>(shape.batch, shape.tokens, inputs_ + channels_);
  joined_gradient_ = arena.passing<Scalar>(shape.batch, shape.tokens, inputs_ + channels_);
}

template <class Scalar>
void InputPosition<Scalar>::reserve_sequence(const Shape& longest, Arena& arena) {
  reserve_numbers(longest.tokens, arena);
  if (mode_ == PositionMode::concatenate) joined_ = arena.kept<Scalar>(longest.batch, 1, inputs_ + channels_);
}

template <class Scalar>
void InputPosition<Scalar>::compute() {
  if (is_current_ && !has_parameters_) return;
  position_->forward(numbers_);
  is_current_ = true;
}

template <class Scalar>
Matrix<const Scalar> InputPosition<Scalar>::numbers(int first, int tokens) const {
  return Matrix<const Scalar>(row_pointer(numbers_, first), tokens, channels_);
}

template <class Scalar>
Tensor<const Scalar> InputPosition<Scalar>::join(Tensor<const Scalar> x, int first) {
  if (mode_ == PositionMode::add) return x;
  put_side_by_side<Scalar>(x, numbers(first, extent(x, 1)), joined_);
  return joined_;
}

template <class Scalar>
void InputPosition<Scalar>::add(Tensor<Scalar> state, int first) const {
  if (mode_ == PositionMode::add) add_to_every_sample<Scalar>(numbers(first, extent(state, 1)), state);
}

template <class Scalar>
void InputPosition<Scalar>::add_gradients(Tensor<const Scalar> gradient, int first_channel) {
  if (!has_parameters_) return;
  sum_over_samples<Scalar>(gradient, first_channel, gradient_);
  position_->backward(gradient_);
}

template <class Scalar>
void InputPosition<Scalar>::backward_of_add(Tensor<const Scalar> dstate) {
  if (mode_ == PositionMode::add) add_gradients(dstate, 0);
}

template <class Scalar>
Tensor<Scalar> InputPosition<Scalar>::joined_gradient(Tensor<Scalar> dx) const {
  if (mode_ == PositionMode::add) return dx;
  return has_parameters_ || dx.data() != nullptr ? joined_gradient_ : Tensor<Scalar>();
}

template <class Scalar>
void InputPosition<Scalar>::backward_of_join(Tensor<Scalar> dx) {
  if (mode_ == PositionMode::add) return;
  add_gradients(joined_gradient_, inputs_);
  if (dx.data() != nullptr) take_first_channels<Scalar>(joined_gradient_, dx);
}

template class InputPosition<float>;
template class InputPosition<double>;

}  // namespace ridgeline

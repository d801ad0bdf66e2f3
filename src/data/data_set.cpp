#include "data/data_set.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "core/random.hpp"
#include "core/stop.hpp"
#include "math/lanes.hpp"
#include "math/rows.hpp"

namespace ridgeline {
namespace {

/// How many samples are made at a time.
std::size_t makers(const Task& task) {
  return static_cast<std::size_t>(std::min(task.samples(), Kokkos::DefaultHostExecutionSpace().concurrency()));
}

}  // namespace

template <class Scalar>
DataSet<Scalar>::DataSet(std::string name, const Task& task, Extra extra)
    : name_(std::move(name)),
      kind_of_extra_(extra),
      outputs_(task.outputs()),
      inputs_(Kokkos::view_alloc("ridgeline::data/inputs", Kokkos::WithoutInitializing), task.samples(), task.tokens(),
              task.channels()),
      targets_(Kokkos::view_alloc("ridgeline::data/targets", Kokkos::WithoutInitializing), task.samples(),
               task.tokens(), task.targets()),
      extra_(Kokkos::view_alloc("ridgeline::data/extra", Kokkos::WithoutInitializing), task.samples(), task.tokens(),
             task.extra_channels(extra)),
      shown_(Kokkos::view_alloc("ridgeline::data/shown", Kokkos::WithoutInitializing), task.samples(), task.tokens()) {}

template <class Scalar>
double DataSet<Scalar>::bytes(const Task& task, Extra extra) {
  return static_cast<double>(task.samples()) * task.tokens() *
         (sizeof(Scalar) * (task.channels() + task.targets() + task.extra_channels(extra)) + sizeof(std::uint8_t));
}

template <class Scalar>
double DataSet<Scalar>::bytes_to_fill(const Task& task, Extra extra) {
  return sizeof(double) * static_cast<double>(makers(task)) * task.tokens() *
         (task.channels() + task.targets() + task.extra_channels(extra));
}

template <class Scalar>
void DataSet<Scalar>::fill(const Task& task, std::uint64_t first) {
  const auto inputs = Kokkos::create_mirror_view(inputs_);
  const auto targets = Kokkos::create_mirror_view(targets_);
  const auto shown = Kokkos::create_mirror_view(shown_);
  const auto extra = Kokkos::create_mirror_view(extra_);
  Scalar* extra_data = host_pointer(extra);
  Scalar* input_data = host_pointer(inputs);
  Scalar* target_data = host_pointer(targets);
  std::uint8_t* shown_data = host_pointer(shown);
  const std::size_t input_size = inputs_.extent(1) * inputs_.extent(2);
  const std::size_t target_size = targets_.extent(1) * targets_.extent(2);
  const std::size_t extra_size = extra_.extent(1) * extra_.extent(2);
  const std::size_t length = shown_.extent(1);
  const Extra kind = kind_of_extra_;
  const Task* made_by = &task;
  const std::size_t count = inputs_.extent(0), workers = makers(task);
  // A sample for each worker, taken here: memory that is not there must not be missed inside a parallel region.
  const std::size_t sample_size = input_size + target_size + extra_size;
  std::vector<double> room(workers * sample_size);
  double* rooms = room.data();
  // In double on the host, then rounded: the same bits whatever the device. Some tenths of a second at a time.
  const std::size_t at_once = std::max(workers, (std::size_t{1} << 22) / length);
  for (std::size_t begin = 0; begin < count; begin += at_once) {
    check_stop();
    const std::size_t part = std::min(count - begin, at_once);
    Kokkos::parallel_for("ridgeline::data/make", Kokkos::RangePolicy<Kokkos::DefaultHostExecutionSpace>(0, workers),
                         [=](std::size_t worker) {
                           double* in = rooms + worker * sample_size;
                           double* out = in + input_size;
                           double* more = out + target_size;
                           const std::size_t end = begin + part * (worker + 1) / workers;
                           for (std::size_t i = begin + part * worker / workers; i < end; ++i) {
                             made_by->make(first + i, in, out, shown_data + i * length);
                             if (extra_size > 0) made_by->make_extra(first + i, kind, more);
                             for (std::size_t j = 0; j < input_size; ++j)
                               input_data[i * input_size + j] = static_cast<Scalar>(in[j]);
                             for (std::size_t j = 0; j < target_size; ++j)
                               target_data[i * target_size + j] = static_cast<Scalar>(out[j]);
                             for (std::size_t j = 0; j < extra_size; ++j)
                               extra_data[i * extra_size + j] = static_cast<Scalar>(more[j]);
                           }
                         });
  }
  Kokkos::deep_copy(inputs_, inputs);
  Kokkos::deep_copy(targets_, targets);
  Kokkos::deep_copy(shown_, shown);
  if (extra_size > 0) Kokkos::deep_copy(extra_, extra);
}

template <class Scalar>
Batch<Scalar>::Batch(const DataSet<Scalar>& set, int samples)
    : input_memory_("ridgeline::batch/inputs", static_cast<std::size_t>(samples) * set.tokens() * set.channels()),
      target_memory_("ridgeline::batch/targets", static_cast<std::size_t>(samples) * set.tokens() * set.targets()),
      extra_memory_("ridgeline::batch/extra", static_cast<std::size_t>(samples) * set.tokens() * set.extra_channels()),
      shown_memory_("ridgeline::batch/shown", static_cast<std::size_t>(samples) * set.tokens()) {}

template <class Scalar>
void Batch<Scalar>::gather(const DataSet<Scalar>& set, Kokkos::View<const int*, Memory> order, int first, int count) {
  const int tokens = set.tokens(), channels = set.channels(), targets = set.targets(), extras = set.extra_channels();
  if (extras > 0) extra_ = Tensor<Scalar>(extra_memory_.data(), count, tokens, extras);
  inputs_ = Tensor<Scalar>(input_memory_.data(), count, tokens, channels);
  targets_ = Tensor<Scalar>(target_memory_.data(), count, tokens, targets);
  shown_ = Matrix<std::uint8_t>(shown_memory_.data(), count, tokens);
  const auto to_inputs = inputs_, to_targets = targets_;
  const Scalar* from_extra = set.extra().data();
  Scalar* to_extra = extra_memory_.data();
  const auto to_shown = shown_;
  const auto from_inputs = set.inputs(), from_targets = set.target_values();
  const auto from_shown = set.shown();
  Kokkos::parallel_for(
      "ridgeline::batch/gather", one_team_each(count), KOKKOS_LAMBDA(const Team& team) {
        const int b = team.league_rank();
        const int sample = order(first + b);
        const Scalar* in = &from_inputs(sample, 0, 0);
        const Scalar* out = &from_targets(sample, 0, 0);
        const std::uint8_t* mask = &from_shown(sample, 0);
        Scalar* batch_in = &to_inputs(b, 0, 0);
        Scalar* batch_out = &to_targets(b, 0, 0);
        std::uint8_t* batch_mask = &to_shown(b, 0);
        for_lanes(team, tokens * channels, [=](int i) { batch_in[i] = in[i]; });
        for_lanes(team, tokens * targets, [=](int i) { batch_out[i] = out[i]; });
        for_lanes(team, tokens, [=](int i) { batch_mask[i] = mask[i]; });
        const Scalar* more = from_extra + static_cast<std::size_t>(sample) * tokens * extras;
        Scalar* batch_more = to_extra + static_cast<std::size_t>(b) * tokens * extras;
        for_lanes(team, tokens * extras, [=](int i) { batch_more[i] = more[i]; });
      });
}

std::vector<int> shuffled(int count, std::uint64_t seed, std::uint64_t epoch) {
  std::vector<int> order(static_cast<std::size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  const RandomStream stream(seed, "train/order");
  for (std::uint32_t i = static_cast<std::uint32_t>(count); i > 1; --i)
    std::swap(order[i - 1], order[stream.below(epoch * static_cast<std::uint64_t>(count) + i, i)]);
  return order;
}

template class DataSet<float>;
template class DataSet<double>;
template class Batch<float>;
template class Batch<double>;

}  // namespace ridgeline

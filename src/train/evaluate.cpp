#include "train/evaluate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "config/text.hpp"
#include "core/error.hpp"
#include "core/region.hpp"
#include "core/stop.hpp"

namespace ridgeline {
template <class Scalar>
void check_signals(const Model<Scalar>& model, const std::function<std::string()>& when) {
  for (std::size_t slot = 0; slot < model.status().signal_count(); ++slot)
    if (const Signal::Content content = model.status().signal(slot); content.raised)
      throw Error(Exit::numerical, when() + ", " + model.explain(slot, content) + ".");
}

template <class Scalar>
Evaluator<Scalar>::Evaluator(const std::vector<const DataSet<Scalar>*>& sets, const Task& task, int rows)
    : rows_(rows), loss_(make_loss<Scalar>(task, 0)) {
  std::size_t predictions = 0, samples = 0;
  for (const DataSet<Scalar>* set : sets) {
    predictions =
        std::max(predictions, static_cast<std::size_t>(samples_at_once(*set)) * set->tokens() * set->outputs());
    samples = std::max(samples, static_cast<std::size_t>(set->samples()));
  }
  predictions_ = Kokkos::View<Scalar*, Memory>("ridgeline::evaluation/predictions", predictions);
  sums_ = SampleSums("ridgeline::evaluation/errors", samples);
}

template <class Scalar>
std::vector<Shape> Evaluator<Scalar>::shapes(const DataSet<Scalar>& set) const {
  return batches_of(set.samples(), samples_at_once(set), set.tokens());
}

template <class Scalar>
Metrics Evaluator<Scalar>::evaluate(Model<Scalar>& model, const DataSet<Scalar>& set,
                                    std::vector<Scalar>& predictions) {
  predictions.resize(static_cast<std::size_t>(set.samples()) * set.tokens() * set.outputs());
  return evaluate(model, set, predictions.data());
}

template <class Scalar>
Metrics Evaluator<Scalar>::evaluate(Model<Scalar>& model, const DataSet<Scalar>& set) {
  return evaluate(model, set, nullptr);
}

template <class Scalar>
Metrics Evaluator<Scalar>::evaluate(Model<Scalar>& model, const DataSet<Scalar>& set, Scalar* predictions) {
  const Region region("evaluation", Parts::timed_for_tools);
  model.clear_signals();
  const int batch = samples_at_once(set), tokens = set.tokens(), channels = set.channels(), targets = set.targets(),
            outputs = set.outputs();
  for (int first = 0; first < set.samples(); first += batch) {
    check_stop();
    const int count = std::min(batch, set.samples() - first);
    // A set's samples lie side by side: a batch is a part of the set as it is.
    const Tensor<const Scalar> inputs(row_pointer(set.inputs(), first), count, tokens, channels);
    const Tensor<const Scalar> truth(row_pointer(set.target_values(), first), count, tokens, targets);
    const Matrix<const std::uint8_t> shown(row_pointer(set.shown(), first), count, tokens);
    const Tensor<Scalar> prediction(predictions_.data(), count, tokens, outputs);
    const Tensor<const Scalar> extra =
        set.extra_channels() > 0
            ? Tensor<const Scalar>(row_pointer(set.extra(), first), count, tokens, set.extra_channels())
            : Tensor<const Scalar>();
    model.forward(inputs, prediction, extra);
    loss_->sum(prediction, truth, shown, sums_, first);
    if (predictions == nullptr) continue;
    const std::size_t size = prediction.size();
    const Kokkos::View<Scalar*, Kokkos::HostSpace, Kokkos::MemoryTraits<Kokkos::Unmanaged>> host(
        predictions + static_cast<std::size_t>(first) * tokens * outputs, size);
    Kokkos::deep_copy(host, Kokkos::subview(predictions_, std::make_pair(std::size_t{0}, size)));
  }
  model.status().read();
  check_signals<Scalar>(model, [&] { return "evaluation of the set " + set.name(); });
  const auto sums = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), sums_);
  const auto shown = Kokkos::create_mirror_view_and_copy(
      Kokkos::HostSpace(), Kokkos::subview(set.shown(), 0, Kokkos::ALL));  // as many in every sample
  const std::uint8_t* mask = host_pointer(shown);
  const Counts counts{set.samples(), tokens, static_cast<int>(std::count(mask, mask + tokens, std::uint8_t{1})),
                      targets};
  Metrics metrics = loss_->metrics(host_pointer(sums), counts);
  const auto& [name, value] = metrics.entries().front();
  if (!std::isfinite(value))
    throw Error(
        Exit::numerical,
        fmt::format("evaluation of the set {}: the {} is {}; the data or the predictions are beyond {} precision.",
                    set.name(), find_metric(name)->title, without_sign_of_nan(value),
                    std::is_same_v<Scalar, float> ? "single" : "double"));
  return metrics;
}

template void check_signals(const Model<float>&, const std::function<std::string()>&);
template void check_signals(const Model<double>&, const std::function<std::string()>&);
template class Evaluator<float>;
template class Evaluator<double>;

}  // namespace ridgeline

#include "train/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "config/text.hpp"
#include "core/error.hpp"
#include "core/region.hpp"
#include "train/evaluate.hpp"

namespace ridgeline {

std::int64_t steps_per_epoch(int samples, int batch) { return (samples + batch - 1) / batch; }

template <class Scalar>
Trainer<Scalar>::Trainer(Model<Scalar>& model, DataSet<Scalar>& data, const Task& task, const TrainingPlan& plan)
    : model_(model),
      data_(data),
      task_(task),
      plan_(plan),
      per_epoch_(steps_per_epoch(data.samples(), plan.batch)),
      adam_(model.parameters().values().extent(0), model.status().on_device(Status::norm)),
      loss_(make_loss<Scalar>(task, plan.batch * data.tokens())),
      batch_(data, plan.batch),
      order_("ridgeline::train/order", static_cast<std::size_t>(data.samples())),
      host_order_(Kokkos::create_mirror_view(order_)),
      prediction_memory_("ridgeline::train/prediction",
                         static_cast<std::size_t>(plan.batch) * data.tokens() * data.outputs()),
      gradient_memory_("ridgeline::train/prediction_gradient", prediction_memory_.extent(0)) {
  model_.clear_signals();
}

template <class Scalar>
std::vector<Shape> Trainer<Scalar>::shapes() const {
  return batches_of(data_.samples(), plan_.batch, data_.tokens());
}

template <class Scalar>
void Trainer<Scalar>::begin_epoch(std::int64_t epoch) {
  if (epoch == epoch_loaded_) return;
  const Region region("data");
  epoch_loaded_ = epoch;
  step_loaded_ = -1;
  if (plan_.resample)
    data_.fill(task_, static_cast<std::uint64_t>(epoch) * static_cast<std::uint64_t>(data_.samples()));
  const std::vector<int> order = shuffled(data_.samples(), plan_.seed, static_cast<std::uint64_t>(epoch));
  std::copy(order.begin(), order.end(), host_pointer(host_order_));
  Kokkos::deep_copy(order_, host_order_);
}

template <class Scalar>
void Trainer<Scalar>::load_batch(std::int64_t step) {
  if (step == step_loaded_) return;
  const Region region("data");
  step_loaded_ = step;
  const int first = static_cast<int>(step % per_epoch_) * plan_.batch;
  batch_.gather(data_, order_, first, std::min(plan_.batch, data_.samples() - first));
}

template <class Scalar>
double Trainer<Scalar>::step() {
  begin_epoch(steps_taken_ / per_epoch_);  // copies: not part of the step
  const Region region("step", Parts::timed_for_tools);
  load_batch(steps_taken_);
  const Tensor<const Scalar> inputs = batch_.inputs();
  const Shape shape = shape_of(inputs);
  const Tensor<Scalar> prediction(prediction_memory_.data(), shape.batch, shape.tokens, data_.outputs());
  const Tensor<Scalar> gradient(gradient_memory_.data(), shape.batch, shape.tokens, data_.outputs());
  {
    const Region forward("forward");
    model_.forward(inputs, prediction, batch_.extra());
  }
  {
    const Region loss("loss");
    const int counted = shape.tokens - (plan_.hidden_only ? task_.shown_tokens() : 0);
    (*loss_)(prediction, batch_.targets(),
             plan_.hidden_only ? Matrix<const std::uint8_t>(batch_.shown()) : Matrix<const std::uint8_t>(),
             static_cast<double>(shape.batch) * counted * data_.targets(), gradient,
             model_.status().on_device(Status::loss));
  }
  {
    const Region backward("backward");
    model_.backward(inputs, gradient);
  }
  {
    const Region optimiser("optimiser");
    adam_.step(model_.parameters(), steps_taken_ + 1,
               learning_rate(plan_.schedule, plan_.learning_rate, steps_taken_, plan_.steps), plan_.gradient_clip);
  }
  // The device has the next batch ready by the time the host has looked at this one's status.
  const bool is_last = (steps_taken_ + 1) % per_epoch_ == 0 || steps_taken_ + 1 >= plan_.steps;
  if (!is_last) load_batch(steps_taken_ + 1);
  model_.status().read();
  check();
  last_tokens_ = shape.rows();
  ++steps_taken_;
  return model_.status()[Status::loss];
}

template <class Scalar>
void Trainer<Scalar>::check() const {
  const auto when = [&] { return fmt::format("step {} (epoch {})", steps_taken_ + 1, steps_taken_ / per_epoch_ + 1); };
  check_signals<Scalar>(model_, when);
  const double loss = model_.status()[Status::loss];
  const double norm = plan_.gradient_clip > 0 ? model_.status()[Status::norm] : 0;
  if (std::isfinite(loss) && std::isfinite(norm)) return;
  throw Error(Exit::numerical, fmt::format("{}: the {} is {}; a smaller `learning_rate`{} may help.", when(),
                                           std::isfinite(loss) ? "norm of the gradients" : "loss",
                                           without_sign_of_nan(std::isfinite(loss) ? norm : loss),
                                           plan_.gradient_clip > 0 ? "" : " or a `gradient_clip`"));
}

template <class Scalar>
void Trainer<Scalar>::check_parameters() const {
  const auto values = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), model_.parameters().values());
  const Scalar* data = host_pointer(values);
  for (const auto& entry : model_.parameters().entries()) {
    const Scalar* begin = data + entry.offset;
    const Scalar* bad = std::find_if(begin, begin + entry.size, [](Scalar value) { return !std::isfinite(value); });
    if (bad != begin + entry.size)
      throw Error(Exit::numerical,
                  fmt::format("step {} (epoch {}): it made a value of the parameter {} {}; a smaller `learning_rate`{} "
                              "may help.",
                              steps_taken_, epoch(), entry.name, without_sign_of_nan(*bad),
                              plan_.gradient_clip > 0 ? "" : " or a `gradient_clip`"));
  }
}

template <class Scalar>
double Trainer<Scalar>::last_learning_rate() const {
  return steps_taken_ == 0 ? 0 : learning_rate(plan_.schedule, plan_.learning_rate, steps_taken_ - 1, plan_.steps);
}

template <class Scalar>
std::optional<double> Trainer<Scalar>::last_gradient_norm() const {
  if (plan_.gradient_clip <= 0 || steps_taken_ == 0) return {};
  return model_.status()[Status::norm];
}

template <class Scalar>
double Trainer<Scalar>::bytes(std::size_t parameters, const Task& task, int batch, Extra extra) {
  const double rows = static_cast<double>(batch) * task.tokens();
  return sizeof(Scalar) * (2.0 * parameters + rows * (task.channels() + task.targets() + 2.0 * task.outputs() +
                                                      task.extra_channels(extra))) +
         rows;
}

template class Trainer<float>;
template class Trainer<double>;

}  // namespace ridgeline

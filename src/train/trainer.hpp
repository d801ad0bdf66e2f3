// The training loop, a step at a time. After its first step it allocates nothing on the device, and copies nothing but
// the model's status, once a step, and before an epoch the order of the samples, and new ones where they are drawn anew.
// A batch is gathered on the device behind the step before it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "data/data_set.hpp"
#include "model/model.hpp"
#include "train/adam.hpp"
#include "train/loss.hpp"
#include "train/schedule.hpp"

namespace ridgeline {

struct TrainingPlan {
  std::uint64_t seed = 1;
  int batch = 1;           ///< samples a step, at most as many as the set has
  std::int64_t steps = 0;  ///< of the whole run
  double learning_rate = 0;
  Schedule schedule = Schedule::constant;
  double gradient_clip = 0;  ///< largest global norm of the gradients; 0: any
  bool hidden_only = false;  ///< the loss leaves out tokens whose target is shown
  bool resample = false;     ///< new samples every epoch
};

/// Steps of one epoch: the last batch may be smaller.
std::int64_t steps_per_epoch(int samples, int batch);

template <class Scalar>
class Trainer {
 public:
  /// The model is prepared by the caller for `shapes()`; model, data and task outlive the trainer.
  Trainer(Model<Scalar>& model, DataSet<Scalar>& data, const Task& task, const TrainingPlan& plan);

  std::vector<Shape> shapes() const;

  /// Takes the next step and returns its loss. Throws Error(Exit::numerical) where the loss or the gradients' norm is
  /// not finite, or a layer raised its signal.
  double step();

  /// Throws Error(Exit::numerical) where a parameter is not finite: what an update broke shows in the next loss only.
  void check_parameters() const;

  std::int64_t steps_taken() const { return steps_taken_; }
  bool finished() const { return steps_taken_ >= plan_.steps; }
  bool at_epoch_end() const { return steps_taken_ % per_epoch_ == 0 || finished(); }
  /// Epochs begun, counted from 1; 0 before the first step.
  std::int64_t epoch() const { return (steps_taken_ + per_epoch_ - 1) / per_epoch_; }
  /// Of the step taken last.
  double last_learning_rate() const;
  /// Of the step taken last, before they were clipped; nothing without gradient_clip.
  std::optional<double> last_gradient_norm() const;
  /// Tokens of the step taken last.
  std::int64_t last_tokens() const { return last_tokens_; }

  Adam<Scalar>& optimiser() { return adam_; }
  const Adam<Scalar>& optimiser() const { return adam_; }
  /// Continues after this many steps, as a checkpoint says.
  void continue_from(std::int64_t steps) {
    steps_taken_ = steps;
    epoch_loaded_ = -1;
  }

  /// Bytes of device memory of optimiser, batch and predictions.
  static double bytes(std::size_t parameters, const Task& task, int batch, Extra extra = Extra::none);

 private:
  void begin_epoch(std::int64_t epoch);
  void load_batch(std::int64_t step);
  void check() const;

  Model<Scalar>& model_;
  DataSet<Scalar>& data_;
  const Task& task_;
  TrainingPlan plan_;
  std::int64_t per_epoch_;
  std::int64_t steps_taken_ = 0;
  std::int64_t epoch_loaded_ = -1;
  std::int64_t step_loaded_ = -1;  // whose batch is in batch_
  std::int64_t last_tokens_ = 0;

  Adam<Scalar> adam_;
  std::unique_ptr<Loss<Scalar>> loss_;
  Batch<Scalar> batch_;
  Kokkos::View<int*, Memory> order_;
  Kokkos::View<int*, Memory>::HostMirror host_order_;
  Kokkos::View<Scalar*, Memory> prediction_memory_, gradient_memory_;
};

extern template class Trainer<float>;
extern template class Trainer<double>;

}  // namespace ridgeline

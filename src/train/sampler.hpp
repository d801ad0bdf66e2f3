// New samples of an autoregressive task, token by token: what the model gave for one token, a level is drawn from, which
// the next token is told.
#pragma once

#include <cstdint>
#include <vector>

#include "data/task.hpp"
#include "io/image_file.hpp"
#include "model/model.hpp"

namespace ridgeline {

struct SamplingPlan {
  int count = 0;              ///< of samples
  std::uint64_t seed = 1;     ///< a sample's draws depend on it and the sample's number alone
  double temperature = 1;     ///< logits are divided by it; 0: always the most probable level
  std::vector<int> labels;    ///< [count], where the model is told the class; empty elsewhere
  int kept = 0;               ///< tokens of each sample that are given, not drawn
  std::vector<double> given;  ///< [count, kept, targets]
};

/// The classes of the task's set, one after another, `count` of them.
std::vector<int> classes_in_turn(const Task& task, int count);

/// Samples of a task of images as images, labelled as the plan has it.
Images images_of(const Task& task, const std::vector<double>& targets, const SamplingPlan& plan);

/// The level that a uniform number in [0, 1) draws from logits [levels] at a temperature. Always the same on any machine
/// but for the rounding of exp.
int draw_level(const double* logits, int levels, double temperature, double uniform);

template <class Scalar>
class Sampler {
 public:
  /// Prepares the model for `at_once` sequences of the task's tokens. Throws as Model::prepare_sequence.
  Sampler(Model<Scalar>& model, const Task& task, Extra extra, int at_once);

  /// Bytes of the device that this takes. Throws as the constructor.
  static double bytes(Model<Scalar>& model, const Task& task, Extra extra, int at_once);

  /// Targets [count, tokens, targets]. Throws Error(Exit::numerical) where a logit is not finite, and as check_stop.
  std::vector<double> sample(const SamplingPlan& plan);

  /// What the model gives for tokens that are given, one after another: [count, kept, outputs].
  std::vector<double> logits(const SamplingPlan& plan);

 private:
  void run(const SamplingPlan& plan, int first, int tokens, std::vector<double>& targets, std::vector<double>* logits);
  void feed(const SamplingPlan& plan, int first, int token, const std::vector<double>& targets);

  Model<Scalar>& model_;
  const Task& task_;
  Extra extra_;
  int at_once_;
  Kokkos::View<Scalar*, Memory> input_, more_, output_;
  typename Kokkos::View<Scalar*, Memory>::HostMirror host_input_, host_more_, host_output_;
};

extern template class Sampler<float>;
extern template class Sampler<double>;

}  // namespace ridgeline

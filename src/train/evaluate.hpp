// A model's predictions on a whole set, and their figures of merit.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/data_set.hpp"
#include "io/metrics.hpp"
#include "model/model.hpp"
#include "train/loss.hpp"

namespace ridgeline {

/// Evaluates sets batch by batch, in memory taken once: predictions of the largest batch.
template <class Scalar>
class Evaluator {
 public:
  /// For sets of any length, with the loss of `task`, `rows` tokens (or one sample, where it is longer) at a time.
  Evaluator(const std::vector<const DataSet<Scalar>*>& sets, const Task& task, int rows);

  /// How many samples of `tokens` are evaluated at once.
  static int batch_for(int rows, int samples, int tokens) { return std::clamp(rows / tokens, 1, samples); }

  /// The shapes that the model must be prepared for to evaluate a set.
  std::vector<Shape> shapes(const DataSet<Scalar>& set) const;

  /// Throws Error(Exit::numerical) where a layer raised a signal or the error is not finite, and as check_stop. The same
  /// bits on every call.
  Metrics evaluate(Model<Scalar>& model, const DataSet<Scalar>& set);

  /// The same, and the predictions, [samples, tokens, outputs], on the host.
  Metrics evaluate(Model<Scalar>& model, const DataSet<Scalar>& set, std::vector<Scalar>& predictions);

 private:
  /// Where `predictions` is not null it is the host's memory for those of the set.
  Metrics evaluate(Model<Scalar>& model, const DataSet<Scalar>& set, Scalar* predictions);
  int samples_at_once(const DataSet<Scalar>& set) const { return batch_for(rows_, set.samples(), set.tokens()); }

  int rows_;
  Kokkos::View<Scalar*, Memory> predictions_;  // of a batch
  std::unique_ptr<Loss<Scalar>> loss_;
  SampleSums sums_;
};

/// Throws Error(Exit::numerical), beginning with `when`, where a layer of the model had raised its signal when the
/// model's status was read.
template <class Scalar>
void check_signals(const Model<Scalar>& model, const std::function<std::string()>& when);

extern template class Evaluator<float>;
extern template class Evaluator<double>;

}  // namespace ridgeline

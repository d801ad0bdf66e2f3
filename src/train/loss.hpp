// What a model is trained to make small, with its gradient, and the sums that figures of merit are made of.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/tensor.hpp"
#include "data/task.hpp"
#include "io/metrics.hpp"

namespace ridgeline {

/// Sums per sample that a loss's metrics are made of: [samples, sums_per_sample].
inline constexpr int sums_per_sample = 3;
using SampleSums = Kokkos::View<double* [sums_per_sample], Kokkos::LayoutRight, Memory>;

/// Their order, of SquaredError and of CrossEntropy.
enum ErrorSum { error_hidden, error_shown, truth_square };
enum EntropySum { surprise, right };

/// How many tokens the samples of a set have, and how many of them are shown.
struct Counts {
  int samples = 0;
  int tokens = 0;
  int shown = 0;    ///< in each sample
  int targets = 0;  ///< of a token
};

template <class Scalar>
class Loss {
 public:
  virtual ~Loss() = default;

  /// Writes the loss, a sum over tokens and their targets over `divisor`, to `loss`, and its gradient to `gradient`.
  /// prediction and gradient [B, N, outputs], target [B, N, targets]. Where `shown` [B, N] is not empty, tokens that are
  /// shown are left out. `divisor` counts what is summed. Throws std::logic_error where more tokens need more
  /// room than the loss was made with.
  virtual void operator()(Tensor<const Scalar> prediction, Tensor<const Scalar> target,
                          Matrix<const std::uint8_t> shown, double divisor, Tensor<Scalar> gradient,
                          Kokkos::View<double, Memory> loss) const = 0;

  /// Writes sums[first + b, :] for each sample of a batch, added up in double.
  virtual void sum(Tensor<const Scalar> prediction, Tensor<const Scalar> target, Matrix<const std::uint8_t> shown,
                   SampleSums sums, int first) const = 0;

  /// The figures of a set from its samples' sums, [samples, sums_per_sample] on the host, added up in the samples' order.
  virtual Metrics metrics(const double* sums, const Counts& counts) const = 0;
};

/// (prediction - target)², summed. Its metrics are mse, mse_hidden, mse_shown, relative_l2.
template <class Scalar>
class SquaredError final : public Loss<Scalar> {
 public:
  /// For batches of at most `rows` tokens in all.
  explicit SquaredError(int rows);

  void operator()(Tensor<const Scalar> prediction, Tensor<const Scalar> target, Matrix<const std::uint8_t> shown,
                  double divisor, Tensor<Scalar> gradient, Kokkos::View<double, Memory> loss) const override;
  void sum(Tensor<const Scalar> prediction, Tensor<const Scalar> target, Matrix<const std::uint8_t> shown,
           SampleSums sums, int first) const override;
  Metrics metrics(const double* sums, const Counts& counts) const override;

 private:
  Kokkos::View<double*, Memory> partial_;  // by chunk of rows
};

/// -log σ(logits)[level] with the natural logarithm, summed: each target of a token is a level, a whole number from 0 to
/// levels - 1, and has `levels` outputs beside one another. Its metrics are bits_per_dimension, cross_entropy, accuracy.
template <class Scalar>
class CrossEntropy final : public Loss<Scalar> {
 public:
  /// For batches of at most `rows` tokens in all.
  CrossEntropy(int rows, int levels);

  void operator()(Tensor<const Scalar> prediction, Tensor<const Scalar> target, Matrix<const std::uint8_t> shown,
                  double divisor, Tensor<Scalar> gradient, Kokkos::View<double, Memory> loss) const override;
  void sum(Tensor<const Scalar> prediction, Tensor<const Scalar> target, Matrix<const std::uint8_t> shown,
           SampleSums sums, int first) const override;
  Metrics metrics(const double* sums, const Counts& counts) const override;

 private:
  int levels_;
  Kokkos::View<double*, Memory> partial_;  // by chunk of rows
};

/// The task's loss, for batches of at most `rows` tokens in all.
template <class Scalar>
std::unique_ptr<Loss<Scalar>> make_loss(const Task& task, int rows);

/// The figure that curves and comparisons show.
std::string main_metric(LossKind loss);

extern template class SquaredError<float>;
extern template class SquaredError<double>;
extern template class CrossEntropy<float>;
extern template class CrossEntropy<double>;

}  // namespace ridgeline

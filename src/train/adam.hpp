// Adam (Kingma, Ba 2015), as PyTorch has it, over the model's flat buffers: one pass over memory.
#pragma once

#include <vector>

#include "core/parameters.hpp"

namespace ridgeline {

template <class Scalar>
class Adam {
 public:
  static constexpr double beta1 = 0.9;
  static constexpr double beta2 = 0.999;
  static constexpr double epsilon = 1e-8;

  /// For parameters and gradients of `length` entries; both moments start at zero. The gradients' norm goes to `norm`.
  Adam(std::size_t length, Kokkos::View<double, Memory> norm);
  explicit Adam(std::size_t length) : Adam(length, Kokkos::View<double, Memory>("ridgeline::adam/norm")) {}

  /// One update of the parameters with bias correction for the given step, counted from 1. The gradients, first scaled
  /// so that their norm is at most `largest_norm` where that is above zero, are zero afterwards. A step whose gradient
  /// is not finite is the caller's to notice: see norm().
  void step(Kokkos::View<Scalar*, Memory> parameters, Kokkos::View<Scalar*, Memory> gradients, std::int64_t step,
            double learning_rate, double largest_norm = 0);
  /// The same of a model's; gradients that backward passes overwrite may be left as they are.
  void step(Parameters<Scalar>& parameters, std::int64_t step, double learning_rate, double largest_norm = 0);

  /// The gradients' norm at the last step, in device memory; written only where the norm was limited.
  Kokkos::View<const double, Memory> norm() const { return norm_; }

  Kokkos::View<Scalar*, Memory> first_moment() const { return first_; }
  Kokkos::View<Scalar*, Memory> second_moment() const { return second_; }

 private:
  void mark_kept(const Parameters<Scalar>& parameters);

  Kokkos::View<Scalar*, Memory> first_, second_;
  Kokkos::View<bool*, Memory> kept_;       // by chunk: its gradients are not cleared
  std::vector<bool> kept_entries_;         // what `kept_` was made of
  Kokkos::View<double*, Memory> partial_;  // sums of squares by chunk
  Kokkos::View<double, Memory> norm_;
};

extern template class Adam<float>;
extern template class Adam<double>;

}  // namespace ridgeline

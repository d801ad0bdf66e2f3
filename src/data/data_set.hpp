// The samples of a set, in device memory, and batches of them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/tensor.hpp"
#include "data/task.hpp"

namespace ridgeline {

/// All samples of a task, made once (or again, for another range of samples).
template <class Scalar>
class DataSet {
 public:
  /// With the extra channels of this kind.
  DataSet(std::string name, const Task& task, Extra extra = Extra::none);

  /// Makes samples first, first + 1, … of the task, on all threads of the host. Throws as check_stop.
  void fill(const Task& task, std::uint64_t first);

  const std::string& name() const { return name_; }
  int samples() const { return static_cast<int>(inputs_.extent(0)); }
  int tokens() const { return static_cast<int>(inputs_.extent(1)); }
  int channels() const { return static_cast<int>(inputs_.extent(2)); }
  int targets() const { return static_cast<int>(targets_.extent(2)); }
  /// What a model gives for each token, as the task says.
  int outputs() const { return outputs_; }
  int extra_channels() const { return static_cast<int>(extra_.extent(2)); }

  Kokkos::View<Scalar***, Kokkos::LayoutRight, Memory> inputs() const { return inputs_; }          // [n, N, C]
  Kokkos::View<Scalar***, Kokkos::LayoutRight, Memory> target_values() const { return targets_; }  // [n, N, T]
  Kokkos::View<std::uint8_t**, Kokkos::LayoutRight, Memory> shown() const { return shown_; }       // [n, N]
  Kokkos::View<Scalar***, Kokkos::LayoutRight, Memory> extra() const { return extra_; }            // [n, N, X]

  /// Bytes of a set in device memory.
  static double bytes(const Task& task, Extra extra = Extra::none);
  /// Bytes of the host's memory that `fill` takes besides, for as long as it works.
  static double bytes_to_fill(const Task& task, Extra extra = Extra::none);

 private:
  std::string name_;
  Extra kind_of_extra_;
  int outputs_;
  Kokkos::View<Scalar***, Kokkos::LayoutRight, Memory> inputs_, targets_, extra_;
  Kokkos::View<std::uint8_t**, Kokkos::LayoutRight, Memory> shown_;
};

/// A batch's samples, gathered side by side.
template <class Scalar>
class Batch {
 public:
  /// Room for `samples` of the set.
  Batch(const DataSet<Scalar>& set, int samples);

  /// Gathers samples order[first], …, order[first + count - 1] of a set of the same shape.
  void gather(const DataSet<Scalar>& set, Kokkos::View<const int*, Memory> order, int first, int count);

  Tensor<Scalar> inputs() const { return inputs_; }
  Tensor<Scalar> targets() const { return targets_; }
  Matrix<std::uint8_t> shown() const { return shown_; }
  /// Empty where the set has none.
  Tensor<Scalar> extra() const { return extra_; }

 private:
  Kokkos::View<Scalar*, Memory> input_memory_, target_memory_, extra_memory_;
  Kokkos::View<std::uint8_t*, Memory> shown_memory_;
  Tensor<Scalar> inputs_, targets_, extra_;
  Matrix<std::uint8_t> shown_;
};

/// 0, 1, …, count-1 in the random order of one epoch of a seed (Fisher, Yates).
std::vector<int> shuffled(int count, std::uint64_t seed, std::uint64_t epoch);

extern template class DataSet<float>;
extern template class DataSet<double>;
extern template class Batch<float>;
extern template class Batch<double>;

}  // namespace ridgeline

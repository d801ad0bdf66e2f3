// An activation alone, applied to a matrix, given and asked for plain numbers on the host.
#pragma once

#include <memory>
#include <vector>

#include "conform/check.hpp"
#include "conform/guarded.hpp"

namespace ridgeline::conform {

struct ValuesAndSlopes {
  std::vector<double> values, slopes;
};

template <class Scalar>
class Pointwise {
 public:
  /// z is the case's x, and the bias is zero.
  explicit Pointwise(const Case& tried);
  /// z [rows, columns] and a bias [columns], zeros where it is empty.
  Pointwise(const LayerName& activation, const Shape& shape, const std::vector<double>& z,
            const std::vector<double>& bias = {});

  void run() const;
  /// The slopes in the place of z.
  void run_in_place() const;
  /// What the last `run` left.
  ValuesAndSlopes results() const { return {value_.values(), slope_.values()}; }
  ValuesAndSlopes results_in_place() const { return {value_.values(), z_.values()}; }

  /// What was written that should not have been; empty where all is well.
  std::string trespass() const;

 private:
  Matrix<Scalar> matrix(const GuardedNumbers<Scalar>& numbers) const {
    return Matrix<Scalar>(numbers.data(), rows_, columns_);
  }

  std::unique_ptr<Activation<Scalar>> activation_;
  int rows_, columns_;
  GuardedNumbers<Scalar> z_, bias_, value_, slope_;
  std::vector<double> z_before_, bias_before_;
};

extern template class Pointwise<float>;
extern template class Pointwise<double>;

}  // namespace ridgeline::conform

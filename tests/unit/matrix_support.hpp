// Random matrices on host and device, for tests of kernels.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/random.hpp"
#include "support/subject.hpp"

namespace ridgeline::support {

inline std::vector<double> random_values(std::size_t count, std::uint64_t seed) {
  const RandomStream stream(seed, "test/values");
  std::vector<double> values(count);
  for (std::size_t i = 0; i < count; ++i) values[i] = stream.normal(i);
  return values;
}

/// Memory on the device that begins as values of the host, and views of it.
template <class Scalar>
struct Device {
  explicit Device(const std::vector<double>& values) : memory(to_device<Scalar>(values)) {}

  Vector<Scalar> vector() const { return Vector<Scalar>(memory.data(), memory.extent(0)); }
  Matrix<Scalar> matrix(int rows, int columns) const { return Matrix<Scalar>(memory.data(), rows, columns); }
  std::vector<double> host() const { return to_host<Scalar>(memory); }

  Kokkos::View<Scalar*, Memory> memory;
};

/// |a - b| at most `tolerance` times the largest |b|, entry by entry.
inline void expect_near(const std::vector<double>& a, const std::vector<double>& b, double tolerance) {
  ASSERT_EQ(a.size(), b.size());
  double largest = 0;
  for (const double value : b) largest = std::max(largest, std::abs(value));
  for (std::size_t i = 0; i < b.size(); ++i) ASSERT_NEAR(a[i], b[i], tolerance * largest) << "entry " << i;
}

template <class Scalar>
constexpr double rounding = sizeof(Scalar) == 4 ? 1e-5 : 1e-13;

struct Size {
  int rows, columns;
};

/// One, odd, prime, and more rows than a chunk has.
inline const std::vector<Size> odd_sizes = {{1, 1}, {1, 7}, {3, 1}, {17, 5}, {16, 16}, {37, 33}, {300, 3}, {4099, 2}};

}  // namespace ridgeline::support

// Bias, residual, sums over rows, and products entry by entry.
#include "math/rows.hpp"

#include <fmt/format.h>

#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

Kernel bias(const std::string& what, int rows, int columns, bool residual) {
  Kernel kernel;
  kernel.name = fmt::format("ridgeline::add_bias {} {}x{}", what, rows, columns);
  const std::size_t size = std::size_t(rows) * columns;
  kernel.operations = (residual ? 2 : 1) * static_cast<double>(size);
  kernel.bytes = (residual ? 12 : 8) * static_cast<double>(size);
  kernel.footprint = (residual ? 8 : 4) * static_cast<double>(size);
  kernel.prepare = [=] {
    const Array y = filled(size), b = filled(columns), r = filled(residual ? size : 0);
    return [=] {
      add_bias<float>(matrix(y, rows, columns), vector(b),
                      residual ? Matrix<const float>(r.data(), rows, columns) : Matrix<const float>());
    };
  };
  return kernel;
}

Kernel column_sums(int rows, int columns) {
  Kernel kernel;
  kernel.name = fmt::format("ridgeline::column_sums {}x{}", rows, columns);
  const std::size_t size = std::size_t(rows) * columns;
  kernel.operations = static_cast<double>(size);
  kernel.bytes = 4 * static_cast<double>(size);
  kernel.prepare = [=] {
    const auto arena = std::make_shared<Arena>();
    ColumnSums<float> sums;
    reserve(*arena, [&](Arena& memory) { sums.reserve(rows, columns, memory); });
    const Array values = filled(size), total = filled(columns);
    return [=, keep = arena] { sums.add(matrix(values, rows, columns), vector(total)); };
  };
  return kernel;
}

Kernel multiply(int rows, int columns) {
  Kernel kernel;
  kernel.name = fmt::format("ridgeline::multiply_entries {}x{}", rows, columns);
  const std::size_t size = std::size_t(rows) * columns;
  kernel.operations = 2 * static_cast<double>(size);
  kernel.bytes = 12 * static_cast<double>(size);
  kernel.footprint = 8 * static_cast<double>(size);
  kernel.prepare = [=] {
    const int chunks = Chunks(rows).count;
    const Array a = filled(size), b = filled(size), partial = filled(std::size_t(chunks) * columns);
    Kokkos::deep_copy(b, 1.0F);  // in place, as the layers have it: a stays as it is
    return [=] {
      multiply_entries<float>(matrix(a, rows, columns), matrix(b, rows, columns), matrix(a, rows, columns),
                              matrix(partial, chunks, columns));
    };
  };
  return kernel;
}

}  // namespace

void add_rows(const Sizes& s, std::vector<Kernel>& kernels) {
  kernels.push_back(bias("bias", s.rows(), s.width, false));
  kernels.push_back(bias("bias and residual", s.rows(), s.width, true));
  kernels.push_back(column_sums(s.rows(), s.width));
  kernels.push_back(multiply(s.rows(), s.hidden));
  kernels.push_back(multiply(s.rows(), s.width));
}

}  // namespace ridgeline::perf

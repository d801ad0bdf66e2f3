// Functional attention's basis functions: the softmax with its sums over tokens, forward and backward.
#include "layers/attention/basis_functions.hpp"

#include <fmt/format.h>

#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

using functional::BasisFunctions;

/// Softmax over the basis functions of all heads of a token, queries' and keys' apart: `normalization = joint`.
struct Basis {
  explicit Basis(const Sizes& s) : functions(2 * s.all_basis(), s.all_basis()) {
    reserve(arena, [&](Arena& memory) { functions.reserve({s.batch, s.tokens}, memory); });
  }
  Arena arena;
  BasisFunctions<float> functions;
};

}  // namespace

void add_basis_functions(const Sizes& s, std::vector<Kernel>& kernels) {
  const int rows = s.rows(), columns = 2 * s.all_basis(), batch = s.batch;
  const double entries = static_cast<double>(rows) * columns;
  const std::string shape = fmt::format(" {}x{}", rows, columns);

  Kernel forward;
  forward.name = "ridgeline::functional/basis/forward" + shape;
  forward.operations =
      (exponential_operations + 6) * entries;  // bias, maximum, difference, sum, scale, sum over tokens
  forward.bytes = 8 * entries;
  forward.footprint = 4 * entries;
  forward.prepare = [=] {
    const auto basis = std::make_shared<Basis>(s);
    const Array logits = filled(std::size_t(rows) * columns), bias = filled(columns), sums = filled(columns * batch);
    return [=] {  // in place: from the second call on, of its own result, which costs the same
      basis->functions.forward(matrix(logits, rows, columns), vector(bias), 1, matrix(sums, columns, batch));
    };
  };
  kernels.push_back(forward);

  Kernel backward;
  backward.name = "ridgeline::functional/basis/backward" + shape;
  backward.operations = 7 * entries;
  backward.bytes = 12 * entries;
  backward.footprint = 8 * entries;
  backward.prepare = [=] {
    const auto basis = std::make_shared<Basis>(s);
    const Array phi = filled(std::size_t(rows) * columns), gradient = filled(std::size_t(rows) * columns),
                sums = filled(columns * batch), bias = filled(columns);
    return [=] {  // in place as well; what `sums` adds keeps the gradient from dying away
      basis->functions.backward(matrix(phi, rows, columns), matrix(gradient, rows, columns), 1,
                                matrix(sums, columns, batch), vector(bias));
    };
  };
  kernels.push_back(backward);
}

}  // namespace ridgeline::perf

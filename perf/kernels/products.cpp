// Matrix products at the shapes of a step.
#include <fmt/format.h>

#include "math/gemm.hpp"
#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

Kernel product(const std::string& what, const Product& p, Op op_a, Op op_b) {
  Kernel kernel;
  kernel.name = fmt::format("ridgeline::gemm {} {}x{}x{}", what, p.rows, p.columns, p.inner);
  if (p.count > 1) kernel.name += fmt::format(" {} of", p.count);
  kernel.operations = 2.0 * p.rows * p.columns * p.inner * p.count;
  const std::int64_t size_a = std::int64_t{p.rows} * p.inner, size_b = std::int64_t{p.inner} * p.columns,
                     size_c = std::int64_t{p.rows} * p.columns;
  kernel.bytes = 4.0 * p.count * static_cast<double>(size_a + size_b + size_c);
  kernel.prepare = [=] {
    const Array a = filled(size_a * p.count), b = filled(size_b * p.count), c = filled(size_c * p.count);
    return [=] {
      gemm<float>(p, {a.data(), op_a == Op::none ? p.inner : p.rows, op_a, size_a},
                  {b.data(), op_b == Op::none ? p.columns : p.inner, op_b, size_b}, {c.data(), p.columns, size_c});
    };
  };
  return kernel;
}

}  // namespace

// W, Wup, Wdown: weights as they are stored, [out, in]; x, h: activations; g: gradients.
void add_products(const Sizes& s, std::vector<Kernel>& kernels) {
  const int rows = s.rows(), d = s.width, f = s.hidden, all = 2 * s.all_basis(), head_rows = s.basis * s.batch;
  const Op none = Op::none, transposed = Op::transpose;
  for (const auto& [what, size, op_a, op_b] :
       {std::tuple{"x Wup'", Product{rows, f, d}, none, transposed},
        {"h Wdown'", Product{rows, d, f}, none, transposed},
        {"x W'", Product{rows, d, d}, none, transposed},
        {"g Wup", Product{rows, d, f}, none, none},
        {"g Wdown", Product{rows, f, d}, none, none},
        {"g W", Product{rows, d, d}, none, none},
        {"g' x up", Product{f, d, rows}, transposed, none},
        {"g' h down", Product{d, f, rows}, transposed, none},
        {"g' x", Product{d, d, rows}, transposed, none},
        {"fold", Product{s.all_basis(), d, s.heads * d}, none, none},
        {"contract", Product{all, d, s.tokens, s.batch}, transposed, none},
        {"project", Product{head_rows, d, d, s.heads}, none, transposed},
        {"synthesise", Product{s.tokens, d, s.all_basis(), s.batch}, none, none}})
    kernels.push_back(product(what, size, op_a, op_b));
}

}  // namespace ridgeline::perf

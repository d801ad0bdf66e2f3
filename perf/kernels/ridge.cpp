// The small systems of functional attention, in double.
#include "math/ridge.hpp"

#include <fmt/format.h>

#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

/// A map with its arguments: coefficients of every head and sample, and their gradients.
class Ridge {
 public:
  explicit Ridge(const Sizes& s)
      : sizes_(s),
        signal_("signal", 1),
        map_(1e-4, Signal(signal_.data())),
        queries_(filled(size())),
        values_(filled(size())),
        mapped_(filled(size())),
        mapped_gradient_(filled(size())),
        queries_gradient_(filled(size())),
        values_gradient_(filled(size())),
        sums_(filled(2 * size() / s.width)),
        sums_gradient_(filled(2 * size() / s.width)),
        bias_(filled(s.heads * s.width)) {
    Kokkos::deep_copy(signal_, Signal::silent);
    reserve(arena_, [&](Arena& memory) { map_.reserve(s.heads, s.basis, s.batch, s.width, memory); });
  }

  void forward() const { map_.forward(coefficients(queries_), coefficients(values_), rows(mapped_)); }
  void backward() const {
    map_.backward(coefficients(queries_), coefficients(values_), rows(mapped_gradient_),
                  {rows(queries_gradient_), sums(sums_gradient_)}, {rows(values_gradient_), sums(sums_gradient_)});
  }

 private:
  std::size_t size() const { return std::size_t(sizes_.all_basis()) * sizes_.batch * sizes_.width; }
  HeadRows<float> rows(const Array& array) const {
    return HeadRows<float>(array.data(), sizes_.heads, sizes_.basis, sizes_.batch, sizes_.width);
  }
  View<float***> sums(const Array& array) const {
    return View<float***>(array.data(), sizes_.heads, sizes_.basis, sizes_.batch);
  }
  Coefficients<float> coefficients(const Array& array) const {
    return {rows(array), sums(sums_), matrix(bias_, sizes_.heads, sizes_.width)};
  }

  Sizes sizes_;
  Kokkos::View<std::uint64_t*, Memory> signal_;
  RidgeMap<float> map_;
  Arena arena_;
  Array queries_, values_, mapped_, mapped_gradient_, queries_gradient_, values_gradient_, sums_, sums_gradient_, bias_;
};

}  // namespace

void add_ridge(const Sizes& s, std::vector<Kernel>& kernels) {
  const double systems = static_cast<double>(s.heads) * s.batch, n = std::min(s.basis, s.width);
  const double kept = 8 * (n * n + s.basis * n);                    // factor and solution
  const double rows = 4.0 * s.basis * s.width, sums = 4 * s.basis;  // of a system
  const std::string shape = fmt::format(" {} of {}x{}", s.heads * s.batch, s.basis, s.width);

  Kernel forward;
  forward.name = "ridgeline::ridge/forward" + shape;
  forward.arithmetic = Arithmetic::double_precision;
  forward.operations = RidgeMap<float>::forward_operations(s.heads, s.basis, s.batch, s.width);
  forward.bytes = systems * (3 * rows + 2 * sums + kept);
  forward.prepare = [=] {
    const auto ridge = std::make_shared<Ridge>(s);
    return [=] { ridge->forward(); };
  };
  kernels.push_back(forward);

  Kernel backward;
  backward.name = "ridgeline::ridge/backward" + shape;
  backward.arithmetic = Arithmetic::double_precision;
  backward.operations = RidgeMap<float>::backward_operations(s.heads, s.basis, s.batch, s.width);
  backward.bytes = systems * (5 * rows + 4 * sums + kept);
  backward.prepare = [=] {
    const auto ridge = std::make_shared<Ridge>(s);
    ridge->forward();
    return [=] { ridge->backward(); };
  };
  kernels.push_back(backward);
}

}  // namespace ridgeline::perf

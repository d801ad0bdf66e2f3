#include "perf/support/rates.hpp"

#include <algorithm>
#include <ctime>
#include <vector>

#include "core/region.hpp"
#include "core/tensor.hpp"
#include "math/gemm.hpp"

namespace ridgeline::perf {
namespace {

struct Reference {
  Product product;
  Op a, b;
};

// The largest products of a training step, a longer one, and one that is as wide as it is high.
constexpr Reference references[] = {{{960, 512, 128}, Op::none, Op::transpose},
                                    {{512, 128, 960}, Op::transpose, Op::none},
                                    {{512, 128, 8192}, Op::transpose, Op::none},
                                    {{1024, 1024, 1024}, Op::none, Op::none}};
constexpr int samples = 7;

double median(std::vector<double> numbers) {
  std::nth_element(numbers.begin(), numbers.begin() + numbers.size() / 2, numbers.end());
  return numbers[numbers.size() / 2];
}

template <class Scalar>
Clocks rate_of(const Reference& reference) {
  const Product& p = reference.product;
  const Kokkos::View<Scalar*, Memory> a("a", std::size_t(p.rows) * p.inner), b("b", std::size_t(p.inner) * p.columns),
      c("c", std::size_t(p.rows) * p.columns);
  Kokkos::deep_copy(a, Scalar(0.5));
  Kokkos::deep_copy(b, Scalar(0.25));
  const double operations = 2.0 * p.rows * p.columns * p.inner;
  const int calls = std::max(1, static_cast<int>(1e9 / operations));
  std::vector<double> wall, processor;
  for (int sample = -1; sample < samples; ++sample) {  // the first one warms up
    Execution().fence();
    const Clocks began = clocks();
    for (int call = 0; call < calls; ++call)
      gemm<Scalar>(p, {a.data(), reference.a == Op::none ? p.inner : p.rows, reference.a},
                   {b.data(), reference.b == Op::none ? p.columns : p.inner, reference.b}, {c.data(), p.columns});
    Execution().fence();
    if (sample < 0) continue;
    const Clocks now = clocks();
    wall.push_back(1e-9 * operations * calls / (now.wall - began.wall));
    processor.push_back(1e-9 * operations * calls / (now.processor - began.processor));
  }
  return {median(wall), median(processor)};
}

}  // namespace

Clocks clocks() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return {wall_time(), static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)};
}

template <class Scalar>
Clocks gemm_rate() {
  Clocks best;
  for (const Reference& reference : references) {
    const Clocks rate = rate_of<Scalar>(reference);
    best = {std::max(best.wall, rate.wall), std::max(best.processor, rate.processor)};
  }
  return best;
}

template Clocks gemm_rate<float>();
template Clocks gemm_rate<double>();

}  // namespace ridgeline::perf

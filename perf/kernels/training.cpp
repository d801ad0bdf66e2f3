// What ends a step: the loss with its gradient, and Adam over all parameters.
#include <fmt/format.h>

#include "perf/kernels/kernel.hpp"
#include "train/adam.hpp"
#include "train/loss.hpp"

namespace ridgeline::perf {
namespace {

constexpr std::size_t parameters = 1 << 20;  // near those of inputs/sine.ini

Kernel adam(double largest_norm) {
  Kernel kernel;
  const bool clipped = largest_norm > 0;
  kernel.in_step = !clipped;
  kernel.name = fmt::format("ridgeline::adam/step {}{}", clipped ? "clipped " : "", parameters);
  const auto entries = static_cast<double>(parameters);
  kernel.operations = (clipped ? 16 : 14) * entries;
  kernel.bytes = (clipped ? 36 : 32) * entries;  // four arrays read and written
  kernel.footprint = 16 * entries;
  kernel.prepare = [=] {
    const auto optimiser = std::make_shared<Adam<float>>(parameters);
    const Array values = filled(parameters), gradients = filled(parameters);
    // The first step fills the moments. Later ones, whose gradients are zero, let them decay from there; a restart now
    // and then keeps them from becoming denormal.
    const auto step = std::make_shared<std::int64_t>(0);
    return [=] {
      if (++*step > 500) {
        *step = 1;
        Kokkos::deep_copy(optimiser->first_moment(), 0.1F);
        Kokkos::deep_copy(optimiser->second_moment(), 0.1F);
      }
      optimiser->step(values, gradients, *step, 1e-4, largest_norm);
    };
  };
  return kernel;
}

Kernel loss(int batch, int tokens) {
  Kernel kernel;
  kernel.name = fmt::format("ridgeline::loss {}x{}x1", batch, tokens);
  const int rows = batch * tokens;
  kernel.operations = 4.0 * rows;
  kernel.bytes = 12.0 * rows;
  kernel.prepare = [=] {
    const auto error = std::make_shared<SquaredError<float>>(rows);
    const Array prediction = filled(rows), target = filled(rows), gradient = filled(rows);
    const Kokkos::View<double, Memory> value("loss");
    return [=] {
      const auto tensor = [&](const Array& array) { return Tensor<float>(array.data(), batch, tokens, 1); };
      (*error)(tensor(prediction), tensor(target), {}, rows, tensor(gradient), value);
    };
  };
  return kernel;
}

}  // namespace

void add_training(const Sizes& s, std::vector<Kernel>& kernels) {
  kernels.push_back(loss(s.batch, s.tokens));
  kernels.push_back(adam(0));
  kernels.push_back(adam(1));
}

}  // namespace ridgeline::perf

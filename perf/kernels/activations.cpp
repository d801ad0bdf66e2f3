// Every registered activation, with its slope, over the hidden channels of the feed-forward network; GELU over the
// encoder's as well.
#include <fmt/format.h>

#include "layer/registry.hpp"
#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

/// Operations of value and slope together, and the bias; 0 of those whose formula was not counted.
double operations_of(const std::string& name) {
  if (name == "gelu") return exponential_operations + 37;
  if (name == "silu") return exponential_operations + 9;
  if (name == "tanh") return exponential_operations + 22;
  if (name == "relu") return 2;
  return 0;
}

Kernel activation(const std::string& name, int rows, int columns) {
  Kernel kernel;
  kernel.name = fmt::format("ridgeline::activation {} {}x{}", name, rows, columns);
  const std::size_t size = std::size_t(rows) * columns;
  kernel.operations = operations_of(name) * static_cast<double>(size);
  if (kernel.operations == 0) kernel.arithmetic = Arithmetic::unknown;
  kernel.bytes = 12 * static_cast<double>(size);
  kernel.footprint = 8 * static_cast<double>(size);
  kernel.in_step = name == "gelu";
  kernel.prepare = [=] {
    const std::shared_ptr<Activation<float>> function =
        Registry::instance().get("activation", name).make_activation<float>();
    const Array z = filled(size), bias = filled(columns), value = filled(size);
    return [=] {  // the slope takes the argument's place, as the layers have it
      function->apply(matrix(z, rows, columns), vector(bias), matrix(value, rows, columns), matrix(z, rows, columns));
    };
  };
  return kernel;
}

}  // namespace

void add_activations(const Sizes& s, std::vector<Kernel>& kernels) {
  for (const std::string& name : Registry::instance().names("activation"))
    kernels.push_back(activation(name, s.rows(), s.hidden));
  kernels.push_back(activation("gelu", s.rows(), s.width));
}

}  // namespace ridgeline::perf

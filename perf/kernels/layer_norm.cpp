// Layer normalisation, as a block calls it.
#include "math/layer_norm.hpp"

#include <fmt/format.h>

#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

struct Norm {
  explicit Norm(const Sizes& s) : norm(ParameterScope<float>(parameters, ""), s.width) {
    parameters.allocate();
    parameters.initialise(1);
    reserve(arena, [&](Arena& memory) { norm.reserve(s.rows(), memory); });
  }
  Parameters<float> parameters;
  Arena arena;
  LayerNorm<float> norm;
};

}  // namespace

void add_layer_norm(const Sizes& s, std::vector<Kernel>& kernels) {
  const int rows = s.rows(), width = s.width;
  const std::size_t size = std::size_t(rows) * width;
  const auto entries = static_cast<double>(size);
  const std::string shape = fmt::format(" {}x{}", rows, width);

  Kernel forward;
  forward.name = "ridgeline::layer_norm/forward" + shape;
  forward.operations = 8 * entries;
  forward.bytes = 8 * entries;
  forward.prepare = [=] {
    const auto norm = std::make_shared<Norm>(s);
    const Array x = filled(size), y = filled(size);
    return [=] { norm->norm.forward(matrix(x, rows, width), matrix(y, rows, width)); };
  };
  kernels.push_back(forward);

  // With the residual's gradient added to what comes from the layer, the block's busier call.
  Kernel backward;
  backward.name = "ridgeline::layer_norm/backward" + shape;
  backward.operations = 16 * entries;
  backward.bytes = 16 * entries;
  backward.prepare = [=] {
    const auto norm = std::make_shared<Norm>(s);
    const Array x = filled(size), y = filled(size), dy = filled(size), layer = filled(size), dx = filled(size);
    norm->norm.forward(matrix(x, rows, width), matrix(y, rows, width));
    return [=] {
      norm->norm.backward(matrix(x, rows, width), matrix(dy, rows, width), matrix(layer, rows, width), {},
                          matrix(dx, rows, width));
    };
  };
  kernels.push_back(backward);
}

}  // namespace ridgeline::perf

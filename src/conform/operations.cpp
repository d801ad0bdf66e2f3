// The check of a layer's operation count.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "conform/check.hpp"
#include "layer/foreign.hpp"
#include "math/gemm.hpp"

namespace ridgeline::conform {
namespace {

/// Batches that are compared: so large that a layer which chooses how to compute by what is cheaper has chosen.
constexpr int many = 1 << 13;

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * std::max(std::abs(a), std::abs(b)); }

Finding judge(const char* pass, double declared, double own, double counted) {
  if (near(declared - own, counted)) return passed();
  return failed(fmt::format("its {} pass declares {:.9g} operations, of which {:.9g} in kernels of its own, and "
                            "products and solves took {:.9g}",
                            pass, declared, own, counted),
                declared - own - counted);
}

}  // namespace

Finding operations(const Case& tried) {
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  const Operations declared = layer->layer().operations(tried.sizes.shape);
  if (!declared.known) return not_applicable("the layer states it as unknown");
  check_counts(declared);

  const auto of_batch = [&](int batch) { return layer->layer().operations({batch, tried.sizes.shape.tokens}); };
  const Operations one = of_batch(many), two = of_batch(2 * many), four = of_batch(4 * many);
  // But for what is done once a call (weights folded).
  if (!near(four.forward - two.forward, 2 * (two.forward - one.forward)) ||
      !near(four.backward - two.backward, 2 * (two.backward - one.backward)))
    return failed("it does not grow in proportion to the batch");

  const DeviceTokens<double> x(some_x(tried.sizes)), dy(some_dy(tried.sizes)),
      y(zeros(tried.sizes.shape, tried.sizes.outputs)), dx(zeros(tried.sizes.shape, tried.sizes.inputs));
  layer->want_extra_gradient(false);
  const double start = counted_operations();
  layer->forward(x.view, {}, y.view);
  const double middle = counted_operations();
  layer->backward(x.view, dy.view, dx.view);
  const double end = counted_operations();
  Finding finding = judge("forward", declared.forward, declared.own_forward, middle - start);
  if (finding.result == Finding::Result::failed) return finding;
  return judge("backward", declared.backward, declared.own_backward, end - middle);
}

}  // namespace ridgeline::conform

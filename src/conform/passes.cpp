// Checks of one forward and one backward pass: gradients, precision, what is read, what is added to, and repetition.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "config/text.hpp"
#include "conform/cases.hpp"
#include "conform/gradient_check.hpp"
#include "conform/guarded.hpp"

namespace ridgeline::conform {
namespace {

bool same_bits(const Gradients& a, const Gradients& b) {
  return a.y.values == b.y.values && a.dx.values == b.dx.values && a.parameters == b.parameters;
}

/// Which of the three differs, for a sentence.
std::string differing(const Gradients& a, const Gradients& b) {
  if (a.y.values != b.y.values) return "the output";
  if (a.dx.values != b.dx.values) return "the gradient of x";
  for (const auto& [name, gradient] : a.parameters)
    if (b.parameters.at(name) != gradient) return "the gradient of " + name;
  return "nothing";
}

/// As an optimiser leaves them, with NaN where it may leave what it has used.
void use_gradients(Parameters<double>& parameters) {
  const auto host = Kokkos::create_mirror_view(parameters.gradients());
  double* data = host_pointer(host);
  std::fill_n(data, host.extent(0), 0.0);
  for (const auto& entry : parameters.entries())
    if (Parameters<double>::may_keep_gradient(entry))
      std::fill_n(data + entry.offset, entry.size, std::numeric_limits<double>::quiet_NaN());
  Kokkos::deep_copy(parameters.gradients(), host);
  parameters.gradients_used();
}

}  // namespace

Finding gradients(const Case& tried) {
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  GradientCheck check;
  check.entries = tried.standard ? 4 : 2;
  const GradientError worst = worst_gradient(*layer, some_x(tried.sizes), some_dy(tried.sizes), check);
  if (const std::string complaint = layer->complaint(); !complaint.empty())
    return failed("it raised its signal on ordinary numbers: " + complaint);
  if (!(worst.error <= largest_gradient_error)) return failed(worst.text(), worst.error);
  return passed();
}

Finding single_precision(const Case& tried) {
  const Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
  const Gradients expected = differentiate(*prepared_layer<double>(tried.layer, tried.sizes), x, dy);
  const Gradients computed = differentiate(*prepared_layer<float>(tried.layer, tried.sizes), x, dy);
  const auto judge = [](const std::string& what, double error) {
    if (error <= largest_single_error) return passed();
    return failed(
        fmt::format("{} is off by {:.2g} in single precision, {:g} is allowed", what, error, largest_single_error),
        error);
  };
  Finding finding = judge("the output", difference(computed.y.values, expected.y.values));
  if (finding.result == Finding::Result::passed)
    finding = judge("the gradient of x", difference(computed.dx.values, expected.dx.values));
  const WorstParameter worst = worst_parameter(computed.parameters, expected.parameters);
  if (finding.result == Finding::Result::passed) finding = judge("the gradient of " + worst.name, worst.error);
  return finding;
}

Finding accumulation(const Case& tried) {
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  if (layer->parameters().entries().empty()) return not_applicable("it has no parameters");
  const Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
  const Gradients once = differentiate(*layer, x, dy);
  const Gradients twice = differentiate(*layer, x, dy, InputGradient::wanted, true);
  ByName doubled = once.parameters;
  for (auto& [name, gradient] : doubled)
    for (double& entry : gradient) entry *= 2;
  const WorstParameter worst = worst_parameter(twice.parameters, doubled);
  if (!(worst.error <= rounding))
    return failed(fmt::format("two backward passes do not add up to twice the gradient of {}: off by {:.2g}",
                              worst.name, worst.error),
                  worst.error);
  use_gradients(layer->parameters());
  const Gradients anew = differentiate(*layer, x, dy, InputGradient::wanted, true);
  const WorstParameter begun = worst_parameter(anew.parameters, once.parameters);
  if (!(begun.error <= rounding))
    return failed(fmt::format("the gradient of {} is not begun anew after a step, for which gradient_factor was asked: "
                              "off by {:.2g}",
                              begun.name, begun.error),
                  begun.error);
  const Gradients unwanted = differentiate(*layer, x, dy, InputGradient::unwanted);
  for (const auto& [name, gradient] : once.parameters)
    if (unwanted.parameters.at(name) != gradient)
      return failed("the gradient of " + name + " changes where the gradient of x is not wanted");
  return passed();
}

Finding sources(const Case& tried) {
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  const Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
  const Gradients expected = differentiate(*layer, x, dy);

  const auto ruin = [](const Arena::Block& block) { Kokkos::deep_copy(block.storage, untouched); };
  const double nan = std::numeric_limits<double>::quiet_NaN();
  DeviceTokens<double> in(x), cotangent(dy), out(zeros(x.shape, tried.sizes.outputs)),
      gradient(zeros(x.shape, tried.sizes.inputs));
  out.fill(nan);
  gradient.fill(nan);
  Kokkos::deep_copy(layer->parameters().gradients(), 0.0);
  ruin(layer->arena().kept_block());
  ruin(layer->arena().passing_block());
  layer->forward(in.view, {}, out.view);
  const Tokens y = out.to_tokens();
  if (y.values != expected.y.values)
    return failed("the forward pass reads memory that it has not written before (the output, or what it reserved)");
  // The backward pass is not given the output, and x again, which need not lie where it did.
  const DeviceTokens<double> again(x);
  out.fill(nan);
  in.fill(nan);
  ruin(layer->arena().passing_block());
  layer->backward(again.view, cotangent.view, gradient.view);
  const Gradients found{y, gradient.to_tokens(), parameter_gradients(layer->parameters())};
  if (!same_bits(found, expected))
    return failed(
        "the backward pass reads what it was not given (the output, x where the forward pass had it, passing memory of "
        "the forward pass, or memory that it has not written before): it changes " +
        differing(found, expected));
  return passed();
}

Finding residual(const Case& tried) {
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  const Tokens x = some_x(tried.sizes), residual = random_tokens(tried.sizes.shape, tried.sizes.outputs, 23);
  Tokens expected = evaluate(*layer, x);
  for (std::size_t i = 0; i < expected.values.size(); ++i) expected.values[i] += residual.values[i];
  const double error = difference(evaluate(*layer, x, residual).values, expected.values);
  if (!(error <= 1e-14)) return failed(fmt::format("residual + f(x) is off by {:.2g}", error), error);
  return passed();
}

Finding repetition(const Case& tried) {
  const Sizes& sizes = tried.sizes;
  const Sizes larger =
                  fitting(tried.layer, {{sizes.shape.batch + 1, sizes.shape.tokens + 22}, sizes.inputs, sizes.outputs}),
              smaller = fitting(tried.layer, {{1, 2}, sizes.inputs, sizes.outputs});
  const Tokens x = some_x(sizes), dy = some_dy(sizes);
  const auto alone = prepared_layer<double>(tried.layer, sizes);
  const Gradients expected = differentiate(*alone, x, dy);
  if (const Gradients again = differentiate(*alone, x, dy); !same_bits(again, expected))
    return failed("run twice on the same, " + differing(again, expected) + " differs");

  LayerAlone<double> layer(tried.layer, sizes.inputs, sizes.outputs);
  layer.prepare({larger.shape, sizes.shape, smaller.shape});
  randomise(layer.parameters(), 1);
  for (const Sizes& other : {larger, smaller}) {
    differentiate(layer, some_x(other), some_dy(other));
    if (const Gradients after = differentiate(layer, x, dy); !same_bits(after, expected))
      return failed(fmt::format("after {} of {}, {} differs", count_text(other.shape.batch, "sample"),
                                count_text(other.shape.tokens, "token"), differing(after, expected)));
  }
  return passed();
}

}  // namespace ridgeline::conform

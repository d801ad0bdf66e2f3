#include "position_checks.hpp"

#include <fmt/format.h>

#include "../support/position.hpp"

namespace ridgeline::reference {
namespace {

support::LayerName position_of(const std::string& name, support::OptionTexts options = {}) {
  if (!Registry::instance().find("position", name)) throw Skipped("position/" + name + " is not registered");
  return {"position", name, std::move(options)};
}

std::vector<std::string> names_in(const std::string& list) {
  std::vector<std::string> names(1);
  for (const char letter : list)
    if (letter == ',')
      names.emplace_back();
    else
      names.back() += letter;
  return names;
}

template <class Scalar>
Worst compare_positions(const Case& reference) {
  const Grid grid{whole_attribute(reference, "rows"), whole_attribute(reference, "columns")};
  Worst worst;
  for (const std::string& name : names_in(text_attribute(reference, "layer"))) {
    const Array& expected = array_of(reference.output, "output", name);
    if (expected.shape.size() != 2) throw Failed("output/" + name + " is not [tokens, channels]");
    const int tokens = static_cast<int>(expected.shape[0]), channels = static_cast<int>(expected.shape[1]);
    support::PositionAlone<Scalar> position(position_of(name), "", channels, tokens, grid);
    worst.add("output/" + name,
              relative_error(position.forward(tokens, channels), expected.values, largest_of(reference.output)),
              allowed_error<Scalar>);
  }
  return worst;
}

template <class Scalar>
Worst compare_bias(const Case& reference) {
  const std::string name = text_attribute(reference, "layer");
  const int heads = whole_attribute(reference, "heads"), tokens = whole_attribute(reference, "tokens");
  const int distances = 2 * tokens - 1;
  support::PositionAlone<Scalar> bias(
      position_of(name, {{"kernels", fmt::to_string(whole_attribute(reference, "kernels"))}}), name, heads, tokens, {});
  set_parameters(bias.parameters(), reference.parameters);
  const std::vector<double> scores = bias.forward(heads, distances);

  std::vector<double> matrix, gradient = array_of(reference.cotangent, "cotangent", "scores").values;
  const std::vector<double>& matrix_gradient = array_of(reference.cotangent, "cotangent", "matrix").values;
  if (matrix_gradient.size() != static_cast<std::size_t>(heads) * tokens * tokens ||
      gradient.size() != static_cast<std::size_t>(heads) * distances)
    throw Failed("the cotangents are not [heads, N, N] and [heads, 2 N - 1]");
  for (int head = 0; head < heads; ++head)
    for (int query = 0; query < tokens; ++query)
      for (int key = 0; key < tokens; ++key) {
        const std::size_t at = static_cast<std::size_t>(head) * distances + tokens - 1 + key - query;
        gradient[at] += matrix_gradient[matrix.size()];
        matrix.push_back(scores[at]);
      }
  bias.backward(heads, distances, gradient);

  Worst worst;
  const double largest = largest_of(reference.output), largest_gradient = largest_of(reference.parameter_gradient);
  const auto add = [&](const std::string& what, const std::vector<double>& values, const Array& expected, double of) {
    worst.add(what, relative_error(values, expected.values, of), allowed_error<Scalar>);
  };
  add("output/scores", scores, array_of(reference.output, "output", "scores"), largest);
  add("output/matrix", matrix, array_of(reference.output, "output", "matrix"), largest);
  for (const auto& entry : bias.parameters().entries())
    add("grad/param/" + entry.name, bias.parameters().get_gradient(entry),
        array_of(reference.parameter_gradient, "grad/param", entry.name), largest_gradient);
  return worst;
}

}  // namespace

Verdict check_positions(const Case& reference) {
  return verdict_of(compare_positions<double>(reference), compare_positions<float>(reference));
}

Verdict check_bias(const Case& reference) {
  return verdict_of(compare_bias<double>(reference), compare_bias<float>(reference));
}

}  // namespace ridgeline::reference

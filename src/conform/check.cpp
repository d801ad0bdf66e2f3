#include "conform/check.hpp"

#include <algorithm>
#include <limits>

#include "conform/gradient_check.hpp"

namespace ridgeline::conform {

Finding passed() { return {}; }

Finding failed(std::string text, std::optional<double> number) {
  return {Finding::Result::failed, std::move(text), number};
}

Finding not_applicable(std::string why) { return {Finding::Result::not_applicable, std::move(why), {}}; }

const std::vector<Check>& checks() {
  const char* one_number = "it acts on each number by itself";
  const char* no_parameters = "it has no parameters";
  const char* no_residual = "it takes no residual";
  const char* no_tokens = "it is given no tokens";
  const char* uncounted = "its operations are not counted";
  static const std::vector<Check> table = {
      {"gradients", "gradients of inputs and parameters against differences, in double", gradients, activation_slope,
       gradients},
      {"single precision", "results in single precision near those in double", single_precision,
       activation_single_precision, single_precision},
      {"accumulation", "backward adds to parameter gradients, also where none of x is wanted", accumulation,
       no_parameters, accumulation},
      {"sources", "nothing is read that was not given or written before", sources, activation_sources, sources},
      {"residual", "a residual is added to the output", residual, no_residual, no_residual},
      {"repetition", "the same bits when run twice, and after other shapes", repetition, activation_repetition,
       repetition},
      {"lengths", "the numbers of a token, or of a distance, are the same in longer sequences",
       "it says nothing of numbers of tokens", one_number, position_lengths},
      {"samples", "a sample depends on no other sample, to the bit", samples, activation_rows, no_tokens},
      {"batch size", "a sample alone is as in a batch", batch_size, one_number, no_tokens},
      {"causal", "a later token changes no earlier output or gradient, to the bit", causal, one_number, no_tokens},
      {"one by one", "asked for one token after another, the outputs are those of all at once", one_by_one, one_number,
       no_tokens},
      {"permutation", "tokens in another order give the outputs in that order", permutation, one_number, no_tokens},
      {"grid", "every token given twice gives the same outputs", grid, one_number, no_tokens},
      {"pointwise", "another token changes no output or gradient, to the bit", pointwise, one_number, no_tokens},
      {"guard zones", "nothing is written beyond what was given to write", guard_zones, activation_guard_zones,
       guard_zones},
      {"memory", "not four times more memory is asked for than is used", memory, "it asks for none", memory},
      {"allocations", "after one call, no allocation and no deep copy", allocations, activation_allocations,
       allocations},
      {"kernels", "kernels have names of their own, inside the driver's regions", kernel_names, activation_kernel_names,
       kernel_names},
      {"not a number", "NaN stays in its sample, where it shows, or is reported", not_a_number, activation_not_a_number,
       no_tokens},
      {"magnitudes", "1e10 and denormal inputs give finite values, or an error", magnitudes, activation_magnitudes,
       no_tokens},
      {"operations", "the operation count is what was counted, and goes with the batch", operations, uncounted,
       uncounted},
      {"checkpoint", "parameters come back from a checkpoint, and all there is with them", checkpoint, no_parameters,
       checkpoint},
  };
  return table;
}

double difference(const std::vector<double>& a, const std::vector<double>& b, double at_least) {
  double difference = 0, largest = at_least;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (!std::isfinite(a[i]) || !std::isfinite(b[i])) return std::numeric_limits<double>::infinity();
    difference = std::max(difference, std::abs(a[i] - b[i]));
    largest = std::max(largest, std::abs(b[i]));
  }
  return largest > 0 ? difference / largest : difference;
}

WorstParameter worst_parameter(const ByName& gradients, const ByName& expected) {
  double largest = 0;
  for (const auto& [name, gradient] : expected)
    for (const double entry : gradient) largest = std::max(largest, std::abs(entry));
  WorstParameter worst;
  for (const auto& [name, gradient] : expected) {
    const double error = difference(gradients.at(name), gradient, 1e-3 * largest);
    if (!(error <= worst.error)) worst = {name, error};
  }
  return worst;
}

bool all_finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

bool all_finite(const Gradients& gradients) {
  return all_finite(gradients.y.values) && all_finite(gradients.dx.values) &&
         std::all_of(gradients.parameters.begin(), gradients.parameters.end(),
                     [](const auto& named) { return all_finite(named.second); });
}

std::vector<double> sample_of(const Tokens& tokens, int sample) {
  const auto size = static_cast<std::ptrdiff_t>(tokens.shape.tokens) * tokens.channels;
  const auto begin = tokens.values.begin() + sample * size;
  return {begin, begin + size};
}

Tokens some_x(const Sizes& sizes) { return random_tokens(sizes.shape, sizes.inputs, 21); }

Tokens some_dy(const Sizes& sizes) { return random_tokens(sizes.shape, sizes.outputs, 22); }

}  // namespace ridgeline::conform

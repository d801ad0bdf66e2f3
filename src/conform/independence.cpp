// Checks of what a token's output depends on: samples, batches, and the properties that a layer declares.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "conform/check.hpp"
#include "conform/gradient_check.hpp"

namespace ridgeline::conform {
namespace {

/// Of a sum in another order, in double, behind a solve that is as ill-conditioned as it may be.
constexpr double reordered = 1e-9;

/// Of a sum in another order, in double, that no solve follows.
constexpr double step_by_step = 1e-10;

const char* const one_sample = "there is one sample only";
const char* const one_token = "there is one token only";
const char* const undeclared = "the layer does not declare it";

Properties properties_of(const LayerName& layer) {
  return Registry::instance().get(layer.kind, layer.name).properties(option_values(layer));
}

/// One sample of the tokens.
Tokens sample_alone(const Tokens& tokens, int sample) {
  return {{1, tokens.shape.tokens}, tokens.channels, sample_of(tokens, sample)};
}

/// The tokens of every sample, where the result has token `source(n)` at n, of `count`.
Tokens rearranged(const Tokens& tokens, int count, const std::function<int(int)>& source) {
  Tokens result = zeros({tokens.shape.batch, count}, tokens.channels);
  for (int sample = 0; sample < tokens.shape.batch; ++sample)
    for (int n = 0; n < count; ++n)
      for (int c = 0; c < tokens.channels; ++c) result.at(sample, n, c) = tokens.at(sample, source(n), c);
  return result;
}

/// The first `count` tokens of every sample.
Tokens first_tokens(const Tokens& tokens, int count) {
  return rearranged(tokens, count, [](int n) { return n; });
}

/// Sets every channel of a token.
void set_token(Tokens& tokens, int sample, int token, double value) {
  for (int c = 0; c < tokens.channels; ++c) tokens.at(sample, token, c) = value;
}

/// The first sample, but for `other`, that differs; -1 where there is none.
int changed_sample(const Gradients& a, const Gradients& b, int other) {
  for (int sample = 0; sample < a.y.shape.batch; ++sample)
    if (sample != other &&
        (sample_of(a.y, sample) != sample_of(b.y, sample) || sample_of(a.dx, sample) != sample_of(b.dx, sample)))
      return sample;
  return -1;
}

}  // namespace

Finding samples(const Case& tried) {
  if (tried.sizes.shape.batch == 1) return not_applicable(one_sample);
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
  const Gradients before = differentiate(*layer, x, dy);
  for (int token = 0; token < x.shape.tokens; ++token) {
    for (int c = 0; c < x.channels; ++c) x.at(1, token, c) = 10 * std::cos(1.0 + token + 3 * c);
    for (int c = 0; c < dy.channels; ++c) dy.at(1, token, c) = 10 * std::cos(2.0 + token + 5 * c);
  }
  const int changed = changed_sample(differentiate(*layer, x, dy), before, 1);
  if (changed >= 0) return failed(fmt::format("other numbers in sample 1 change sample {}", changed));
  return passed();
}

Finding batch_size(const Case& tried) {
  const int batch = tried.sizes.shape.batch;
  if (batch == 1) return not_applicable(one_sample);
  LayerAlone<double> layer(tried.layer, tried.sizes.inputs, tried.sizes.outputs);
  layer.prepare({tried.sizes.shape, {1, tried.sizes.shape.tokens}});
  randomise(layer.parameters(), 1);
  const Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
  const Gradients together = differentiate(layer, x, dy);
  for (int sample = 0; sample < batch; ++sample) {
    const Gradients alone = differentiate(layer, sample_alone(x, sample), sample_alone(dy, sample));
    const double error = std::max(difference(alone.y.values, sample_of(together.y, sample)),
                                  difference(alone.dx.values, sample_of(together.dx, sample)));
    if (!(error <= rounding))
      return failed(fmt::format("sample {} alone differs from itself in the batch by {:.2g}", sample, error), error);
  }
  return passed();
}

Finding causal(const Case& tried) {
  if (!properties_of(tried.layer).causal) return not_applicable(undeclared);
  const int tokens = tried.sizes.shape.tokens;
  if (tokens == 1) return not_applicable(one_token);
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  for (const int first : {1, (tokens + 1) / 2, tokens - 1}) {
    Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
    for (int sample = 0; sample < x.shape.batch; ++sample)
      for (int n = first; n < tokens; ++n) set_token(dy, sample, n, 0);
    const Gradients before = differentiate(*layer, x, dy);
    for (int sample = 0; sample < x.shape.batch; ++sample)
      for (int n = first; n < tokens; ++n) set_token(x, sample, n, 3.0 + n);
    const Gradients after = differentiate(*layer, x, dy);
    if (first_tokens(before.y, first).values != first_tokens(after.y, first).values)
      return failed(fmt::format("the tokens from {} on change an earlier output", first));
    if (first_tokens(before.dx, first).values != first_tokens(after.dx, first).values)
      return failed(fmt::format("the tokens from {} on change the gradient of an earlier one", first));
    Tokens later = after.dx;
    for (int sample = 0; sample < x.shape.batch; ++sample)
      for (int n = 0; n < first; ++n) set_token(later, sample, n, 0);
    if (std::any_of(later.values.begin(), later.values.end(), [](double value) { return value != 0; }))
      return failed(fmt::format("an output before token {} has a gradient there", first));
  }
  return passed();
}

Finding permutation(const Case& tried) {
  if (!properties_of(tried.layer).permutation_equivariant) return not_applicable(undeclared);
  const int tokens = tried.sizes.shape.tokens;
  if (tokens == 1) return not_applicable(one_token);
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  const auto permuted = [&](const Tokens& of) {
    return rearranged(of, tokens,
                      [&](int n) { return (tokens - n + tokens / 3) % tokens; });  // a turn and a reflection
  };
  const Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
  const Gradients plain = differentiate(*layer, x, dy);
  const Gradients found = differentiate(*layer, permuted(x), permuted(dy));
  const double output = difference(found.y.values, permuted(plain.y).values);
  if (!(output <= reordered))
    return failed(fmt::format("tokens in another order change the outputs by {:.2g}", output), output);
  const double gradient = difference(found.dx.values, permuted(plain.dx).values);
  if (!(gradient <= reordered))
    return failed(fmt::format("tokens in another order change their gradients by {:.2g}", gradient), gradient);
  return passed();
}

Finding grid(const Case& tried) {
  if (!properties_of(tried.layer).grid_independent) return not_applicable(undeclared);
  const Shape shape = tried.sizes.shape, finer{shape.batch, 2 * shape.tokens};
  LayerAlone<double> layer(tried.layer, tried.sizes.inputs, tried.sizes.outputs);
  layer.prepare({shape, finer});
  randomise(layer.parameters(), 1);
  const auto doubled = [&](const Tokens& of) { return rearranged(of, finer.tokens, [](int n) { return n / 2; }); };
  const Tokens x = some_x(tried.sizes);
  const Tokens once = evaluate(layer, x);
  const double error = difference(evaluate(layer, doubled(x)).values, doubled(once).values);
  if (!(error <= reordered))
    return failed(fmt::format("every token given twice changes the outputs by {:.2g}", error), error);
  return passed();
}

Finding pointwise(const Case& tried) {
  if (!properties_of(tried.layer).pointwise) return not_applicable(undeclared);
  const int tokens = tried.sizes.shape.tokens;
  if (tokens == 1) return not_applicable(one_token);
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  const Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
  const Gradients before = differentiate(*layer, x, dy);
  for (const int kept : {0, tokens / 2, tokens - 1}) {
    Tokens other_x = x, other_dy = dy;
    for (int sample = 0; sample < x.shape.batch; ++sample)
      for (int n = 0; n < tokens; ++n) {
        if (n == kept) continue;
        set_token(other_x, sample, n, 3.0 + n);
        set_token(other_dy, sample, n, 2.0 - n);
      }
    const Gradients after = differentiate(*layer, other_x, other_dy);
    const auto token = [&](const Tokens& of) { return rearranged(of, 1, [&](int) { return kept; }).values; };
    if (token(before.y) != token(after.y)) return failed(fmt::format("other tokens change the output of {}", kept));
    if (token(before.dx) != token(after.dx)) return failed(fmt::format("other tokens change the gradient of {}", kept));
  }
  return passed();
}

Finding one_by_one(const Case& tried) {
  const Sizes& sizes = tried.sizes;
  const auto layer = prepared_layer<double>(tried.layer, sizes);
  if (!layer->layer().continues()) return not_applicable("the layer does not go on token by token");
  if (!properties_of(tried.layer).causal) return failed("it goes on token by token and does not declare to be causal");
  const Tokens x = some_x(sizes), residual = random_tokens(sizes.shape, sizes.outputs, 23);
  const Tokens expected = evaluate(*layer, x, residual);
  layer->prepare_sequence(sizes.shape);
  for (const char* run : {"once", "in a second sequence"}) {
    const double error = difference(layer->one_by_one(x, residual).values, expected.values);
    if (!(error <= step_by_step))
      return failed(fmt::format("one token after another, {}, the output is off by {:.2g}", run, error), error);
  }
  return passed();
}

Finding not_a_number(const Case& tried) {
  const int poisoned = tried.sizes.shape.batch > 1 ? 1 : 0;
  const auto layer = prepared_layer<double>(tried.layer, tried.sizes);
  Tokens x = some_x(tried.sizes);
  const Tokens dy = some_dy(tried.sizes);
  const Gradients before = differentiate(*layer, x, dy);
  set_token(x, poisoned, x.shape.tokens / 2, 3);
  const bool matters = sample_of(evaluate(*layer, x), poisoned) != sample_of(before.y, poisoned);
  set_token(x, poisoned, x.shape.tokens / 2, std::numeric_limits<double>::quiet_NaN());
  std::string complaint;
  Gradients after;
  try {
    after = differentiate(*layer, x, dy);
    complaint = layer->complaint();
  } catch (const Error& error) {
    complaint = error.what();
  }
  if (complaint.find(fmt::format("sample {}", poisoned)) != std::string::npos) return passed();
  if (after.y.empty()) return failed("its error does not name the sample: " + complaint);
  const int changed = changed_sample(after, before, poisoned);
  if (changed >= 0)
    return failed(fmt::format("NaN in sample {} changes sample {}, and no error names it", poisoned, changed));
  if (matters && all_finite(sample_of(after.y, poisoned)))
    return failed("NaN in a token shows neither in its sample's output nor as an error");
  return passed();
}

namespace {

template <class Scalar>
Finding magnitudes_in(const Case& tried, const char* precision) {
  const auto layer = prepared_layer<Scalar>(tried.layer, tried.sizes);
  differentiate(*layer, some_x(tried.sizes), some_dy(tried.sizes));  // of these no error is as good
  for (const double scale : {1e10, static_cast<double>(std::numeric_limits<Scalar>::denorm_min())}) {
    Tokens x = some_x(tried.sizes);
    for (double& value : x.values) value = std::ceil(std::abs(3 * value)) * (value < 0 ? -scale : scale);
    layer->clear_signals();
    try {
      const Gradients found = differentiate(*layer, x, some_dy(tried.sizes));
      if (!all_finite(found) && layer->complaint().empty())
        return failed(fmt::format("inputs of {:.3g} in {} precision give {} that is not finite, and no error", scale,
                                  precision, all_finite(found.y.values) ? "a gradient" : "an output"));
    } catch (const Error&) {  // as good
    }
  }
  return passed();
}

}  // namespace

Finding magnitudes(const Case& tried) {
  const Finding single = magnitudes_in<float>(tried, "single");
  return single.result == Finding::Result::failed ? single : magnitudes_in<double>(tried, "double");
}

}  // namespace ridgeline::conform

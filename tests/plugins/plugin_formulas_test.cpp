// The layers of plugins/ against their formulas, evaluated in double by plain loops, a sample at a time.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "cases.hpp"
#include "conform/gradient_check.hpp"
#include "core/random.hpp"

namespace ridgeline::support {
namespace {

using Rows = std::vector<std::vector<double>>;

Rows zeros(std::size_t rows, std::size_t columns) { return Rows(rows, std::vector<double>(columns)); }

Rows transposed(const Rows& a) {
  Rows result = zeros(a.front().size(), a.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < a[i].size(); ++j) result[j][i] = a[i][j];
  return result;
}

Rows product(const Rows& a, const Rows& b) {
  Rows result = zeros(a.size(), b.front().size());
  for (std::size_t i = 0; i < a.size(); ++i)
    for (std::size_t j = 0; j < b.front().size(); ++j)
      for (std::size_t k = 0; k < b.size(); ++k) result[i][j] += a[i][k] * b[k][j];
  return result;
}

Rows columns_of(const Rows& a, std::size_t first, std::size_t count) {
  Rows result;
  for (const auto& row : a)
    result.emplace_back(row.begin() + static_cast<std::ptrdiff_t>(first),
                        row.begin() + static_cast<std::ptrdiff_t>(first + count));
  return result;
}

void append_columns(Rows& a, const Rows& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i].insert(a[i].end(), b[i].begin(), b[i].end());
}

Rows softmax_of_rows(Rows z) {
  for (auto& row : z) {
    const double largest = *std::max_element(row.begin(), row.end());
    double sum = 0;
    for (double& entry : row) sum += entry = std::exp(entry - largest);
    for (double& entry : row) entry /= sum;
  }
  return z;
}

/// A layer's parameters by name.
class Values {
 public:
  explicit Values(const Parameters<double>& parameters) : parameters_(parameters) {}

  std::vector<double> vector(const std::string& name) const { return parameters_.get(*parameters_.find(name)); }

  Rows matrix(const std::string& name) const {
    const auto& shape = parameters_.find(name)->shape;
    const std::vector<double> values = vector(name);
    Rows rows = zeros(shape.at(0), shape.at(1));
    for (std::size_t i = 0; i < values.size(); ++i) rows[i / rows[0].size()][i % rows[0].size()] = values[i];
    return rows;
  }

  /// x Wᵀ + b of the parameters NAME.weight and NAME.bias, or without a name in front.
  Rows linear(const Rows& x, const std::string& name) const {
    const std::string prefix = name.empty() ? "" : name + ".";
    Rows y = product(x, transposed(matrix(prefix + "weight")));
    const std::vector<double> bias = vector(prefix + "bias");
    for (auto& row : y)
      for (std::size_t j = 0; j < row.size(); ++j) row[j] += bias[j];
    return y;
  }

 private:
  const Parameters<double>& parameters_;
};

int option(const LayerName& layer, const std::string& name) {
  return static_cast<int>(option_values(layer).integer(name));
}

Rows fourier(const LayerName& layer, const Values& values, const Rows& x) {
  const int features = option(layer, "features"), coordinates = option(layer, "coordinates");
  const double scale = option_values(layer).real("scale");
  const RandomStream stream(static_cast<std::uint64_t>(option(layer, "seed")), "encoder/fourier/frequencies");
  Rows all = zeros(x.size(), 2 * features);
  for (std::size_t n = 0; n < x.size(); ++n)
    for (int f = 0; f < features; ++f) {
      double phase = 0;
      for (int c = 0; c < coordinates; ++c) phase += scale * stream.normal(f * coordinates + c) * x[n][c];
      all[n][f] = std::cos(2 * M_PI * phase);
      all[n][features + f] = std::sin(2 * M_PI * phase);
    }
  append_columns(all, x);
  return values.linear(all, "");
}

/// Layer normalisation of each row.
Rows normalised(Rows rows, const std::vector<double>& weight, const std::vector<double>& bias) {
  for (auto& row : rows) {
    const double count = static_cast<double>(row.size());
    double mean = 0, variance = 0;
    for (const double entry : row) mean += entry / count;
    for (const double entry : row) variance += (entry - mean) * (entry - mean) / count;
    for (std::size_t j = 0; j < row.size(); ++j)
      row[j] = weight[j] * (row[j] - mean) / std::sqrt(variance + 1e-5) + bias[j];
  }
  return rows;
}

Rows galerkin(const LayerName& layer, const Values& values, const Rows& x) {
  const std::size_t heads = option(layer, "heads"), width = x.front().size() / heads;
  const Rows queries = values.linear(x, "query"), keys = values.linear(x, "key"), contents = values.linear(x, "value");
  const auto normed = [&](const Rows& rows, const std::string& name, std::size_t head) {
    return normalised(columns_of(rows, head * width, width), values.matrix(name + "_norm.weight")[head],
                      values.matrix(name + "_norm.bias")[head]);
  };
  Rows joined(x.size());
  for (std::size_t head = 0; head < heads; ++head) {
    Rows map = product(transposed(normed(keys, "key", head)), normed(contents, "value", head));
    for (auto& row : map)
      for (double& entry : row) entry /= static_cast<double>(x.size());
    append_columns(joined, product(columns_of(queries, head * width, width), map));
  }
  return values.linear(joined, "output");
}

/// The slices of one head, T, from its tokens' weights.
Rows means_by(const Rows& weights, const Rows& contents) {
  Rows slices = product(transposed(weights), contents);
  for (std::size_t slice = 0; slice < slices.size(); ++slice) {
    double sum = 0;
    for (const auto& row : weights) sum += row[slice];
    for (double& entry : slices[slice]) entry /= sum;
  }
  return slices;
}

Rows attention_among(const Rows& slices, const Values& values) {
  const auto mapped = [&](const std::string& name) { return product(slices, transposed(values.matrix(name))); };
  Rows scores = product(mapped("query.weight"), transposed(mapped("key.weight")));
  for (auto& row : scores)
    for (double& score : row) score /= std::sqrt(static_cast<double>(slices.front().size()));
  return product(softmax_of_rows(scores), mapped("value.weight"));
}

Rows physics(const LayerName& layer, const Values& values, const Rows& x) {
  const std::size_t heads = option(layer, "heads"), width = x.front().size() / heads;
  const Rows assigned = values.linear(x, "assign"), contents = values.linear(x, "content");
  Rows joined(x.size());
  for (std::size_t head = 0; head < heads; ++head) {
    Rows logits = values.linear(columns_of(assigned, head * width, width), "slice");
    for (auto& row : logits)
      for (double& logit : row) logit /= std::exp(values.vector("log_temperature")[head]);
    const Rows weights = softmax_of_rows(logits);
    const Rows slices = means_by(weights, columns_of(contents, head * width, width));
    append_columns(joined, product(weights, attention_among(slices, values)));
  }
  return values.linear(joined, "output");
}

Rows formula(const LayerName& layer, const Values& values, const Rows& x) {
  if (layer.name == "fourier") return fourier(layer, values, x);
  if (layer.name == "galerkin") return galerkin(layer, values, x);
  return physics(layer, values, x);
}

class PluginFormula : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(, PluginFormula, ::testing::ValuesIn(every_case), case_name);

TEST_P(PluginFormula, IsWhatTheLayerComputes) {
  const Case& one = GetParam();
  const auto layer = prepared_layer<double>(one.layer, one.sizes);
  const Shape shape = one.sizes.shape;
  const int inputs = one.sizes.inputs;
  const Tokens x = random_tokens(shape, inputs, 31);
  const Tokens y = evaluate(*layer, x);
  std::vector<double> expected;
  for (int sample = 0; sample < shape.batch; ++sample) {
    Rows rows = zeros(shape.tokens, inputs);
    for (int token = 0; token < shape.tokens; ++token)
      for (int channel = 0; channel < inputs; ++channel) rows[token][channel] = x.at(sample, token, channel);
    for (const auto& row : formula(one.layer, Values(layer->parameters()), rows))
      expected.insert(expected.end(), row.begin(), row.end());
  }
  EXPECT_LT(difference(y.values, expected), 1e-13);
}

}  // namespace
}  // namespace ridgeline::support

// attention/softmax and attention/causal: the two ways of working on tiles, NaN in later tokens, huge scores, memory, and
// options that are refused.
#include "../../layers/attention/softmax_core.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "../../layers/attention/score_tiles.hpp"
#include "cases.hpp"
#include "conform/gradient_check.hpp"
#include "core.hpp"
#include "core/tools.hpp"
#include "layer/score_bias.hpp"
#include "support/conforming.hpp"

namespace ridgeline::support {
namespace {

using softmax::key_tile;
using softmax::query_tile;
using softmax::Tiles;

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

LayerName attention(const char* name, OptionTexts options = {}) { return {"attention", name, std::move(options)}; }

bool finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); });
}

/// The first tokens of every sample.
std::vector<double> first(const Tokens& tokens, int count) {
  std::vector<double> values;
  for (int b = 0; b < tokens.shape.batch; ++b)
    for (int n = 0; n < count; ++n)
      for (int c = 0; c < tokens.channels; ++c) values.push_back(tokens.at(b, n, c));
  return values;
}

/// Sets every channel of the tokens from `begin` on.
void set_from(Tokens& tokens, int begin, double value) {
  for (int b = 0; b < tokens.shape.batch; ++b)
    for (int n = begin; n < tokens.shape.tokens; ++n)
      for (int c = 0; c < tokens.channels; ++c) tokens.at(b, n, c) = value;
}

// ---- the core by itself ----

struct Kind {
  AttentionSizes sizes;
  bool causal, biased;
  // Of a key nearer or farther than that the bias is -infinity.
  int nearest = 0, farthest = std::numeric_limits<int>::max();
};

std::string kind_text(const Kind& kind) {
  return fmt::format("{}{}{}, {} heads of {} and {}", kind.causal ? "causal" : "all",
                     kind.sizes.mask_center ? " but itself" : "", kind.biased ? " with a bias" : "", kind.sizes.heads,
                     kind.sizes.head_embed(), kind.sizes.head_out());
}

/// Values of its own for each distance: entry (h, i) is a parameter.
template <class Scalar>
class FreeBias final : public Position<Scalar> {
 public:
  FreeBias(Parameters<Scalar>& parameters, int heads, int tokens) {
    ParameterScope<Scalar>(parameters, "").declare(table_, "table", {heads, 2 * tokens - 1}, Initial::normal(0, 1));
  }
  void reserve(int, Arena&) override {}
  void forward(Matrix<Scalar> values) override { Kokkos::deep_copy(flat(values), table_.value); }
  void backward(Matrix<const Scalar> dvalues) override {
    const Scalar* from = dvalues.data();
    const Vector<Scalar> to = table_.gradient;
    Kokkos::parallel_for(
        "ridgeline::test/free_bias", RangePolicy(0, extent(to, 0)), KOKKOS_LAMBDA(int i) { to(i) += from[i]; });
  }

 private:
  static Vector<Scalar> flat(const Matrix<Scalar>& values) { return Vector<Scalar>(values.data(), values.size()); }

  Parameter<Scalar> table_;
};

/// The kind's bias, for so many tokens; null for none.
template <class Scalar>
std::unique_ptr<Position<Scalar>> make_bias(const Kind& kind, int tokens, Parameters<Scalar>& parameters) {
  if (!kind.biased) return nullptr;
  auto bias = std::make_unique<FreeBias<Scalar>>(parameters, kind.sizes.heads, tokens);
  parameters.allocate();
  parameters.initialise(4);
  std::vector<double> table = parameters.get(parameters.entries().front());
  const int distances = 2 * tokens - 1;
  for (std::size_t i = 0; i < table.size(); ++i) {
    const int apart = std::abs(static_cast<int>(i) % distances - (tokens - 1));
    if (apart < kind.nearest || apart > kind.farthest) table[i] = -INFINITY;
  }
  parameters.set(parameters.entries().front(), table);
  return bias;
}

struct Results : CoreResults {
  std::vector<double> bias, dbias;
};

struct Inputs : CoreInputs {
  Inputs(const AttentionSizes& sizes, const Shape& shape) : CoreInputs(sizes.embed, sizes.out, shape) {}
};

template <class Scalar>
Results run(const Kind& kind, const Inputs& inputs, Tiles tiles) {
  const Shape shape = inputs.queries.shape;
  const AttentionSizes& sizes = kind.sizes;
  Parameters<Scalar> parameters;
  CoreAlone<Scalar> alone(
      softmax::make_core<Scalar>(sizes, kind.causal, make_bias(kind, shape.tokens, parameters), tiles), shape);
  Results results{alone.differentiate(inputs, true), {}, {}};
  for (const auto& entry : parameters.entries()) {
    results.bias = parameters.get(entry);
    results.dbias = parameters.get_gradient(entry);
  }
  return results;
}

/// What a causal core attends to when it is given one token after another.
template <class Scalar>
Tokens run_one_by_one(const Kind& kind, const Inputs& inputs) {
  const Shape shape = inputs.queries.shape;
  Parameters<Scalar> parameters;
  const auto core =
      softmax::make_core<Scalar>(kind.sizes, kind.causal, make_bias(kind, shape.tokens, parameters), Tiles::fastest);
  Arena arena;
  core->reserve_sequence(shape, arena);
  arena.allocate();
  arena.restart();
  core->reserve_sequence(shape, arena);
  core->begin_sequence();
  Tokens all = zeros(shape, kind.sizes.out);
  for (int n = 0; n < shape.tokens; ++n) {
    const auto token = [&](const Tokens& tokens) {
      Tokens one = zeros({shape.batch, 1}, tokens.channels);
      for (int b = 0; b < shape.batch; ++b)
        for (int c = 0; c < tokens.channels; ++c) one.at(b, 0, c) = tokens.at(b, n, c);
      return one;
    };
    const DeviceTokens<Scalar> queries(token(inputs.queries)), keys_values(token(inputs.keys_values)),
        attended(zeros({shape.batch, 1}, kind.sizes.out));
    core->next_token(queries.view, keys_values.view, attended.view);
    const Tokens found = attended.to_tokens();
    for (int b = 0; b < shape.batch; ++b)
      for (int c = 0; c < kind.sizes.out; ++c) all.at(b, n, c) = found.at(b, 0, c);
  }
  return all;
}

/// Outputs and gradients as the formulas have them, pair by pair.
Results by_definition(const Kind& kind, const Inputs& in, const std::vector<double>& bias) {
  const Shape shape = in.queries.shape;
  const AttentionSizes& s = kind.sizes;
  const int e = s.head_embed(), o = s.head_out(), distances = 2 * shape.tokens - 1;
  Results r{{zeros(shape, s.out), zeros(shape, s.embed), zeros(shape, s.embed + s.out)},
            bias,
            std::vector<double>(bias.size())};
  for (int b = 0; b < shape.batch; ++b)
    for (int h = 0; h < s.heads; ++h)
      for (int i = 0; i < shape.tokens; ++i) {
        const int seen = kind.causal ? i + (s.mask_center ? 0 : 1) : shape.tokens;
        std::vector<double> weights, slopes;
        double largest = -INFINITY, sum = 0, mean = 0;
        const auto entry = [&](int j) { return h * distances + shape.tokens - 1 + j - i; };
        for (int j = 0; j < seen; ++j) {
          double score = 0;
          for (int d = 0; d < e; ++d) score += in.queries.at(b, i, h * e + d) * in.keys_values.at(b, j, h * e + d);
          weights.push_back(score / std::sqrt(e) + (bias.empty() ? 0 : bias[entry(j)]));
          largest = std::max(largest, weights.back());
        }
        if (largest == -INFINITY) continue;  // it sees nothing
        for (double& weight : weights) sum += weight = std::exp(weight - largest);
        for (int j = 0; j < seen; ++j) {
          double slope = 0;
          weights[j] /= sum;
          for (int c = 0; c < o; ++c) {
            const double value = in.keys_values.at(b, j, s.embed + h * o + c), g = in.gradient.at(b, i, h * o + c);
            r.output.at(b, i, h * o + c) += weights[j] * value;
            r.dkeys_values.at(b, j, s.embed + h * o + c) += weights[j] * g;
            slope += g * value;
          }
          slopes.push_back(slope);
          mean += weights[j] * slope;
        }
        for (int j = 0; j < seen; ++j) {
          const double slope = weights[j] * (slopes[j] - mean);
          if (!bias.empty()) r.dbias[entry(j)] += slope;
          for (int d = 0; d < e; ++d) {
            r.dqueries.at(b, i, h * e + d) += slope * in.keys_values.at(b, j, h * e + d) / std::sqrt(e);
            r.dkeys_values.at(b, j, h * e + d) += slope * in.queries.at(b, i, h * e + d) / std::sqrt(e);
          }
        }
      }
  return r;
}

void expect_near(const Results& found, const Results& expected, double allowed) {
  EXPECT_LT(distance(found.output.values, expected.output.values), allowed);
  EXPECT_LT(distance(found.dqueries.values, expected.dqueries.values), allowed);
  EXPECT_LT(distance(found.dkeys_values.values, expected.dkeys_values.values), allowed);
  EXPECT_LT(distance(found.dbias, expected.dbias), allowed);
}

/// Every width that tiles are made for, some between them, one beyond, and keys wider or narrower than values.
TEST(SoftmaxTiles, GiveWhatTheFormulasGive) {
  struct Widths {
    int heads, embed, out;
  };
  for (const Widths& w : {Widths{1, 5, 5}, Widths{2, 8, 8}, Widths{3, 16, 16}, Widths{1, 24, 20}, Widths{1, 32, 32},
                          Widths{1, 7, 64}, Widths{2, 80, 80}, Widths{1, 72, 3}})
    for (const bool causal : {false, true})
      for (const bool mask_center : {false, true})
        for (const bool biased : {false, true}) {
          if (mask_center && !causal) continue;
          AttentionSizes sizes{};
          sizes.heads = w.heads;
          sizes.embed = w.heads * w.embed;
          sizes.out = w.heads * w.out;
          sizes.mask_center = mask_center;
          const Kind kind{sizes, causal, biased};
          SCOPED_TRACE(kind_text(kind));
          const Inputs inputs(sizes, {2, 2 * key_tile + 9});
          const Results found = run<double>(kind, inputs, Tiles::fastest);
          const Results expected = by_definition(kind, inputs, found.bias);
          expect_near(found, expected, 1e-12);
          expect_near(run<double>(kind, inputs, Tiles::portable), expected, 1e-12);
          expect_near(run<float>(kind, inputs, Tiles::fastest), expected, 2e-5);
          expect_near(run<float>(kind, inputs, Tiles::portable), expected, 2e-5);
        }
}

// Scores that rise by more than float holds from tile to tile make a new reference necessary every time.
TEST(SoftmaxTiles, FollowScoresThatRise) {
  AttentionSizes sizes{};
  sizes.heads = 1;
  sizes.embed = sizes.out = 16;
  for (const bool causal : {false, true}) {
    const Kind kind{sizes, causal, false};
    Inputs inputs(sizes, {1, 4 * key_tile});
    for (int n = 0; n < inputs.queries.shape.tokens; ++n) {
      inputs.queries.at(0, n, 0) = 4;
      inputs.keys_values.at(0, n, 0) = 3 * n;
    }
    const Results expected = by_definition(kind, inputs, {});
    for (const Tiles tiles : {Tiles::fastest, Tiles::portable}) {
      expect_near(run<double>(kind, inputs, tiles), expected, 1e-12);
      const Results in_single = run<float>(kind, inputs, tiles);
      EXPECT_LT(distance(in_single.output.values, expected.output.values), 1e-3);
      EXPECT_TRUE(finite(in_single.dqueries.values) && finite(in_single.dkeys_values.values));
    }
  }
}

/// A bias of -infinity leaves keys out: of whole tiles, of all that a query sees, of the first and the last.
TEST(SoftmaxTiles, LeaveOutKeysOfInfiniteBias) {
  AttentionSizes sizes{};
  sizes.heads = 2;
  sizes.embed = sizes.out = 16;
  for (const bool causal : {false, true})
    for (const Kind& kind : {Kind{sizes, causal, true, 0, 5}, Kind{sizes, causal, true, 1, 5},
                             Kind{sizes, causal, true, key_tile + 3}, Kind{sizes, causal, true, 4 * key_tile}}) {
      SCOPED_TRACE(kind_text(kind) + fmt::format(", keys {} to {} away", kind.nearest, kind.farthest));
      const Inputs inputs(sizes, {2, 2 * key_tile + 9});
      const Results found = run<double>(kind, inputs, Tiles::fastest);
      const Results expected = by_definition(kind, inputs, found.bias);
      expect_near(found, expected, 1e-12);
      expect_near(run<double>(kind, inputs, Tiles::portable), expected, 1e-12);
      expect_near(run<float>(kind, inputs, Tiles::fastest), expected, 2e-5);
      expect_near(run<float>(kind, inputs, Tiles::portable), expected, 2e-5);
      if (!causal) continue;
      EXPECT_LT(distance(run_one_by_one<double>(kind, inputs).values, expected.output.values), 1e-12);
      EXPECT_LT(distance(run_one_by_one<float>(kind, inputs).values, expected.output.values), 2e-5);
    }
}

// ---- NaN ----

/// Queries of a block take a new reference where a later one of it is NaN.
template <class Scalar>
void expect_rising_scores_followed_before_nan(Tiles tiles) {
  AttentionSizes sizes{};
  sizes.heads = 1;
  sizes.embed = sizes.out = 16;
  const Kind kind{sizes, true, false};
  for (const int at : {2 * key_tile + 1, 2 * key_tile + 5, 3 * key_tile - 1}) {
    Inputs inputs(sizes, {1, 4 * key_tile});
    for (int n = 0; n < inputs.queries.shape.tokens; ++n) {
      inputs.queries.at(0, n, 0) = 4;
      inputs.keys_values.at(0, n, 0) = 3 * n;
    }
    set_from(inputs.gradient, at, 0);
    const Results before = run<Scalar>(kind, inputs, tiles);
    set_from(inputs.queries, at, nan);
    set_from(inputs.keys_values, at, nan);
    const Results after = run<Scalar>(kind, inputs, tiles);
    EXPECT_TRUE(finite(first(before.output, at)) && finite(first(before.dqueries, at)));
    EXPECT_EQ(first(after.output, at), first(before.output, at)) << at;
    EXPECT_EQ(first(after.dqueries, at), first(before.dqueries, at)) << at;
    EXPECT_EQ(first(after.dkeys_values, at), first(before.dkeys_values, at)) << at;
  }
}

TEST(SoftmaxTiles, FollowScoresThatRiseUpToNaN) {
  for (const Tiles tiles : {Tiles::fastest, Tiles::portable}) {
    expect_rising_scores_followed_before_nan<float>(tiles);
    expect_rising_scores_followed_before_nan<double>(tiles);
  }
}

struct Poisoned {
  int tokens, at;
};

/// Lengths about the tiles' sizes, with NaN in the last token, and in the first and the last of tiles.
const std::vector<Poisoned> poisoned_cases = [] {
  std::vector<Poisoned> cases;
  for (const int tokens :
       {2, query_tile - 1, query_tile, query_tile + 1, key_tile - 1, key_tile, key_tile + 1, 2 * key_tile + 9})
    for (const int at : {1, query_tile - 1, query_tile, query_tile + 3, key_tile - 1, key_tile, tokens - 1})
      if (at < tokens) cases.push_back({tokens, at});
  return cases;
}();

template <class Scalar>
void expect_earlier_tokens_alone(const LayerName& layer, const Poisoned& poisoned) {
  const Sizes sizes{{2, poisoned.tokens}, 8, 8};
  SCOPED_TRACE(text(layer, sizes) + fmt::format(", NaN from {} on", poisoned.at));
  const auto subject = prepared_layer<Scalar>(layer, sizes);
  Tokens x = random_tokens(sizes.shape, sizes.inputs, 1), dy = random_tokens(sizes.shape, sizes.outputs, 2);
  set_from(dy, poisoned.at, 0);
  const Gradients before = differentiate(*subject, x, dy);
  set_from(x, poisoned.at, nan);
  const Gradients after = differentiate(*subject, x, dy);
  EXPECT_TRUE(finite(first(before.y, poisoned.at)) && finite(first(before.dx, poisoned.at)));
  EXPECT_EQ(first(after.y, poisoned.at), first(before.y, poisoned.at));
  EXPECT_EQ(first(after.dx, poisoned.at), first(before.dx, poisoned.at));
}

TEST(CausalAttention, NaNLeavesEarlierTokensAlone) {
  for (const char* mask_center : {"no", "yes"})
    for (const char* position : {"none", "tisa"})
      for (const Poisoned& poisoned : poisoned_cases) {
        const LayerName layer =
            attention("causal", {{"heads", "2"}, {"mask_center", mask_center}, {"position", position}});
        expect_earlier_tokens_alone<double>(layer, poisoned);
        expect_earlier_tokens_alone<float>(layer, poisoned);
      }
}

TEST(CausalAttention, NaNInALongSequenceLeavesEarlierTokensAlone) {
  const Sizes sizes{{1, 65537}, 8, 8};
  const auto subject = prepared_layer<float>(attention("causal"), sizes);
  Tokens x = random_tokens(sizes.shape, sizes.inputs, 1), dy = random_tokens(sizes.shape, sizes.outputs, 2);
  const int at = sizes.shape.tokens - 1;
  set_from(x, at, nan);
  set_from(dy, at, 0);
  if (!as_delivered) {  // the backward pass would take minutes
    const Tokens y = evaluate(*subject, x);
    EXPECT_TRUE(finite(first(y, at)));
    EXPECT_TRUE(std::isnan(y.values.back()));
    return;
  }
  const Gradients found = differentiate(*subject, x, dy);
  EXPECT_TRUE(finite(first(found.y, at)));
  EXPECT_TRUE(finite(first(found.dx, at)));
  EXPECT_TRUE(std::isnan(found.y.values.back()));
}

/// The first token sees nothing: zeros before `output`, no gradient, and none of anybody's weights is NaN.
TEST(CausalAttention, TokenThatSeesNothingGivesZeros) {
  const Sizes sizes{{3, 1}, 6, 6};
  const OptionTexts options = {{"mask_center", "yes"}, {"heads", "3"}, {"output_projection", "no"}};
  const auto alone = prepared_layer<double>(attention("causal", options), sizes);
  const Tokens x = random_tokens(sizes.shape, 6, 1), dy = random_tokens(sizes.shape, 6, 2);
  const Gradients of_one = differentiate(*alone, x, dy);
  const auto all_zero = [](const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double value) { return value == 0; });
  };
  EXPECT_TRUE(all_zero(of_one.y.values) && all_zero(of_one.dx.values));
  for (const auto& [name, gradient] : of_one.parameters) EXPECT_TRUE(all_zero(gradient)) << name;

  for (const int tokens : {2, query_tile, key_tile + 1}) {
    const Sizes more{{3, tokens}, 6, 6};
    const auto subject = prepared_layer<float>(attention("causal", options), more);
    const Gradients found = differentiate(*subject, random_tokens(more.shape, 6, 1), random_tokens(more.shape, 6, 2));
    EXPECT_TRUE(all_zero(first(found.y, 1)));
    for (const auto& [name, gradient] : found.parameters) EXPECT_TRUE(finite(gradient)) << name;
  }
}

// ---- magnitudes ----

/// Queries and keys of two signs, whose scores are ±1e4.
template <class Scalar>
void expect_finite_with_huge_scores(const char* name) {
  const Sizes sizes{{1, key_tile + 7}, 1, 1};
  LayerAlone<Scalar> layer(attention(name), 1, 1);
  layer.prepare({sizes.shape});
  for (const auto& entry : layer.parameters().entries()) {
    std::vector<double> values(entry.size, 1);
    if (entry.name == "query.bias" || entry.name == "key_value.bias") std::fill(values.begin(), values.end(), 0);
    layer.parameters().set(entry, values);
  }
  Tokens x = zeros(sizes.shape, 1);
  for (int n = 0; n < sizes.shape.tokens; ++n) x.at(0, n, 0) = n % 3 == 0 ? -100 : 100;
  const Gradients found = differentiate(layer, x, random_tokens(sizes.shape, 1, 2));
  EXPECT_TRUE(finite(found.y.values) && finite(found.dx.values));
  for (const auto& [parameter, gradient] : found.parameters) EXPECT_TRUE(finite(gradient)) << parameter;
  for (int n = 1; n < sizes.shape.tokens; ++n)  // all weight on tokens of its own sign, whose values are alike
    EXPECT_NEAR(found.y.at(0, n, 0), 1 + x.at(0, n, 0), 1e-3) << n;
}

TEST(SoftmaxAttention, ScoresOfTenThousandGiveNoNaN) {
  for (const char* name : {"softmax", "causal"}) {
    SCOPED_TRACE(name);
    expect_finite_with_huge_scores<float>(name);
    expect_finite_with_huge_scores<double>(name);
  }
}

// ---- memory ----

/// Bytes that Kokkos allocates while it lives.
class Allocated final : public ToolsListener {
 public:
  void allocate(const char*, std::uint64_t bytes) override { bytes_ += static_cast<double>(bytes); }
  double bytes() const { return bytes_; }

 private:
  double bytes_ = 0;
};

double bytes_allocated(const LayerName& layer, int tokens) {
  const Sizes sizes{{1, tokens}, 8, 8};
  const Tokens x = random_tokens(sizes.shape, 8, 1);
  const Allocated allocated;
  const auto subject = prepared_layer<float>(layer, sizes);
  differentiate(*subject, x, x);
  return allocated.bytes();
}

TEST(SoftmaxAttention, MemoryGrowsAsTheTokens) {
  std::vector<LayerName> layers = {attention("causal")};
  if (as_delivered) {  // otherwise each takes minutes
    layers.push_back(attention("softmax"));
    layers.push_back(attention("causal", {{"heads", "2"}, {"position", "tisa"}}));
  }
  for (const LayerName& layer : layers) {
    SCOPED_TRACE(text(layer, {{1, 16384}, 8, 8}));
    const double least = bytes_allocated(layer, 1024), more = bytes_allocated(layer, 4096),
                 most = bytes_allocated(layer, 16384);
    EXPECT_LT(more, 4.1 * least);
    EXPECT_LT(most, 4.1 * more);
    EXPECT_LT(most, 0.1 * sizeof(float) * 16384.0 * 16384.0);
  }
}

// ---- options ----

std::string refusal(const LayerName& layer, int inputs, int outputs) {
  try {
    const LayerAlone<float> made(layer, inputs, outputs);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    return error.what();
  }
  return "";
}

TEST(SoftmaxAttention, RefusesHeadsThatDoNotDivideAndSaysWhichWould) {
  for (const char* name : {"softmax", "causal"}) {
    EXPECT_EQ(refusal(attention(name, {{"heads", "5"}}), 24, 36),
              fmt::format("[attention.{}] heads = 5 does not divide both `embed`, 24, and `out`, 36; 1, 2, 3, 4, 6, 12 "
                          "would.",
                          name));
    EXPECT_EQ(
        refusal(attention(name, {{"heads", "8"}, {"embed", "64"}, {"out", "12"}}), 24, 36),
        fmt::format("[attention.{}] heads = 8 does not divide both `embed`, 64, and `out`, 12; 1, 2, 4 would.", name));
    EXPECT_EQ(refusal(attention(name, {{"heads", "12"}}), 24, 36), "");
  }
}

TEST(SoftmaxAttention, RefusesAnOutThatIsNotTheOutputsWithoutAProjection) {
  const std::string sentence = refusal(attention("softmax", {{"out", "8"}, {"output_projection", "auto"}}), 6, 6);
  EXPECT_EQ(sentence,
            "[attention.softmax] out = 8 is not the layer's outputs, 6, as it has to be where there is no output "
            "projection; `output_projection = yes` makes 6 of any.");
  EXPECT_EQ(refusal(attention("softmax", {{"out", "8"}, {"output_projection", "auto"}, {"heads", "2"}}), 6, 6), "");
}

TEST(SoftmaxAttention, RefusesAPositionThatIsNoBias) {
  const std::string sentence = refusal(attention("causal", {{"position", "sinusoidal"}}), 6, 6);
  EXPECT_NE(sentence.find("position = sinusoidal gives channels to tokens"), std::string::npos) << sentence;
}

TEST(SoftmaxAttention, ProjectsItsOutputAsAsked) {
  const auto projects = [](const char* choice, const char* heads) {
    LayerAlone<float> layer(attention("causal", {{"output_projection", choice}, {"heads", heads}}), 6, 6);
    return layer.parameters().find("output.weight") != nullptr;
  };
  EXPECT_TRUE(projects("yes", "1"));
  EXPECT_FALSE(projects("no", "2"));
  EXPECT_FALSE(projects("auto", "1"));
  EXPECT_TRUE(projects("auto", "2"));
}

TEST(SoftmaxAttention, DeclaresWhatItIs) {
  const auto properties = [](const LayerName& layer) {
    return Registry::instance().get(layer.kind, layer.name).properties(option_values(layer));
  };
  EXPECT_TRUE(properties(attention("causal")).causal);
  EXPECT_FALSE(properties(attention("causal")).permutation_equivariant);
  EXPECT_FALSE(properties(attention("softmax")).causal);
  EXPECT_TRUE(properties(attention("softmax")).grid_independent);
  EXPECT_FALSE(properties(attention("softmax", {{"position", "tisa"}})).permutation_equivariant);
}

/// What the kit does not combine: options together.
TEST(SoftmaxAttention, ConformsWithOptionsTogether) {
  expect_conforming(attention(
      "causal",
      {{"heads", "2"}, {"mask_center", "yes"}, {"position", "tisa"}, {"extra_channels", "24"}, {"embed", "12"}}));
  expect_conforming(attention("softmax", {{"heads", "2"}, {"position", "tisa"}, {"output_projection", "no"}}));
}

}  // namespace
}  // namespace ridgeline::support

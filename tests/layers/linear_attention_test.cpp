// Linear attention between its projections: against its definition, across the borders of chunks, beside NaN, over long
// sequences, in single precision, and one token after another.
#include "../../layers/attention/linear_attention.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>

#include "cases.hpp"
#include "conform/gradient_check.hpp"
#include "core.hpp"
#include "core/region.hpp"
#include "core/tools.hpp"

namespace ridgeline::support {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// As linear_chunk.hpp has it.
constexpr int chunk = 64;

std::string text(const LinearAttentionSettings& s) {
  const char* const features[] = {"elu1", "relu", "exp"};
  return fmt::format("{} {}{}{} channels of keys, {} of values, {} heads", features[static_cast<int>(s.feature)],
                     s.normalize ? "" : "not normalised, ", s.mask_center ? "masked centre, " : "", s.embed, s.out,
                     s.heads);
}

/// Every feature, with and without the normaliser and the token itself.
std::vector<LinearAttentionSettings> every_kind(int embed, int out, int heads) {
  std::vector<LinearAttentionSettings> all;
  for (const Feature feature : {Feature::elu1, Feature::relu, Feature::exp})
    for (const bool normalize : {true, false})
      for (const bool mask_center : {false, true}) all.push_back({embed, out, heads, mask_center, feature, normalize});
  return all;
}

struct Inputs : CoreInputs {
  Inputs(const LinearAttentionSettings& s, const Shape& shape) : CoreInputs(s.embed, s.out, shape) {}
};

using Results = CoreResults;

template <class Scalar>
CoreAlone<Scalar> core_alone(const LinearAttentionSettings& settings, const Shape& shape) {
  return CoreAlone<Scalar>(make_linear_attention<Scalar>(settings), shape);
}

template <class Scalar>
Results differentiate(const LinearAttentionSettings& settings, const Inputs& inputs) {
  return core_alone<Scalar>(settings, inputs.queries.shape).differentiate(inputs);
}

/// Whole samples, parts of one, and what is left over.
TEST(LinearAttention, GradientsOfSomeRowsAtATimeAreThoseOfAll) {
  for (const Shape& shape : {Shape{5, 1500}, Shape{2, 9000}, Shape{1, 4097}})
    for (const Feature feature : {Feature::elu1, Feature::exp}) {
      const LinearAttentionSettings settings{8, 4, 2, false, feature, true};
      CoreAlone<float> core = core_alone<float>(settings, shape);
      const Inputs inputs(settings, shape);
      const Results parts = core.differentiate(inputs), all = core.differentiate(inputs, true);
      EXPECT_EQ(parts.dqueries.values, all.dqueries.values) << shape.batch << " x " << shape.tokens;
      EXPECT_EQ(parts.dkeys_values.values, all.dkeys_values.values) << shape.batch << " x " << shape.tokens;
    }
}

double distance(const Tokens& a, const Tokens& b) { return support::distance(a.values, b.values); }

// ---- the definition, pair by pair ----

enum class Normaliser { over_tokens, over_heads };

/// One head of a sample.
struct Head {
  const LinearAttentionSettings& s;
  const Inputs& in;
  int sample, number;

  double query(int token, int feature) const { return in.queries.at(sample, token, number * s.features() + feature); }
  double key(int token, int feature) const { return in.keys_values.at(sample, token, number * s.features() + feature); }
  double value(int token, int column) const {
    return in.keys_values.at(sample, token, s.embed + number * s.values() + column);
  }

  /// The largest exponent that a token sees.
  double largest(int token, int seen) const {
    double most = -std::numeric_limits<double>::infinity();
    for (int j = 0; j < seen; ++j)
      for (int f = 0; f < s.features(); ++f) most = std::max(most, query(token, f) + key(j, f));
    return most;
  }

  /// φ(q_i) φ(k_j)
  double weight(int i, int j, double most) const {
    const auto phi = [&](double x) {
      return s.feature == Feature::relu ? std::max(x, 0.0) : x > 0 ? x + 1 : std::exp(x);
    };
    double sum = 0;
    for (int f = 0; f < s.features(); ++f)
      sum += s.feature == Feature::exp ? std::exp(query(i, f) + key(j, f) - most) : phi(query(i, f)) * phi(key(j, f));
    return sum;
  }
};

/// Outputs as the definition has them. Over heads, a token's normaliser is the sum of its own weight in all heads so far:
/// the mistake of an older implementation.
Tokens by_definition(const LinearAttentionSettings& s, const Inputs& in,
                     Normaliser normaliser = Normaliser::over_tokens) {
  const Shape shape = in.queries.shape;
  Tokens output = zeros(shape, s.out);
  for (int sample = 0; sample < shape.batch; ++sample)
    for (int i = 0; i < shape.tokens; ++i) {
      double over_heads = 0;
      for (int number = 0; number < s.heads; ++number) {
        const Head head{s, in, sample, number};
        const int seen = s.mask_center ? i : i + 1;
        const double most = head.largest(i, seen);
        std::vector<double> sum(s.values());
        double total = 0;
        const double tiny = s.feature == Feature::exp ? 0 : 1e-10;
        for (int j = 0; j < seen; ++j) {
          const double weight = head.weight(i, j, most);
          total += weight;
          for (int o = 0; o < s.values(); ++o) sum[o] += weight * head.value(j, o);
        }
        over_heads += head.weight(i, i, most);
        const double divisor = normaliser == Normaliser::over_tokens ? total : over_heads;
        for (int o = 0; o < s.values(); ++o)
          output.at(sample, i, number * s.values() + o) = s.normalize && seen > 0 ? sum[o] / (divisor + tiny) : sum[o];
      }
    }
  return output;
}

TEST(LinearAttention, OutputsAreThoseOfTheDefinition) {
  const std::array<std::array<int, 3>, 6> channels = {
      {{5, 3, 1}, {6, 10, 2}, {16, 16, 1}, {66, 34, 2}, {8, 8, 8}, {34, 46, 2}}};
  for (const auto& [embed, out, heads] : channels)
    for (const LinearAttentionSettings& settings : every_kind(embed, out, heads))
      for (const Shape& shape :
           {Shape{2, 1}, Shape{1, chunk - 1}, Shape{2, chunk}, Shape{1, chunk + 1}, Shape{2, 3 * chunk + 7}}) {
        SCOPED_TRACE(fmt::format("{}, {} samples of {} tokens", text(settings), shape.batch, shape.tokens));
        const Inputs inputs(settings, shape);
        EXPECT_LT(distance(differentiate<double>(settings, inputs).output, by_definition(settings, inputs)), 1e-13);
      }
}

/// Whoever summed the normaliser over heads would be far off, with several heads and with one.
TEST(LinearAttention, NormaliserIsSummedOverTokens) {
  for (const int heads : {1, 4}) {
    const LinearAttentionSettings settings{8, 8, heads, false, Feature::elu1, true};
    const Inputs inputs(settings, {1, 30});
    const Tokens output = differentiate<double>(settings, inputs).output;
    EXPECT_LT(distance(output, by_definition(settings, inputs)), 1e-13);
    EXPECT_GT(distance(output, by_definition(settings, inputs, Normaliser::over_heads)), 0.5);
  }
}

// ---- gradients ----

/// Σ gradient·output
double loss(const LinearAttentionSettings& settings, const Inputs& inputs) {
  const Tokens output = differentiate<double>(settings, inputs).output;
  double sum = 0;
  for (std::size_t i = 0; i < output.values.size(); ++i) sum += inputs.gradient.values[i] * output.values[i];
  return sum;
}

/// Of one number, by a difference of sixth order.
double difference_quotient(const LinearAttentionSettings& settings, const Inputs& inputs, Tokens Inputs::*which,
                           std::size_t entry, double step) {
  const std::array<double, 3> weights = {45, -9, 1};
  double sum = 0;
  for (int i = 1; i <= 3; ++i)
    for (const int sign : {1, -1}) {
      Inputs moved = inputs;
      (moved.*which).values.at(entry) += sign * i * step;
      sum += sign * weights.at(i - 1) * loss(settings, moved);
    }
  return sum / (60 * step);
}

/// How far a derivative is from the difference; a second step where the first one may have met a kink.
double gradient_error(const LinearAttentionSettings& settings, const Inputs& inputs, Tokens Inputs::*which,
                      std::size_t entry, double derivative, double allowed) {
  const double error = std::abs(derivative - difference_quotient(settings, inputs, which, entry, 2e-3));
  if (error <= allowed) return error;
  return std::abs(derivative - difference_quotient(settings, inputs, which, entry, 2e-5));
}

TEST(LinearAttention, GradientsAreThoseOfDifferences) {
  for (const LinearAttentionSettings& settings : every_kind(6, 4, 2))
    for (const int tokens : {1, 5, chunk + 1, 2 * chunk + 9}) {
      const Inputs inputs(settings, {1, tokens});
      const Results results = differentiate<double>(settings, inputs);
      const std::pair<Tokens Inputs::*, const Tokens*> pairs[] = {{&Inputs::queries, &results.dqueries},
                                                                  {&Inputs::keys_values, &results.dkeys_values}};
      for (const auto& [which, gradient] : pairs) {
        double largest = 0;
        for (const double value : gradient->values) largest = std::max(largest, std::abs(value));
        const std::size_t size = gradient->values.size(), stride = std::max<std::size_t>(1, size / 60);
        for (std::size_t i = 0; i < size; i += stride) {
          SCOPED_TRACE(fmt::format("{}, {} tokens, entry {} of {}", text(settings), tokens, i,
                                   which == &Inputs::queries ? "queries" : "keys and values"));
          const double allowed = 1e-8 * largest + 1e-11;
          EXPECT_LE(gradient_error(settings, inputs, which, i, gradient->values[i], allowed), allowed);
        }
      }
    }
}

// ---- what is not to be seen ----

/// The first `tokens` of a sample.
std::vector<double> beginning(const Tokens& of, int tokens) {
  return {of.values.begin(), of.values.begin() + std::ptrdiff_t(tokens) * of.channels};
}

void expect_untouched_by_nan(const LinearAttentionSettings& settings, int tokens, int poisoned) {
  SCOPED_TRACE(fmt::format("{}, {} tokens, NaN from {} on", text(settings), tokens, poisoned));
  Inputs inputs(settings, {1, tokens});
  for (int t = poisoned; t < tokens; ++t)
    for (int c = 0; c < settings.out; ++c) inputs.gradient.at(0, t, c) = 0;
  CoreAlone<double> core = core_alone<double>(settings, {1, tokens});
  const Results before = core.differentiate(inputs);
  for (int t = poisoned; t < tokens; ++t) {
    for (int c = 0; c < settings.embed; ++c) inputs.queries.at(0, t, c) = nan;
    for (int c = 0; c < settings.embed + settings.out; ++c) inputs.keys_values.at(0, t, c) = nan;
  }
  const Results after = core.differentiate(inputs);
  EXPECT_EQ(beginning(after.output, poisoned), beginning(before.output, poisoned));
  EXPECT_TRUE(std::isnan(after.output.at(0, tokens - 1, 0)));
  // All of them: those of the tokens that are not numbers are zero.
  EXPECT_EQ(after.dqueries.values, before.dqueries.values);
  EXPECT_EQ(after.dkeys_values.values, before.dkeys_values.values);
  for (int t = poisoned; t < tokens; ++t) ASSERT_EQ(after.dkeys_values.at(0, t, 0), 0);
}

TEST(LinearAttention, LaterNanLeavesWhatIsBeforeAlone) {
  for (const LinearAttentionSettings& settings : every_kind(6, 10, 2))
    for (const int tokens : {chunk - 1, chunk, chunk + 1, 2 * chunk + 3})
      for (const int poisoned : {1, chunk - 2, chunk - 1, chunk, 2 * chunk, tokens - 1})
        if (poisoned < tokens) expect_untouched_by_nan(settings, tokens, poisoned);
}

TEST(LinearAttention, LaterNanLeavesALongSequenceAlone) {
  for (const int poisoned : {1, 65535, 65536})
    expect_untouched_by_nan({4, 4, 1, false, Feature::elu1, true}, 65537, poisoned);
}

/// The first token sees nothing where the centre is masked: zeros, also where the numbers around it are none.
TEST(LinearAttention, TokenThatSeesNothingGivesZeros) {
  for (LinearAttentionSettings settings : every_kind(6, 4, 2)) {
    settings.mask_center = true;
    SCOPED_TRACE(text(settings));
    Inputs inputs(settings, {1, chunk + 2});
    for (int c = 0; c < settings.embed; ++c) inputs.queries.at(0, 0, c) = c == 0 ? nan : -1e300;
    for (int c = 0; c < settings.out; ++c) inputs.gradient.at(0, 0, c) = c == 0 ? nan : 1e300;
    const Results results = differentiate<double>(settings, inputs);
    for (int c = 0; c < settings.out; ++c) EXPECT_EQ(results.output.at(0, 0, c), 0);
    for (int c = 0; c < settings.embed; ++c) EXPECT_EQ(results.dqueries.at(0, 0, c), 0);
    for (const Tokens* tokens : {&results.output, &results.dqueries, &results.dkeys_values})
      for (const double value : tokens->values) ASSERT_TRUE(std::isfinite(value));
  }
}

TEST(LinearAttention, ExponentsOfAnySizeGiveWeights) {
  for (const bool mask_center : {false, true}) {
    const LinearAttentionSettings settings{6, 4, 2, mask_center, Feature::exp, true};
    Inputs inputs(settings, {1, 2 * chunk + 5});
    for (Tokens* tokens : {&inputs.queries, &inputs.keys_values})
      for (int t = 0; t < tokens->shape.tokens; ++t)
        for (int c = 0; c < settings.embed; ++c) tokens->at(0, t, c) *= 1e4;
    const Results exact = differentiate<double>(settings, inputs), single = differentiate<float>(settings, inputs);
    EXPECT_LT(distance(exact.output, by_definition(settings, inputs)), 1e-13);
    for (const Tokens* tokens : {&single.output, &single.dqueries, &single.dkeys_values})
      for (const double value : tokens->values) ASSERT_TRUE(std::isfinite(value));
  }
}

// ---- long sequences ----

TEST(LinearAttention, SinglePrecisionHoldsOverALongSequence) {
  for (const LinearAttentionSettings& settings : every_kind(16, 16, 1)) {
    SCOPED_TRACE(text(settings));
    Inputs inputs(settings, {1, 65536});
    for (Tokens* tokens : {&inputs.queries, &inputs.keys_values, &inputs.gradient})
      for (double& value : tokens->values) value = static_cast<float>(value);
    // Values that do not sum to zero, as long sums of what is far from zero lose the most.
    for (int t = 0; t < 65536; ++t)
      for (int c = 0; c < settings.out; ++c) inputs.keys_values.at(0, t, settings.embed + c) += 1;
    const Results exact = differentiate<double>(settings, inputs), single = differentiate<float>(settings, inputs);
    EXPECT_LT(distance(single.output, exact.output), 1e-4);
    EXPECT_LT(distance(single.dqueries, exact.dqueries), 1e-4);
    EXPECT_LT(distance(single.dkeys_values, exact.dkeys_values), 1e-4);
  }
}

/// Counts what Kokkos allocates.
class Allocations final : public ToolsListener {
 public:
  void allocate(const char*, std::uint64_t bytes) override { bytes_ += static_cast<double>(bytes); }
  double bytes() const { return bytes_; }

 private:
  double bytes_ = 0;
};

TEST(LinearAttention, MemoryGrowsAsTheNumberOfTokens) {
  for (const LinearAttentionSettings& settings : every_kind(64, 64, 4)) {
    const auto bytes_for_a_token = [&](int tokens) {
      const Inputs inputs(settings, {1, tokens});
      const Allocations allocations;
      differentiate<float>(settings, inputs);
      return allocations.bytes() / tokens;
    };
    bytes_for_a_token(1);  // Kokkos takes the scratch memory of its teams at their first call
    const double first = bytes_for_a_token(1024);
    EXPECT_GT(first, 64 * sizeof(float) * 8);  // what goes in and out
    EXPECT_LT(first, 64 * sizeof(float) * 12) << text(settings);
    for (const int tokens : {4096, 16384}) EXPECT_NEAR(bytes_for_a_token(tokens), first, 0.02 * first);
  }
}

// ---- the same bits ----

bool same_bits(const Tokens& a, const Tokens& b) {
  return a.values.size() == b.values.size() &&
         std::memcmp(a.values.data(), b.values.data(), a.values.size() * sizeof(double)) == 0;
}

/// Where a sample stands in a batch, threads take other chunks of it.
TEST(LinearAttention, SampleIsTheSameBitsInABatch) {
  for (const LinearAttentionSettings& settings : every_kind(16, 16, 2)) {
    const Inputs together(settings, {3, 500});
    const Results all = differentiate<float>(settings, together), again = differentiate<float>(settings, together);
    EXPECT_TRUE(same_bits(all.output, again.output));
    EXPECT_TRUE(same_bits(all.dqueries, again.dqueries));
    EXPECT_TRUE(same_bits(all.dkeys_values, again.dkeys_values));
    Inputs alone(settings, {1, 500});
    const auto last = [](const Tokens& of) {
      return Tokens{
          {1, of.shape.tokens}, of.channels, {of.values.end() - std::ptrdiff_t(500) * of.channels, of.values.end()}};
    };
    alone.queries = last(together.queries);
    alone.keys_values = last(together.keys_values);
    alone.gradient = last(together.gradient);
    const Results one = differentiate<float>(settings, alone);
    EXPECT_TRUE(same_bits(one.output, last(all.output)));
    EXPECT_TRUE(same_bits(one.dqueries, last(all.dqueries)));
    EXPECT_TRUE(same_bits(one.dkeys_values, last(all.dkeys_values)));
  }
}

// ---- one token after another ----

template <class Scalar>
class Sequence {
 public:
  Sequence(const LinearAttentionSettings& settings, const Shape& longest)
      : settings_(settings), batch_(longest.batch), core_(make_linear_attention<Scalar>(settings)) {
    core_->reserve_sequence(longest, arena_);
    arena_.allocate();
    arena_.restart();
    core_->reserve_sequence(longest, arena_);
  }

  void begin() { core_->begin_sequence(); }

  /// The outputs of tokens first … last.
  Tokens pass(const Inputs& inputs, int first, int last) {
    Tokens output = zeros({batch_, last - first}, settings_.out);
    for (int t = first; t < last; ++t) {
      const DeviceTokens<Scalar> queries(token(inputs.queries, t)), keys_values(token(inputs.keys_values, t)),
          result(zeros({batch_, 1}, settings_.out));
      core_->next_token(queries.view, keys_values.view, result.view);
      const Tokens own = result.to_tokens();
      for (int sample = 0; sample < batch_; ++sample)
        for (int c = 0; c < settings_.out; ++c) output.at(sample, t - first, c) = own.at(sample, 0, c);
    }
    return output;
  }

  AttentionCore<Scalar>& core() { return *core_; }
  std::size_t bytes() const { return arena_.bytes(); }

 private:
  Tokens token(const Tokens& all, int t) const {
    Tokens one = zeros({batch_, 1}, all.channels);
    for (int sample = 0; sample < batch_; ++sample)
      for (int c = 0; c < all.channels; ++c) one.at(sample, 0, c) = all.at(sample, t, c);
    return one;
  }

  LinearAttentionSettings settings_;
  int batch_;
  Arena arena_;
  std::unique_ptr<AttentionCore<Scalar>> core_;
};

TEST(LinearAttention, OneTokenAfterAnotherGivesTheSame) {
  const int tokens = chunk + 6;
  for (const LinearAttentionSettings& settings : every_kind(6, 10, 2)) {
    SCOPED_TRACE(text(settings));
    const Inputs inputs(settings, {2, tokens});
    const Tokens expected = differentiate<double>(settings, inputs).output;
    Sequence<double> sequence(settings, {2, tokens});
    sequence.begin();
    EXPECT_LT(distance(sequence.pass(inputs, 0, tokens), expected), 1e-12);
    // Begun anew after any number of tokens, nothing is left of them.
    for (int split = 0; split < tokens; split += 7) {
      sequence.begin();
      sequence.pass(inputs, 0, split);
      sequence.begin();
      EXPECT_LT(distance(sequence.pass(inputs, 0, tokens), expected), 1e-12) << split;
    }
  }
}

TEST(LinearAttention, SinglePrecisionHoldsOneTokenAfterAnother) {
  const LinearAttentionSettings settings{8, 8, 2, false, Feature::elu1, true};
  Inputs inputs(settings, {1, 3000});
  for (Tokens* tokens : {&inputs.queries, &inputs.keys_values})
    for (double& value : tokens->values) value = static_cast<float>(value);
  Sequence<float> sequence(settings, {1, 3000});
  sequence.begin();
  EXPECT_LT(distance(sequence.pass(inputs, 0, 3000), differentiate<double>(settings, inputs).output), 1e-6);
}

/// One more token takes no more time and no more memory after many than after few.
TEST(LinearAttention, NextTokenCostsTheSameHoweverLongTheSequence) {
  const LinearAttentionSettings settings{64, 64, 4, false, Feature::elu1, true};
  EXPECT_EQ(Sequence<float>(settings, {1, 1000}).bytes(), Sequence<float>(settings, {1, 65000}).bytes());

  const Inputs one(settings, {1, 1});
  const DeviceTokens<float> queries(one.queries), keys_values(one.keys_values), output(zeros({1, 1}, 64));
  const auto seconds = [&](Sequence<float>& sequence) {
    const double start = wall_time();
    sequence.core().next_token(queries.view, keys_values.view, output.view);
    Execution().fence();
    return wall_time() - start;
  };
  Sequence<float> few(settings, {1, 65000}), many(settings, {1, 65000});
  few.begin();
  many.begin();
  seconds(few);  // Kokkos takes the scratch memory of its teams at their first call
  const Allocations allocations;
  for (int i = 1; i < 1000; ++i) seconds(few);
  for (int i = 0; i < 64000; ++i) seconds(many);
  // Turn by turn, and the fastest of each: what else the machine does is not the sequences'.
  double early = INFINITY, late = INFINITY;
  for (int i = 0; i < 1000; ++i) {
    early = std::min(early, seconds(few));
    late = std::min(late, seconds(many));
  }
  EXPECT_LT(late, 4 * early);  // what looked back at all tokens would take 64 times as long
  EXPECT_EQ(allocations.bytes(), 0);
}

}  // namespace
}  // namespace ridgeline::support

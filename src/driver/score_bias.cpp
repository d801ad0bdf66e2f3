#include "driver/score_bias.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "layer/score_bias.hpp"

namespace ridgeline {
namespace {

/// Sets parameters to those of the same names. False where there are none such, or of another shape.
template <class Scalar>
bool take(Parameters<Scalar>& own, const Parameters<Scalar>& all) {
  for (const auto& entry : own.entries()) {
    const auto* found = all.find(entry.name);
    if (found == nullptr || found->shape != entry.shape) return false;
    own.set(entry, all.get(*found));
  }
  return true;
}

/// The values of a bias by itself: the position that the block's attention has, made again, with its parameters. Empty
/// where the attention does not keep them as `make_score_bias` would.
template <class Scalar>
std::vector<double> values_of(const LayerChoice& attention, const std::string& name, const ModelPlan& plan,
                              const Parameters<Scalar>& parameters, int heads, int tokens) {
  Parameters<Scalar> own;
  Setup<Scalar> setup{plan.width,    plan.width,           attention.options, ParameterScope<Scalar>(own, name),
                      Signal(),      Registry::instance(), plan.tokens,       plan.grid,
                      &plan.sections};
  const std::unique_ptr<Position<Scalar>> bias = make_score_bias<Scalar>(setup, heads);
  own.allocate();
  if (!take(own, parameters)) return {};
  Arena arena;
  Matrix<Scalar> values;
  const auto reserve = [&] {
    arena.restart();
    bias->reserve(tokens, arena);
    values = arena.kept<Scalar>(heads, 2 * tokens - 1);
  };
  reserve();
  arena.allocate();
  reserve();
  bias->forward(values);
  const std::vector<Scalar> copied = host_copy(values);
  return {copied.begin(), copied.end()};
}

/// 0 where the attention has no bias by distance. A plugin's options may have these names and mean something else.
int biased_heads(const LayerChoice& attention) {
  const OptionSet& options = attention.options.options();
  const Option *position = options.find("position"), *heads = options.find("heads");
  if (position == nullptr || position->type() != Option::Type::layer || position->kind() != "position") return 0;
  if (heads == nullptr || heads->type() != Option::Type::integer) return 0;
  const LayerEntry* entry = Registry::instance().find("position", attention.options.text("position"));
  if (entry == nullptr || entry->position_use != PositionUse::bias) return 0;
  return static_cast<int>(attention.options.integer("heads"));
}

}  // namespace

int most_biased_heads(const ModelPlan& plan) {
  int most = 0;
  for (const LayerChoice& attention : plan.attention) most = std::max(most, biased_heads(attention));
  return most;
}

template <class Scalar>
std::vector<ScoreBias> score_biases(const ModelPlan& plan, const Parameters<Scalar>& parameters, int tokens) {
  std::vector<ScoreBias> found;
  for (std::size_t i = 0; i < plan.attention.size(); ++i) {
    const LayerChoice& attention = plan.attention[i];
    const int heads = biased_heads(attention);
    if (heads == 0) continue;
    std::vector<double> values =
        values_of(attention, fmt::format("blocks.{}.attention", i), plan, parameters, heads, tokens);
    if (values.empty()) continue;
    const LayerEntry& entry = Registry::instance().get("attention", attention.name);
    found.push_back({fmt::format("block {}", i), attention.options.text("position"), heads, tokens,
                     entry.properties(attention.options).causal, std::move(values)});
  }
  return found;
}

template std::vector<ScoreBias> score_biases(const ModelPlan&, const Parameters<float>&, int);
template std::vector<ScoreBias> score_biases(const ModelPlan&, const Parameters<double>&, int);

}  // namespace ridgeline

#include "conform/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "layer/foreign.hpp"
#include "layer/score_bias.hpp"

namespace ridgeline::conform {
namespace {

/// Channels in and out for layers that refuse others: heads divide those that come in, or as many go out.
constexpr std::pair<int, int> divisible_channels[] = {{24, 10}, {48, 10}, {24, 24}, {48, 48}};

std::vector<std::string> values_to_try(const Option& option) {
  std::vector<std::string> values = option.trials();
  const auto add = [&](const std::vector<std::string>& more) { values.insert(values.end(), more.begin(), more.end()); };
  if (!option.is_list()) add(option.choices());
  if (option.type() == Option::Type::flag) add({"yes", "no"});
  if (option.type() == Option::Type::layer && option.kind() == "position")  // a layer's: the model's is no option of it
    add(positions_for(PositionUse::bias, Registry::instance()));
  else if (option.type() == Option::Type::layer)
    add(Registry::instance().names(option.kind()));
  const auto is_default = [&](const std::string& value) { return value == option.standard(); };
  values.erase(std::remove_if(values.begin(), values.end(), is_default), values.end());
  return values;
}

/// Why the layer cannot be tried; empty where it can. What it throws later than while it is made, the checks find.
std::string refusal(const Case& tried, const Making& making) {
  making.before(tried);
  try {
    LayerAlone<double> made(tried.layer, tried.sizes.inputs, tried.sizes.outputs);
    try {
      made.prepare({tried.sizes.shape});
    } catch (const NoRoom&) {
      throw;
    } catch (...) {
    }
    return "";
  } catch (const Error&) {
    return thrown_reason(1000) + ".";
  } catch (...) {
    return tried.layer.kind + "/" + tried.layer.name + " cannot be made: " + thrown_reason(1000) + ".";
  }
}

/// Adds a case, its channels such that the layer can be made; returns why there is none, or nothing.
std::string add_case(std::vector<Case>& cases, const Case& wanted, const Making& making) {
  std::string reason = is_activation(wanted.layer) ? "" : refusal(wanted, making);
  if (reason.empty()) {
    cases.push_back(wanted);
    return "";
  }
  if (is_position(wanted.layer)) return reason;
  for (const auto& [inputs, outputs] : divisible_channels) {
    const Case divisible{wanted.layer, {wanted.sizes.shape, inputs, outputs}, wanted.standard};
    if (!refusal(divisible, making).empty()) continue;
    cases.push_back(divisible);
    return "";
  }
  return reason;
}

/// Adds a case for each size that is not refused, or the one that was deadly: whether there is none of those. `reason`:
/// of the last refusal.
bool add_cases(std::vector<Case>& cases, const LayerName& layer, const std::vector<Sizes>& sizes, bool standard,
               const Making& making, std::string& reason) {
  const auto same = [&](const Case& deadly) { return deadly.layer.options == layer.options; };
  const auto deadly = std::find_if(making.deadly.begin(), making.deadly.end(), same);
  if (deadly != making.deadly.end()) {
    cases.push_back(*deadly);
    return false;
  }
  for (const Sizes& each : sizes) {
    if (is_position(layer)) making.before({layer, each, standard});  // to fit one is to make it
    if (const std::string refused = add_case(cases, {layer, fitting(layer, each), standard}, making); !refused.empty())
      reason = refused;
  }
  return true;
}

}  // namespace

std::vector<LayerName> variations(const LayerName& layer) {
  std::vector<LayerName> result;
  for (const Option& option : Registry::instance().get(layer.kind, layer.name).options.options()) {
    if (layer.options.count(option.name()) > 0) continue;
    for (const std::string& value : values_to_try(option)) {
      result.push_back(layer);
      result.back().options[option.name()] = value;
    }
  }
  return result;
}

Cases cases_of(const LayerName& layer, const Making& making) {
  Cases result;
  std::string reason;
  const bool lives = add_cases(result.cases, layer, every_size, true, making, reason);
  if (result.cases.empty()) throw Error(Exit::mistake, reason);
  if (is_activation(layer) || !lives) return result;
  for (const LayerName& variation : variations(layer)) {
    std::string refused;
    const std::size_t before = result.cases.size();
    add_cases(result.cases, variation, {every_size[0], every_size[2], every_size[3]}, false, making, refused);
    if (result.cases.size() == before) result.refused.push_back(options_text(variation) + ": " + refused);
  }
  return result;
}

std::string text(const Case& tried) {
  const auto& [shape, inputs, outputs] = tried.sizes;
  if (is_activation(tried.layer)) return fmt::format("a matrix of {} by {}", shape.rows(), inputs);
  if (is_position(tried.layer))
    return fmt::format("{} token{}, {} channel{}", shape.tokens, shape.tokens > 1 ? "s" : "", outputs,
                       outputs > 1 ? "s" : "");
  return fmt::format("{} sample{} of {} token{}, {} to {} channels", shape.batch, shape.batch > 1 ? "s" : "",
                     shape.tokens, shape.tokens > 1 ? "s" : "", inputs, outputs);
}

std::string options_text(const LayerName& layer) {
  std::string text;
  for (const auto& [key, value] : layer.options)
    text += fmt::format("{}--option {}={}", text.empty() ? "" : " ", key, shell_word(value));
  return text;
}

std::string shell_word(const std::string& text) {
  const char* plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.,+-/=:";
  if (!text.empty() && text.find_first_not_of(plain) == std::string::npos) return text;
  std::string word = "'";
  for (const char letter : text) word += letter == '\'' ? "'\\''" : std::string(1, letter);
  return word + "'";
}

bool is_activation(const LayerName& layer) {
  return Registry::instance().get(layer.kind, layer.name).make_activation_double != nullptr;
}

bool is_position(const LayerName& layer) {
  return Registry::instance().get(layer.kind, layer.name).make_position_double != nullptr;
}

}  // namespace ridgeline::conform

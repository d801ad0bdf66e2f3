#include "conform/cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ridgeline::conform {
namespace {

/// Channels in and out for layers that refuse others: heads divide those that come in, or as many go out.
constexpr std::pair<int, int> divisible_channels[] = {{24, 10}, {48, 10}, {24, 24}, {48, 48}};

std::vector<std::string> values_to_try(const Option& option) {
  std::vector<std::string> values = option.trials();
  const auto add = [&](const std::vector<std::string>& more) { values.insert(values.end(), more.begin(), more.end()); };
  if (!option.is_list()) add(option.choices());
  if (option.type() == Option::Type::flag) add({"yes", "no"});
  if (option.type() == Option::Type::layer) add(Registry::instance().names(option.kind()));
  const auto is_default = [&](const std::string& value) { return value == option.standard(); };
  values.erase(std::remove_if(values.begin(), values.end(), is_default), values.end());
  return values;
}

/// The reason why the layer cannot be made at these sizes; empty where it can.
std::string refusal(const LayerName& layer, const Sizes& sizes) {
  try {
    const LayerAlone<double> made(layer, sizes.inputs, sizes.outputs);
    return "";
  } catch (const Error& error) {
    return error.what();
  }
}

/// Adds a case, its channels such that the layer can be made; returns why there is none, or nothing.
std::string add_case(std::vector<Case>& cases, const LayerName& layer, const Sizes& sizes, bool standard) {
  std::string reason = is_activation(layer) ? "" : refusal(layer, sizes);
  if (reason.empty()) {
    cases.push_back({layer, sizes, standard});
    return "";
  }
  for (const auto& [inputs, outputs] : divisible_channels) {
    const Sizes divisible{sizes.shape, inputs, outputs};
    if (!refusal(layer, divisible).empty()) continue;
    cases.push_back({layer, divisible, standard});
    return "";
  }
  return reason;
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

Cases cases_of(const LayerName& layer) {
  Cases result;
  std::string reason;
  for (const Sizes& sizes : every_size) reason = add_case(result.cases, layer, sizes, true);
  if (result.cases.empty()) throw Error(Exit::mistake, reason);
  if (is_activation(layer)) return result;
  for (const LayerName& variation : variations(layer)) {
    std::string refused;
    for (const std::size_t i : {0, 2, 3}) refused = add_case(result.cases, variation, every_size[i], false);
    if (!refused.empty()) result.refused.push_back(options_text(variation) + ": " + refused);
  }
  return result;
}

std::string text(const Case& tried) {
  const auto& [shape, inputs, outputs] = tried.sizes;
  if (is_activation(tried.layer)) return fmt::format("a matrix of {} by {}", shape.rows(), inputs);
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

}  // namespace ridgeline::conform

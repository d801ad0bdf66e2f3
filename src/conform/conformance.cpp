#include "conform/conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "config/text.hpp"
#include "core/region.hpp"
#include "io/json.hpp"

namespace ridgeline::conform {
namespace {

using Result = Finding::Result;

Finding examine_case(Examination examination, const Case& tried) {
  try {
    return examination(tried);
  } catch (const Error& error) {
    if (error.status() == Exit::stopped) throw;
    return failed(std::string("it threw an error: ") + error.what());
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    return failed(std::string("it threw an exception: ") + error.what());
  }
}

Outcome examine_check(const Check& check, const std::vector<Case>& cases, bool activation) {
  Outcome outcome{&check, {}, std::nullopt, 0};
  const Examination examination = activation ? check.activation : check.layer;
  if (examination == nullptr) {
    outcome.finding = not_applicable(check.why_no_activation);
    return outcome;
  }
  for (const Case& tried : cases) {
    const Finding finding = examine_case(examination, tried);
    if (finding.result == Result::not_applicable) {
      if (outcome.cases == 0) outcome.finding = finding;
      continue;
    }
    ++outcome.cases;
    outcome.finding = finding;
    if (finding.result != Result::failed) continue;
    outcome.tried = tried;
    break;
  }
  return outcome;
}

const char* word(Result result) {
  return result == Result::passed ? "passed" : result == Result::failed ? "failed" : "not applicable";
}

std::string title(const LayerName& layer) { return layer.kind + "/" + layer.name; }

/// The command that shows a failure again. A plugin that came by the environment is named as well.
std::string command(const Case& tried, const std::vector<std::string>& plugins) {
  const std::string& origin = Registry::instance().get(tried.layer.kind, tried.layer.name).origin;
  const bool by_environment = plugins.empty() && origin != LayerEntry::built_in;
  std::string text = "ridgeline conform " + title(tried.layer);
  if (!tried.layer.options.empty()) text += " " + options_text(tried.layer);
  for (const std::string& plugin : by_environment ? std::vector<std::string>{origin} : plugins)
    text += " --plugin " + shell_word(plugin);
  return text;
}

std::string object(const OptionTexts& options) {
  std::vector<std::string> members;
  for (const auto& [key, value] : options) members.push_back(json_text(key) + ": " + json_text(value));
  return "{" + join(members, ", ") + "}";
}

std::string object(const Outcome& outcome, const std::vector<std::string>& plugins) {
  const auto& [check, finding, tried, cases] = outcome;
  std::string shape = "null", options = "null", reproduce = "null";
  if (tried) {
    const Sizes& sizes = tried->sizes;
    shape = fmt::format(R"({{"batch": {}, "tokens": {}, "inputs": {}, "outputs": {}}})", sizes.shape.batch,
                        sizes.shape.tokens, sizes.inputs, sizes.outputs);
    options = object(tried->layer.options);
    reproduce = json_text(command(*tried, plugins));
  }
  return fmt::format(
      R"({{"name": {}, "purpose": {}, "result": {}, "cases": {}, "text": {}, "number": {}, "shape": {}, )"
      R"("options": {}, "command": {}}})",
      json_text(check->name), json_text(check->purpose), json_text(word(finding.result)), cases,
      json_text(finding.text), finding.number ? json_number(*finding.number) : "null", shape, options, reproduce);
}

}  // namespace

int Conformance::count(Result result) const {
  return static_cast<int>(std::count_if(outcomes.begin(), outcomes.end(),
                                        [&](const Outcome& outcome) { return outcome.finding.result == result; }));
}

Conformance examine(const LayerName& layer) {
  const double start = wall_time();
  option_values(layer);
  if (!is_activation(layer) && !Registry::instance().get(layer.kind, layer.name).make_double)
    throw Error(Exit::mistake, "there are no checks for the kind " + layer.kind + " of " + title(layer) + ".");
  const Cases cases = cases_of(layer);
  Conformance conformance{layer, {}, cases.refused, 0};
  for (const Check& check : checks())
    conformance.outcomes.push_back(examine_check(check, cases.cases, is_activation(layer)));
  conformance.seconds = wall_time() - start;
  return conformance;
}

std::string report(const Conformance& conformance, const std::vector<std::string>& plugins) {
  const LayerEntry& entry = Registry::instance().get(conformance.layer.kind, conformance.layer.name);
  std::string text =
      fmt::format("{} {} ({}): {}\n", title(conformance.layer), entry.version, entry.origin, entry.summary);
  text += fmt::format("\n{:<18}{:<16}{:>5}  {}\n", "check", "result", "cases", "what holds where it passes");
  for (const auto& [check, finding, tried, cases] : conformance.outcomes) {
    const std::string result = finding.result == Result::failed ? "FAILED" : word(finding.result);
    const bool applies = finding.result != Result::not_applicable;
    text += fmt::format("{:<18}{:<16}{:>5}  {}\n", check->name, result, applies ? fmt::to_string(cases) : "",
                        applies ? check->purpose : finding.text);
  }
  for (const std::string& refused : conformance.refused) text += "\nnot tried: " + refused + "\n";
  for (const auto& [check, finding, tried, cases] : conformance.outcomes) {
    if (!tried) continue;
    text += fmt::format("\n{} FAILED\n  {}\n  with {}\n  {}\n", check->name, finding.text, conform::text(*tried),
                        command(*tried, plugins));
  }
  text += fmt::format("\n{}: {} passed, {} failed, {} not applicable, in {:.1f} s\n", title(conformance.layer),
                      conformance.count(Result::passed), conformance.count(Result::failed),
                      conformance.count(Result::not_applicable), conformance.seconds);
  return text;
}

std::string report_json(const Conformance& conformance, const std::vector<std::string>& plugins) {
  const LayerEntry& entry = Registry::instance().get(conformance.layer.kind, conformance.layer.name);
  std::vector<std::string> refused, outcomes;
  for (const std::string& text : conformance.refused) refused.push_back(json_text(text));
  for (const Outcome& outcome : conformance.outcomes) outcomes.push_back("\n    " + object(outcome, plugins));
  return fmt::format(
      "{{\n  \"layer\": {},\n  \"origin\": {},\n  \"version\": {},\n  \"options\": {},\n  \"conforms\": {},\n"
      "  \"seconds\": {},\n  \"passed\": {},\n  \"failed\": {},\n  \"not_applicable\": {},\n  \"refused\": [{}],\n"
      "  \"checks\": [{}\n  ]\n}}\n",
      json_text(title(conformance.layer)), json_text(entry.origin), json_text(entry.version),
      object(conformance.layer.options), conformance.conforms(), json_number(conformance.seconds),
      conformance.count(Result::passed), conformance.count(Result::failed), conformance.count(Result::not_applicable),
      join(refused, ", "), join(outcomes, ","));
}

}  // namespace ridgeline::conform

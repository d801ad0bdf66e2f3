#include "conform/conformance.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config/text.hpp"
#include "core/region.hpp"
#include "io/json.hpp"
#include "layer/foreign.hpp"

namespace ridgeline::conform {
namespace {

using Result = Finding::Result;

Finding examine_case(Examination examination, const Case& tried) {
  try {
    Finding finding = examination(tried);
    finding.text = excerpt(finding.text, 1000);
    return finding;
  } catch (const std::exception&) {
    return failed("it threw an exception: " + thrown_reason(1000));
  } catch (...) {
    return failed(thrown_reason(1000));
  }
}

Outcome examine_check(const Check& check, const Journal& journal, Follower& follower) {
  const std::vector<Case>& cases = journal.cases->cases;
  Outcome outcome{&check, {}, std::nullopt};
  const Part& part = is_activation(journal.layer) ? check.activation
                     : is_position(journal.layer) ? check.position
                                                  : check.layer;
  if (part.examination == nullptr) {
    outcome.finding = not_applicable(part.why_not_applicable);
    return outcome;
  }
  const double start = wall_time();
  for (std::size_t i = 0; i < cases.size(); ++i) {
    if (i > 0 && wall_time() - start > journal.seconds_for_a_check) {
      outcome.left_out = static_cast<int>(cases.size() - i);
      break;
    }
    follower.trying(check, i);
    const Finding finding = examine_case(part.examination, cases[i]);
    if (finding.result == Result::not_applicable) {
      if (outcome.cases == 0) outcome.finding = finding;
      continue;
    }
    ++outcome.cases;
    outcome.finding = finding;
    if (finding.result != Result::failed) continue;
    outcome.tried = cases[i];
    break;
  }
  return outcome;
}

const char* word(Result result) {
  return result == Result::passed ? "passed" : result == Result::failed ? "failed" : "not applicable";
}

std::string title(const LayerName& layer) { return layer.kind + "/" + layer.name; }

/// The command that shows a failure again.
std::string command(const Case& tried, const std::vector<std::string>& words) {
  std::string text = "ridgeline conform " + title(tried.layer);
  if (!tried.layer.options.empty()) text += " " + options_text(tried.layer);
  for (const std::string& word : words) text += " " + shell_word(word);
  return text;
}

std::string object(const OptionTexts& options) {
  std::vector<std::string> members;
  for (const auto& [key, value] : options) members.push_back(json_text(key) + ": " + json_text(value));
  return "{" + join(members, ", ") + "}";
}

std::string object(const Outcome& outcome, const std::vector<std::string>& words) {
  const auto& [check, finding, tried, cases, left_out] = outcome;
  std::string shape = "null", options = "null", reproduce = "null";
  if (tried) {
    const Sizes& sizes = tried->sizes;
    shape = fmt::format(R"({{"batch": {}, "tokens": {}, "inputs": {}, "outputs": {}}})", sizes.shape.batch,
                        sizes.shape.tokens, sizes.inputs, sizes.outputs);
    options = object(tried->layer.options);
    reproduce = json_text(command(*tried, words));
  }
  return fmt::format(
      R"({{"name": {}, "purpose": {}, "result": {}, "cases": {}, "left_out": {}, "text": {}, "number": {}, "shape": {}, )"
      R"("options": {}, "command": {}}})",
      json_text(check->name), json_text(check->purpose), json_text(word(finding.result)), cases, left_out,
      json_text(finding.text), finding.number ? json_number(*finding.number) : "null", shape, options, reproduce);
}

}  // namespace

int Conformance::count(Result result) const {
  return static_cast<int>(std::count_if(outcomes.begin(), outcomes.end(),
                                        [&](const Outcome& outcome) { return outcome.finding.result == result; }));
}

void check_subject(const LayerName& layer) {
  Registry::instance().get(layer.kind, layer.name);
  try {
    option_values(layer);
  } catch (const Error& error) {
    throw Error(error.status(), std::string("--option: ") + error.what());
  }
  if (!is_activation(layer) && !is_position(layer) && !Registry::instance().get(layer.kind, layer.name).make_double)
    throw Error(Exit::mistake, "there are no checks for the kind " + layer.kind + " of " + title(layer) + ".");
}

void go_on(Journal& journal, Follower& follower) {
  if (!journal.cases) {
    journal.cases = cases_of(journal.layer, {journal.deadly, [&](const Case& tried) { follower.making(tried); }});
    follower.listed(*journal.cases);
  }
  while (journal.outcomes.size() < checks().size()) {
    journal.outcomes.push_back(examine_check(checks()[journal.outcomes.size()], journal, follower));
    follower.judged(journal.outcomes.back());
  }
}

Conformance examine(const LayerName& layer) {
  const double start = wall_time();
  check_subject(layer);
  Journal journal{layer};
  Follower nobody;
  go_on(journal, nobody);
  return {layer, std::move(journal.outcomes), std::move(journal.cases->refused), wall_time() - start};
}

std::string report(const Conformance& conformance, const std::vector<std::string>& words) {
  const LayerEntry& entry = Registry::instance().get(conformance.layer.kind, conformance.layer.name);
  std::string text =
      fmt::format("{} {} ({}): {}\n", title(conformance.layer), entry.version, entry.origin, entry.summary);
  text += fmt::format("\n{:<18}{:<16}{:>5}  {}\n", "check", "result", "cases", "what holds where it passes");
  for (const auto& [check, finding, tried, cases, left_out] : conformance.outcomes) {
    const std::string result = finding.result == Result::failed ? "FAILED" : word(finding.result);
    const bool applies = finding.result != Result::not_applicable;
    text += fmt::format("{:<18}{:<16}{:>5}  {}\n", check->name, result, applies ? fmt::to_string(cases) : "",
                        applies ? check->purpose : finding.text);
  }
  for (const std::string& refused : conformance.refused) text += "\nnot tried: " + refused + "\n";
  for (const Outcome& outcome : conformance.outcomes)
    if (outcome.left_out > 0)
      text += fmt::format("\nnot tried: {} in {} more case{}, as {} s were over\n", outcome.check->name,
                          outcome.left_out, outcome.left_out == 1 ? "" : "s", seconds_for_a_check);
  for (const auto& [check, finding, tried, cases, left_out] : conformance.outcomes) {
    if (!tried) continue;
    text += fmt::format("\n{} FAILED\n  {}\n  with {}\n  {}\n", check->name, finding.text, conform::text(*tried),
                        command(*tried, words));
  }
  text += fmt::format("\n{}: {} passed, {} failed, {} not applicable, in {:.1f} s\n", title(conformance.layer),
                      conformance.count(Result::passed), conformance.count(Result::failed),
                      conformance.count(Result::not_applicable), conformance.seconds);
  return printable(text);
}

std::string report_json(const Conformance& conformance, const std::vector<std::string>& words) {
  const LayerEntry& entry = Registry::instance().get(conformance.layer.kind, conformance.layer.name);
  std::vector<std::string> refused, outcomes;
  for (const std::string& text : conformance.refused) refused.push_back(json_text(text));
  for (const Outcome& outcome : conformance.outcomes) outcomes.push_back("\n    " + object(outcome, words));
  return printable(fmt::format(
      "{{\n  \"layer\": {},\n  \"origin\": {},\n  \"version\": {},\n  \"options\": {},\n  \"conforms\": {},\n"
      "  \"seconds\": {},\n  \"passed\": {},\n  \"failed\": {},\n  \"not_applicable\": {},\n  \"refused\": [{}],\n"
      "  \"checks\": [{}\n  ]\n}}\n",
      json_text(title(conformance.layer)), json_text(entry.origin), json_text(entry.version),
      object(conformance.layer.options), conformance.conforms(), json_number(conformance.seconds),
      conformance.count(Result::passed), conformance.count(Result::failed), conformance.count(Result::not_applicable),
      join(refused, ", "), join(outcomes, ",")));
}

std::string error_json(const std::string& layer, const std::string& sentence) {
  return printable(fmt::format("{{\n  \"layer\": {},\n  \"conforms\": false,\n  \"error\": {}\n}}\n", json_text(layer),
                               json_text(sentence)));
}

}  // namespace ridgeline::conform

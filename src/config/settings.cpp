#include "config/settings.hpp"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "config/text.hpp"

namespace ridgeline {
namespace {

constexpr const char* form = "; write --set section.key=value.";

std::vector<std::string> bracketed(const std::vector<std::string>& names) {
  std::vector<std::string> result;
  result.reserve(names.size());
  for (const std::string& name : names) result.push_back("[" + name + "]");
  return result;
}

// What an unknown section may have been meant to be: a known one, or a member of a family under the name given.
std::vector<std::string> section_candidates(const std::string& section, const Schema& schema) {
  std::vector<std::string> result = schema.sections();
  const std::size_t dot = section.find('.');
  if (dot == std::string::npos) return result;
  for (const std::string& family : schema.families()) result.push_back(family + section.substr(dot));
  return result;
}

std::string known_sections(const Schema& schema) {
  constexpr std::size_t most_named = 12;
  std::vector<std::string> names = schema.sections();
  for (const std::string& family : schema.families()) names.push_back(family + ".NAME");
  const bool all = names.size() <= most_named;
  if (!all) names.resize(most_named);
  return "known are " + join(bracketed(names), ", ") + (all ? "" : " and others");
}

}  // namespace

Override Override::parse(std::string_view text) {
  if (text.size() > Deck::longest_line) {
    throw Error(Exit::mistake, "--set " + excerpt(text) + " is " + std::to_string(text.size()) +
                                   " bytes long; it takes at most " + std::to_string(Deck::longest_line) + ".");
  }
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos) {
    throw Error(Exit::mistake, "--set " + excerpt(text) + " has no =" + form);
  }
  const std::string_view name = trim(text.substr(0, equals));
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0 || dot + 1 == name.size()) {
    const std::string what = dot == std::string_view::npos || dot == 0 ? "section" : "key";
    throw Error(Exit::mistake, "--set " + excerpt(text) + " names no " + what + form);
  }
  Override result{std::string(name.substr(0, dot)), std::string(name.substr(dot + 1)),
                  std::string(trim(text.substr(equals + 1)))};
  const std::string complaint = section_name_complaint(result.section);
  if (!complaint.empty()) throw Error(Exit::mistake, "--set: [" + excerpt(result.section) + "] " + complaint);
  return result;
}

Settings::Settings(Deck deck, std::vector<Override> overrides, LayerNames layers)
    : deck_(std::move(deck)), overrides_(std::move(overrides)), layers_(std::move(layers)) {}

std::vector<std::string> Settings::sections() const {
  std::vector<std::string> result;
  std::set<std::string> seen;
  const auto add = [&](const std::string& name) {
    if (seen.insert(name).second) result.push_back(name);
  };
  for (const Deck::Section& section : deck_.sections) add(section.name);
  for (const Override& change : overrides_) add(change.section);
  return result;
}

std::vector<std::string> Settings::members(std::string_view family) const {
  std::vector<std::string> result;
  for (const std::string& name : sections()) {
    if (name.size() > family.size() && name.compare(0, family.size(), family) == 0 && name[family.size()] == '.') {
      result.push_back(name);
    }
  }
  return result;
}

bool Settings::has(std::string_view section) const {
  const auto names_it = [&](const Override& change) { return change.section == section; };
  return deck_.find(section) != nullptr || std::any_of(overrides_.begin(), overrides_.end(), names_it);
}

std::vector<OptionText> Settings::texts(const std::string& section) const {
  std::vector<OptionText> result;
  for (auto change = overrides_.rbegin(); change != overrides_.rend(); ++change) {
    if (change->section == section) result.push_back({change->key, change->value, Override::origin});
  }
  const Deck::Section* found = deck_.find(section);
  if (found == nullptr) return result;
  for (const Deck::Entry& entry : found->entries) {
    result.push_back({entry.key, entry.value, excerpt(deck_.path, 200) + ":" + std::to_string(entry.line),
                      std::filesystem::path(deck_.path).parent_path().string()});
  }
  return result;
}

std::string Settings::origin(const std::string& section) const {
  const Deck::Section* found = deck_.find(section);
  if (found != nullptr) return excerpt(deck_.path, 200) + ":" + std::to_string(found->line);
  return has(section) ? Override::origin : excerpt(deck_.path, 200);
}

OptionValues Settings::bind(const std::string& section, const OptionSet& options) const {
  return OptionValues::read(options, texts(section), section, origin(section), layers_);
}

OptionValues Settings::peek(const std::string& section, const OptionSet& options) const {
  std::vector<OptionText> known;
  for (OptionText& text : texts(section)) {
    if (options.find(text.key) != nullptr) known.push_back(std::move(text));
  }
  return OptionValues::read(options, known, section, origin(section), layers_);
}

void Settings::check_sections(const Schema& schema) const {
  const std::vector<std::string> families = schema.families();
  for (const std::string& section : sections()) {
    if (schema.find(section) != nullptr) continue;
    if (std::find(families.begin(), families.end(), section) != families.end()) {
      throw mistake(section, "has no name; it is [" + section + ".NAME], with a name of your own.");
    }
    throw mistake(section, "is not a known section" + suggestion(section, section_candidates(section, schema),
                                                                 known_sections(schema), "[", "]"));
  }
}

std::vector<OptionValues> Settings::bind(const Schema& schema) const {
  check_sections(schema);
  std::vector<OptionValues> result;
  for (const std::string& section : sections()) result.push_back(bind(section, *schema.find(section)));
  return result;
}

Error Settings::mistake(const std::string& section, const std::string& complaint) const {
  return {Exit::mistake, origin(section) + ": [" + excerpt(section) + "] " + complaint};
}

}  // namespace ridgeline

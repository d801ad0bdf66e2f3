#include "config/options.hpp"

#include <algorithm>
#include <stdexcept>

#include "config/text.hpp"

namespace ridgeline {
namespace {

using Type = Option::Type;

bool is_key_name(const std::string& name) {
  const auto allowed = [](char character) {
    return (character >= 'a' && character <= 'z') || (character >= '0' && character <= '9') || character == '_';
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), allowed);
}

std::vector<std::string> number_texts(const std::vector<double>& numbers) {
  std::vector<std::string> texts;
  texts.reserve(numbers.size());
  for (const double number : numbers) texts.push_back(number_text(number));
  return texts;
}

// "3 numbers", "1 or more numbers", "2 to 4 numbers", "numbers"
std::string counted(const Option& option, const std::string& one, const std::string& many) {
  const std::size_t least = option.least_entries();
  const std::size_t most = option.most_entries();
  const bool open = most == std::numeric_limits<std::size_t>::max();
  if (least == most) return std::to_string(least) + " " + (least == 1 ? one : many);
  if (open) return least == 0 ? many : std::to_string(least) + " or more " + many;
  return (least == 0 ? "up to " : std::to_string(least) + " to ") + std::to_string(most) + " " + many;
}

}  // namespace

Option::Option(Type type, std::string name, std::optional<std::string> standard, std::string summary)
    : type_(type), name_(std::move(name)), standard_(std::move(standard)), summary_(std::move(summary)) {}

Option& Option::at_least(double bound) {
  lower_ = bound;
  lower_included_ = true;
  return *this;
}

Option& Option::at_most(double bound) {
  upper_ = bound;
  upper_included_ = true;
  return *this;
}

Option& Option::above(double bound) {
  lower_ = bound;
  lower_included_ = false;
  return *this;
}

Option& Option::below(double bound) {
  upper_ = bound;
  upper_included_ = false;
  return *this;
}

Option& Option::unit(std::string unit) {
  unit_ = std::move(unit);
  return *this;
}

Option& Option::one_of(std::vector<std::string> choices) {
  choices_ = std::move(choices);
  return *this;
}

Option& Option::count(std::size_t exactly) { return count(exactly, exactly); }

Option& Option::count(std::size_t least, std::size_t most) {
  least_entries_ = least;
  most_entries_ = most;
  return *this;
}

Option& Option::trials(std::vector<std::string> values) {
  trials_ = std::move(values);
  return *this;
}

Option& Option::optional() {
  standard_.reset();
  required_ = false;
  return *this;
}

Option& Option::required() {
  standard_.reset();
  required_ = true;
  return *this;
}

bool Option::within(double number) const {
  const bool above_lower = lower_included_ ? number >= lower_ : number > lower_;
  const bool below_upper = upper_included_ ? number <= upper_ : number < upper_;
  return above_lower && below_upper;
}

std::string Option::type_text() const {
  switch (type_) {
    case Type::integer:
      return "whole number";
    case Type::real:
      return "number";
    case Type::flag:
      return "yes or no";
    case Type::text:
      if (holds_paths_) return "path";
      return choices_.empty() ? "text" : "choice";
    case Type::choice:
      return "choice";
    case Type::layer:
      return kind_ + " layer";
    case Type::reals:
      return counted(*this, "number", "numbers");
    case Type::texts:
      if (!kind_.empty()) return counted(*this, kind_ + " layer", kind_ + " layers");
      return holds_paths_ ? "paths" : counted(*this, "word", "words");
  }
  throw std::logic_error("an option of an unknown type: " + name_);
}

std::string Option::range_text() const {
  std::vector<std::string> parts;
  if (!choices_.empty()) parts.push_back(join(choices_, ", "));
  if (!choices_.empty() && type_ == Type::layer) parts.emplace_back("or a registered one");
  if (lower_ > -std::numeric_limits<double>::infinity()) {
    parts.push_back((lower_included_ ? "at least " : "above ") + number_text(lower_));
  }
  if (upper_ < std::numeric_limits<double>::infinity()) {
    parts.push_back((upper_included_ ? "at most " : "below ") + number_text(upper_));
  }
  return join(parts, ", ");
}

std::string Option::allowed_text() const {
  if (type_ == Type::flag) return "yes or no";
  if (type_ == Type::texts && !kind_.empty()) return "names of registered " + kind_ + " layers";
  if (type_ == Type::layer) {
    const std::string words = choices_.empty() ? "" : " or " + phrase(choices_, "or");
    return "the name of a registered " + kind_ + " layer" + words;
  }
  std::string what = is_list() ? type_text() : type_text() == "text" ? "text" : "a " + type_text();
  if (!choices_.empty()) return (is_list() ? what + " out of " : "one of ") + join(choices_, ", ");
  const std::string range = range_text();
  return range.empty() ? what : what + (range.compare(0, 3, "at ") == 0 ? " of " : " ") + range;
}

Option& OptionSet::add(Option option) {
  if (!is_key_name(option.name())) {
    throw std::logic_error("an option's name is made of a-z, 0-9 and _, which this one is not: " + option.name());
  }
  // A section is looked through for each of its keys.
  constexpr std::size_t most = 1000;
  if (options_.size() == most) throw std::logic_error("a section has at most " + std::to_string(most) + " options");
  if (find(option.name()) != nullptr) throw std::logic_error("an option is declared twice: " + option.name());
  options_.push_back(std::move(option));
  return options_.back();
}

Option& OptionSet::integer(std::string name, std::int64_t standard, std::string summary) {
  return add(Option(Type::integer, std::move(name), number_text(standard), std::move(summary)));
}

Option& OptionSet::real(std::string name, double standard, std::string summary) {
  return add(Option(Type::real, std::move(name), number_text(standard), std::move(summary)));
}

Option& OptionSet::flag(std::string name, bool standard, std::string summary) {
  return add(Option(Type::flag, std::move(name), standard ? "yes" : "no", std::move(summary)));
}

Option& OptionSet::text(std::string name, std::string standard, std::string summary) {
  return add(Option(Type::text, std::move(name), std::move(standard), std::move(summary)));
}

Option& OptionSet::choice(std::string name, std::string standard, std::vector<std::string> choices,
                          std::string summary) {
  Option option(Type::choice, std::move(name), std::move(standard), std::move(summary));
  option.one_of(std::move(choices));
  return add(std::move(option));
}

Option& OptionSet::reals(std::string name, const std::vector<double>& standard, std::string summary) {
  return add(Option(Type::reals, std::move(name), join(number_texts(standard), " "), std::move(summary)));
}

Option& OptionSet::texts(std::string name, const std::vector<std::string>& standard, std::string summary) {
  return add(Option(Type::texts, std::move(name), join(standard, " "), std::move(summary)));
}

Option& OptionSet::path(std::string name, std::string summary) {
  Option& option = text(std::move(name), "", std::move(summary));
  option.holds_paths_ = true;
  return option;
}

Option& OptionSet::paths(std::string name, std::string summary) {
  Option& option = texts(std::move(name), {}, std::move(summary));
  option.holds_paths_ = true;
  return option;
}

Option& OptionSet::layer(std::string name, std::string kind, std::string standard, std::string summary) {
  Option option(Type::layer, std::move(name), std::move(standard), std::move(summary));
  option.kind_ = std::move(kind);
  return add(std::move(option));
}

Option& OptionSet::layers(std::string name, std::string kind, const std::vector<std::string>& standard,
                          std::string summary) {
  Option& option = texts(std::move(name), standard, std::move(summary));
  option.kind_ = std::move(kind);
  return option.count(1, std::numeric_limits<std::size_t>::max());
}

OptionSet& OptionSet::include(const OptionSet& other) {
  const std::deque<Option> options = other.options_;  // a copy, as `other` may be this set
  for (const Option& option : options) add(option);
  return *this;
}

OptionSet OptionSet::with_defaults(const OptionValues& values) const {
  std::map<std::string, std::string> texts;
  for (const auto& [name, text] : values.resolved()) texts[name] = text;
  OptionSet result = *this;
  for (Option& option : result.options_) {
    const auto text = texts.find(option.name());
    if (text == texts.end()) continue;
    option.standard_ = text->second;
    option.required_ = false;
  }
  return result;
}

const Option* OptionSet::find(std::string_view name) const {
  for (const Option& option : options_) {
    if (option.name() == name) return &option;
  }
  return nullptr;
}

std::vector<std::string> OptionSet::names() const {
  std::vector<std::string> result;
  for (const Option& option : options_) result.push_back(option.name());
  return result;
}

}  // namespace ridgeline

#include <algorithm>
#include <boost/any.hpp>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/value_semantic.hpp>
#include <boost/program_options/variables_map.hpp>
#include <filesystem>
#include <initializer_list>
#include <memory>
#include <stdexcept>

#include "config/options.hpp"
#include "config/text.hpp"

// The values of options. Boost.Program_options holds types, defaults and values: each declaration becomes a typed
// value of an options_description, each text goes through po::store into a variables_map. The types below are ours,
// so that a number is read as the deck's grammar says (Boost's own would take "0x10", "inf" or "on").

namespace po = boost::program_options;

namespace ridgeline {
namespace {

struct Whole {
  std::int64_t value = 0;
};
struct Real {
  double value = 0;
};
struct Flag {
  bool value = false;
};
struct Text {
  std::string value;
};
struct Reals {
  std::vector<double> value;
};
struct Texts {
  std::vector<std::string> value;
};

// Why a text is no value of a type, as the middle of a sentence: "is not a number".
class Refusal : public po::error {
 public:
  using po::error::error;
};

void validate(boost::any& result, const std::vector<std::string>& words, Whole*, int) {
  Whole whole;
  switch (read_number(words.at(0), whole.value)) {
    case NumberError::none:
      result = whole;
      return;
    case NumberError::malformed:
      throw Refusal("is not a whole number");
    case NumberError::out_of_range:
      throw Refusal("is more than 64 bits can hold");
  }
}

// Names that other programs read as numbers.
bool is_not_finite(const std::string& word) {
  const std::string unsigned_word = word.substr(word.find_first_not_of("+-") == 1 ? 1 : 0);
  const auto names = {"nan", "inf", "infinity", "NaN", "NAN", "Inf", "INF", "Infinity"};
  return std::any_of(names.begin(), names.end(), [&](const char* name) { return unsigned_word == name; });
}

double read_real(const std::string& word, const std::string& before) {
  double number = 0;
  switch (read_number(word, number)) {
    case NumberError::none:
      break;
    case NumberError::malformed:
      throw Refusal(before + (is_not_finite(word) ? "is not finite" : "is not a number"));
    case NumberError::out_of_range:
      throw Refusal(before + "is beyond what double precision can hold");
  }
  return number;
}

void validate(boost::any& result, const std::vector<std::string>& words, Real*, int) {
  result = Real{read_real(words.at(0), "")};
}

void validate(boost::any& result, const std::vector<std::string>& words, Flag*, int) {
  if (words.at(0) != "yes" && words.at(0) != "no") throw Refusal("is neither yes nor no");
  result = Flag{words.at(0) == "yes"};
}

void validate(boost::any& result, const std::vector<std::string>& words, Text*, int) { result = Text{words.at(0)}; }

void validate(boost::any& result, const std::vector<std::string>& words, Reals*, int) {
  Reals reals;
  for (const std::string& word : words) {
    reals.value.push_back(read_real(word, "holds " + excerpt(word) + ", which "));
  }
  result = reals;
}

void validate(boost::any& result, const std::vector<std::string>& words, Texts*, int) { result = Texts{words}; }

// What Boost parses a value from: the words of a list, the whole text of anything else.
std::vector<std::string> words_of(const Option& option, const std::string& text) {
  return option.is_list() ? split_words(text) : std::vector<std::string>{text};
}

template <class Value>
po::value_semantic* typed(const Option& option) {
  std::unique_ptr<po::typed_value<Value>> value(po::value<Value>());
  if (option.is_list()) value->multitoken();
  if (option.standard()) {
    boost::any standard;
    validate(standard, words_of(option, *option.standard()), static_cast<Value*>(nullptr), 0);
    value->default_value(boost::any_cast<Value>(standard), *option.standard());
  }
  return value.release();
}

po::value_semantic* typed_value(const Option& option) {
  switch (option.type()) {
    case Option::Type::integer:
      return typed<Whole>(option);
    case Option::Type::real:
      return typed<Real>(option);
    case Option::Type::flag:
      return typed<Flag>(option);
    case Option::Type::text:
    case Option::Type::choice:
    case Option::Type::layer:
      return typed<Text>(option);
    case Option::Type::reals:
      return typed<Reals>(option);
    case Option::Type::texts:
      return typed<Texts>(option);
  }
  throw std::logic_error("an option of an unknown type: " + option.name());
}

// The description that Boost stores against; a declaration whose default is not of its type is a programming mistake.
po::options_description describe(const OptionSet& options) {
  po::options_description description;
  for (const Option& option : options.options()) {
    try {
      description.add_options()(option.name().c_str(), typed_value(option), option.summary().c_str());
    } catch (const Refusal& refusal) {
      throw std::logic_error("the default of option " + option.name() + " " + refusal.what() + ": " +
                             option.standard().value_or(""));
    }
  }
  return description;
}

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

// The ends of sentences about a value that has the right type but is not allowed; empty when it is.

std::string range_complaint(const Option& option, double number) {
  return option.within(number) ? "" : "is out of range; it takes " + option.allowed_text() + ".";
}

std::string choice_complaint(const Option& option, const std::string& word) {
  if (option.choices().empty() || contains(option.choices(), word)) return "";
  return "is none of " + join(option.choices(), ", ") + suggestion(word, option.choices());
}

std::string layer_complaint(const Option& option, const std::string& word, const LayerNames& layers) {
  if (!layers || contains(option.choices(), word)) return "";
  std::vector<std::string> known = layers(option.kind());
  if (contains(known, word)) return "";
  known.insert(known.end(), option.choices().begin(), option.choices().end());
  const std::string otherwise = known.empty() ? "there is none" : "known are " + join(known, ", ");
  return "is not a known " + option.kind() + " layer" + suggestion(word, known, otherwise);
}

std::string count_complaint(const Option& option, std::size_t entries) {
  if (entries >= option.least_entries() && entries <= option.most_entries()) return "";
  const std::string given = entries == 1 ? "1 entry" : std::to_string(entries) + " entries";
  return "has " + given + "; it takes " + option.allowed_text() + ".";
}

std::string entry_complaint(const std::string& entry, const std::string& complaint) {
  return complaint.empty() ? "" : "holds " + excerpt(entry) + ", which " + complaint;
}

std::string complaint(const Option& option, const Reals& list) {
  std::string result = count_complaint(option, list.value.size());
  for (std::size_t i = 0; i < list.value.size() && result.empty(); ++i) {
    result = entry_complaint(number_text(list.value[i]), range_complaint(option, list.value[i]));
  }
  return result;
}

std::string complaint(const Option& option, const Texts& list, const LayerNames& layers) {
  if (!option.kind().empty() && list.value.size() == 1) return layer_complaint(option, list.value[0], layers);
  std::string result = count_complaint(option, list.value.size());
  for (std::size_t i = 0; i < list.value.size() && result.empty(); ++i) {
    const std::string& word = list.value[i];
    const bool is_layer = !option.kind().empty();
    result = entry_complaint(word, is_layer ? layer_complaint(option, word, layers) : choice_complaint(option, word));
  }
  return result;
}

std::string complaint(const Option& option, const po::variable_value& value, const LayerNames& layers) {
  switch (option.type()) {
    case Option::Type::integer: {
      const std::int64_t number = value.as<Whole>().value;
      const std::string range = range_complaint(option, static_cast<double>(number));
      return range.empty() ? choice_complaint(option, number_text(number)) : range;
    }
    case Option::Type::real: {
      const double number = value.as<Real>().value;
      const std::string range = range_complaint(option, number);
      return range.empty() ? choice_complaint(option, number_text(number)) : range;
    }
    case Option::Type::flag:
      return "";
    case Option::Type::text:
    case Option::Type::choice:
      return choice_complaint(option, value.as<Text>().value);
    case Option::Type::layer:
      return layer_complaint(option, value.as<Text>().value, layers);
    case Option::Type::reals:
      return complaint(option, value.as<Reals>());
    case Option::Type::texts:
      return complaint(option, value.as<Texts>(), layers);
  }
  throw std::logic_error("an option of an unknown type: " + option.name());
}

// Characters that a deck cannot hold, which a value from code or `--set` might: empty when there are none.
std::string character_complaint(const std::string& text) {
  if (find_invalid_utf8(text) != std::string::npos) return "is not valid UTF-8; a value is text.";
  for (const char character : text) {
    if (character == '#') return "holds a #; a value holds none, as it begins a comment.";
    const auto byte = static_cast<unsigned char>(character);
    if ((byte < 0x20 && byte != '\t') || byte == 0x7f) {
      return "holds a control character; a value is one line of text.";
    }
  }
  return "";
}

std::string in_text(const Option& option, const po::variable_value& value) {
  switch (option.type()) {
    case Option::Type::integer:
      return number_text(value.as<Whole>().value);
    case Option::Type::real:
      return number_text(value.as<Real>().value);
    case Option::Type::flag:
      return value.as<Flag>().value ? "yes" : "no";
    case Option::Type::text:
    case Option::Type::choice:
    case Option::Type::layer:
      return value.as<Text>().value;
    case Option::Type::reals: {
      std::vector<std::string> words;
      words.reserve(value.as<Reals>().value.size());
      for (const double number : value.as<Reals>().value) words.push_back(number_text(number));
      return join(words, " ");
    }
    case Option::Type::texts:
      return join(value.as<Texts>().value, " ");
  }
  throw std::logic_error("an option of an unknown type: " + option.name());
}

// "inputs/sine.ini:14: [model] "
std::string place(const std::string& origin, const std::string& section) {
  return (origin.empty() ? "" : origin + ": ") + (section.empty() ? "" : "[" + excerpt(section) + "] ");
}

Error unknown_key(const OptionSet& options, const OptionText& text, const std::string& section) {
  constexpr std::size_t most_named = 12;
  std::vector<std::string> names = options.names();
  std::string otherwise = "there are none in this section";
  if (!names.empty()) {
    std::vector<std::string> first = names;
    if (first.size() > most_named) first.resize(most_named);
    otherwise = "known are " + join(first, ", ") + (names.size() > most_named ? " and others" : "");
  }
  return {Exit::mistake, place(text.origin, section) + excerpt(text.key) + " is not a known key" +
                             suggestion(text.key, names, otherwise)};
}

Error refused(const OptionText& text, const std::string& section, const std::string& why) {
  return {Exit::mistake, place(text.origin, section) + text.key + " = " + excerpt(text.value) + " " + why};
}

}  // namespace

struct OptionValues::Storage {
  OptionSet options;
  std::string section;
  std::string origin;                       // of values that are defaults
  std::map<std::string, OptionText> given;  // by key
  po::variables_map values;

  void store(const po::options_description& description, const OptionText& text, const LayerNames& layers);
  void store_defaults(const po::options_description& description);
  void check_layers(const LayerNames& layers) const;
  const po::variable_value& get(const std::string& name, std::initializer_list<Option::Type> types) const;
};

void OptionValues::Storage::store(const po::options_description& description, const OptionText& text,
                                  const LayerNames& layers) {
  const Option* option = options.find(text.key);
  if (option == nullptr) throw unknown_key(options, text, section);
  if (!given.emplace(text.key, text).second) return;
  const std::string value(trim(text.value));
  const std::string allowed = "; it takes " + option->allowed_text() + ".";
  if (value.empty() && (!option->is_list() || option->least_entries() > 0)) {
    throw Error(Exit::mistake, place(text.origin, section) + text.key + " has no value" + allowed);
  }
  const std::string characters = character_complaint(value);
  if (!characters.empty()) throw refused(text, section, characters);

  po::parsed_options parsed(&description);
  parsed.options.emplace_back(text.key, words_of(*option, value));
  if (option->holds_paths())
    for (std::string& path : parsed.options.back().value) {
      path = std::filesystem::absolute(std::filesystem::path(text.folder) / path).lexically_normal().string();
      const std::string of_path = character_complaint(path);  // the folder's name may have what the text has not
      if (!of_path.empty()) throw refused(text, section, "is in full " + excerpt(path, 200) + ", which " + of_path);
    }
  try {
    po::store(parsed, values);
  } catch (const Refusal& refusal) {
    throw refused(text, section, refusal.what() + allowed);
  }
  const std::string why = complaint(*option, values[text.key], layers);
  if (!why.empty()) throw refused(text, section, why);
}

// Once more with nothing new: po::store adds what was not given.
void OptionValues::Storage::store_defaults(const po::options_description& description) {
  po::store(po::parsed_options(&description), values);
  po::notify(values);
  for (const Option& option : options.options()) {
    if (given.count(option.name()) > 0) continue;
    if (!option.standard()) continue;
    // Which layers there are is the user's installation's business; a default text may be empty, for "none".
    if (option.type() == Option::Type::text && option.standard()->empty()) continue;
    const std::string why = complaint(option, values[option.name()], {});
    if (!why.empty()) throw std::logic_error("the default of option " + option.name() + " " + why);
  }
}

/// Defaults that name layers which are not there: a plugin's may be another plugin's.
void OptionValues::Storage::check_layers(const LayerNames& layers) const {
  for (const Option& option : options.options()) {
    if (option.kind().empty() || !option.standard() || given.count(option.name()) > 0) continue;
    const std::string why = complaint(option, values[option.name()], layers);
    if (!why.empty()) throw refused({option.name(), *option.standard(), origin}, section, "(the default) " + why);
  }
}

OptionValues::OptionValues() : OptionValues(std::make_shared<Storage>()) {}

OptionValues::OptionValues(std::shared_ptr<const Storage> storage) : storage_(std::move(storage)) {}

OptionValues OptionValues::defaults(const OptionSet& options) {
  auto storage = std::make_shared<Storage>();
  storage->options = options;
  storage->store_defaults(describe(options));
  return OptionValues(storage);
}

OptionValues OptionValues::from(const OptionSet& options, const std::map<std::string, std::string>& texts,
                                const std::string& section, const LayerNames& layers) {
  std::vector<OptionText> list;
  list.reserve(texts.size());
  for (const auto& [key, value] : texts) list.push_back({key, value, ""});
  return read(options, list, section, "", layers);
}

OptionValues OptionValues::read(const OptionSet& options, const std::vector<OptionText>& texts,
                                const std::string& section, const std::string& origin, const LayerNames& layers) {
  auto storage = std::make_shared<Storage>();
  storage->options = options;
  storage->section = section;
  storage->origin = origin;
  const po::options_description description = describe(options);
  for (const OptionText& text : texts) storage->store(description, text, layers);
  for (const Option& option : options.options()) {
    if (!option.is_required() || storage->given.count(option.name()) > 0) continue;
    throw Error(Exit::mistake,
                place(origin, section) + option.name() + " must be given; it takes " + option.allowed_text() + ".");
  }
  storage->store_defaults(description);
  storage->check_layers(layers);
  return OptionValues(storage);
}

const po::variable_value& OptionValues::Storage::get(const std::string& name,
                                                     std::initializer_list<Option::Type> types) const {
  const Option* option = options.find(name);
  if (option == nullptr) throw std::logic_error("an option is read that was not declared: " + name);
  if (types.size() > 0) {
    const bool fits = std::find(types.begin(), types.end(), option->type()) != types.end();
    if (!fits) throw std::logic_error("option " + name + " is read as another type than " + option->type_text());
  }
  const auto value = values.find(name);
  if (value == values.end()) throw std::logic_error("an optional option is read that has no value: " + name);
  return value->second;
}

std::int64_t OptionValues::integer(const std::string& name) const {
  return storage_->get(name, {Option::Type::integer}).as<Whole>().value;
}

double OptionValues::real(const std::string& name) const {
  return storage_->get(name, {Option::Type::real}).as<Real>().value;
}

bool OptionValues::flag(const std::string& name) const {
  return storage_->get(name, {Option::Type::flag}).as<Flag>().value;
}

const std::string& OptionValues::text(const std::string& name) const {
  return storage_->get(name, {Option::Type::text, Option::Type::choice, Option::Type::layer}).as<Text>().value;
}

const std::vector<double>& OptionValues::reals(const std::string& name) const {
  return storage_->get(name, {Option::Type::reals}).as<Reals>().value;
}

const std::vector<std::string>& OptionValues::texts(const std::string& name) const {
  return storage_->get(name, {Option::Type::texts}).as<Texts>().value;
}

bool OptionValues::given(const std::string& name) const {
  if (storage_->options.find(name) == nullptr) {
    throw std::logic_error("an option is asked about that was not declared: " + name);
  }
  return storage_->given.count(name) > 0;
}

bool OptionValues::has(const std::string& name) const {
  if (storage_->options.find(name) == nullptr) {
    throw std::logic_error("an option is asked about that was not declared: " + name);
  }
  return storage_->values.count(name) > 0;
}

const OptionSet& OptionValues::options() const { return storage_->options; }

const std::string& OptionValues::section() const { return storage_->section; }

std::vector<std::pair<std::string, std::string>> OptionValues::resolved() const {
  std::vector<std::pair<std::string, std::string>> result;
  for (const Option& option : storage_->options.options()) {
    const auto value = storage_->values.find(option.name());
    if (value == storage_->values.end()) continue;
    std::string text = in_text(option, value->second);
    if (!text.empty() || option.is_list()) result.emplace_back(option.name(), std::move(text));
  }
  return result;
}

std::string OptionValues::origin(const std::string& name) const {
  return given(name) ? storage_->given.at(name).origin : "";
}

Error OptionValues::mistake(const std::string& name, const std::string& complaint) const {
  const auto text = storage_->given.find(name);
  if (text != storage_->given.end()) return refused(text->second, storage_->section, complaint);
  const Option* option = storage_->options.find(name);
  if (option == nullptr) throw std::logic_error("an option is complained about that was not declared: " + name);
  const auto value = storage_->values.find(name);
  const std::string shown =
      value == storage_->values.end() ? "" : " = " + excerpt(in_text(*option, value->second)) + " (the default)";
  return {Exit::mistake, place(storage_->origin, storage_->section) + name + shown + " " + complaint};
}

}  // namespace ridgeline

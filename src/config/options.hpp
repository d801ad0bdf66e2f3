#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/error.hpp"

// The keys of a deck's sections. Each is declared once, in the code that uses it; deck checking, `ridgeline describe`,
// the manual's tables and the conformance kit's trials all come from that declaration.

namespace ridgeline {

/// One key that a section may hold.
class Option {
 public:
  enum class Type { integer, real, flag, text, choice, layer, reals, texts };

  Option(Type type, std::string name, std::optional<std::string> standard, std::string summary);

  // What the declaration may add; each returns the option itself, so that they chain.

  /// Bounds on a number, or on every entry of a list of numbers; `above` and `below` leave out the bound itself.
  Option& at_least(double bound);
  Option& at_most(double bound);
  Option& above(double bound);
  Option& below(double bound);
  /// The unit a number is in, for the reader of the manual.
  Option& unit(std::string unit);
  /// The only values allowed (of every entry, for a list); for a layer, words allowed besides the registered names.
  Option& one_of(std::vector<std::string> choices);
  /// How many entries a list has; without this any number, none included.
  Option& count(std::size_t exactly);
  Option& count(std::size_t least, std::size_t most);
  /// Values, as in a deck, that the conformance kit tries one at a time besides the default.
  Option& trials(std::vector<std::string> values);
  /// No default: the key may be absent, which OptionValues::has tells.
  Option& optional();
  /// No default: the key must be given.
  Option& required();

  Type type() const { return type_; }
  const std::string& name() const { return name_; }
  const std::string& summary() const { return summary_; }
  /// The default as text, as it would stand in a deck; none when the option is optional or required.
  const std::optional<std::string>& standard() const { return standard_; }
  const std::string& unit() const { return unit_; }
  const std::vector<std::string>& choices() const { return choices_; }
  const std::vector<std::string>& trials() const { return trials_; }
  /// The kind of layer that an option names, or that every word of its list does ("attention"); empty for others.
  const std::string& kind() const { return kind_; }
  bool is_required() const { return required_; }
  bool is_list() const { return type_ == Type::reals || type_ == Type::texts; }
  /// Whether its text or its words are paths, which become absolute when they are read.
  bool holds_paths() const { return holds_paths_; }
  std::size_t least_entries() const { return least_entries_; }
  std::size_t most_entries() const { return most_entries_; }

  /// "whole number", "number", "yes or no", "text", "path", "choice", "attention layer", "3 numbers", "words".
  std::string type_text() const;
  /// The range or choices in few words, for a table: "at least 1", "above 0, at most 1", "joint, per_head"; or empty.
  std::string range_text() const;
  /// What the key takes, as the end of a sentence after "it takes": "a whole number of at least 1".
  std::string allowed_text() const;

  bool within(double number) const;

 private:
  friend class OptionSet;

  Type type_;
  std::string name_;
  std::optional<std::string> standard_;
  std::string summary_;
  std::string unit_;
  std::string kind_;
  std::vector<std::string> choices_;
  std::vector<std::string> trials_;
  double lower_ = -std::numeric_limits<double>::infinity();
  double upper_ = std::numeric_limits<double>::infinity();
  bool lower_included_ = false;
  bool upper_included_ = false;
  std::size_t least_entries_ = 0;
  std::size_t most_entries_ = std::numeric_limits<std::size_t>::max();
  bool required_ = false;
  bool holds_paths_ = false;
};

class OptionValues;

/// The keys that one section may hold, in the order of their declaration. Declaring a name twice throws
/// std::logic_error, as does a name that is not made of a-z, 0-9 and _. The references returned stay valid as long as
/// the set lives.
class OptionSet {
 public:
  Option& integer(std::string name, std::int64_t standard, std::string summary);
  Option& real(std::string name, double standard, std::string summary);
  /// yes or no
  Option& flag(std::string name, bool standard, std::string summary);
  /// Any text of one line; a deck cannot give an empty one, so an empty default means "none".
  Option& text(std::string name, std::string standard, std::string summary);
  Option& choice(std::string name, std::string standard, std::vector<std::string> choices, std::string summary);
  Option& reals(std::string name, const std::vector<double>& standard, std::string summary);
  /// Words separated by white space.
  Option& texts(std::string name, const std::vector<std::string>& standard, std::string summary);
  /// A file or folder, none by default, which may have blanks in its name: a relative one begins at the deck's folder,
  /// or, from the command line, at the working folder. Its value is a text.
  Option& path(std::string name, std::string summary);
  /// Likewise several, separated by white space; their values are texts.
  Option& paths(std::string name, std::string summary);
  /// The name of a registered layer of a kind; whoever reads the values says which are registered (LayerNames).
  Option& layer(std::string name, std::string kind, std::string standard, std::string summary);
  /// Names of registered layers of a kind, separated by white space; their values are texts.
  Option& layers(std::string name, std::string kind, const std::vector<std::string>& standard, std::string summary);

  /// Adds every option of another set; a name that both hold throws std::logic_error.
  OptionSet& include(const OptionSet& other);
  /// The same options with other defaults: wherever `values` has a value under the same name, that is the default.
  /// So a test set is the data's settings with what it changes.
  OptionSet with_defaults(const OptionValues& values) const;

  /// nullptr when the name was not declared.
  const Option* find(std::string_view name) const;
  std::vector<std::string> names() const;
  const std::deque<Option>& options() const { return options_; }
  bool empty() const { return options_.empty(); }

 private:
  Option& add(Option option);

  std::deque<Option> options_;
};

/// The registered names of a kind of layer, to check layer options against and to suggest from; an empty function
/// leaves layer options unchecked.
using LayerNames = std::function<std::vector<std::string>(const std::string& kind)>;

/// A value for a key as text, and where it stands, for messages.
struct OptionText {
  std::string key;
  std::string value;
  std::string origin;       ///< "inputs/sine.ini:14", "--set"; may be empty
  std::string folder = {};  ///< where relative paths begin; empty: the working folder
};

/// What a section holds, typed and checked, defaults filled in. Cheap to copy; never changes.
///
/// Asking for a name that was not declared, as another type than declared, or for an optional value that is absent,
/// throws std::logic_error.
class OptionValues {
 public:
  /// No options at all.
  OptionValues();

  /// Every option at its default; those without one are absent.
  static OptionValues defaults(const OptionSet& options);

  /// From code: key to text as it would stand in a deck. Throws Error(Exit::mistake) with a sentence that begins with
  /// `section` where that is not empty.
  static OptionValues from(const OptionSet& options, const std::map<std::string, std::string>& texts,
                           const std::string& section = "", const LayerNames& layers = {});

  /// From a deck or command line. The first of several texts for one key counts, later ones are not looked at.
  /// `origin` stands in messages about keys that are missing. Throws Error(Exit::mistake).
  static OptionValues read(const OptionSet& options, const std::vector<OptionText>& texts, const std::string& section,
                           const std::string& origin, const LayerNames& layers = {});

  std::int64_t integer(const std::string& name) const;
  double real(const std::string& name) const;
  bool flag(const std::string& name) const;
  /// Also of a choice and of a layer.
  const std::string& text(const std::string& name) const;
  const std::vector<double>& reals(const std::string& name) const;
  const std::vector<std::string>& texts(const std::string& name) const;

  /// Whether the user set it, rather than a default.
  bool given(const std::string& name) const;
  /// Where the user set it, as OptionText has it; empty where that is a default.
  std::string origin(const std::string& name) const;
  /// Whether there is a value, given or by default.
  bool has(const std::string& name) const;

  /// The options that these are values of.
  const OptionSet& options() const;
  /// The section's name, as given when the values were read.
  const std::string& section() const;

  /// Name and value of every option that has one, in declaration order, as text that reads back to exactly the same
  /// value. Empty texts are left out, as a deck cannot say them.
  std::vector<std::pair<std::string, std::string>> resolved() const;

  /// A mistake in one value that only the code which uses it can see: "inputs/sine.ini:9: [data] x = 6 -6 0.1 " and
  /// then `complaint`, which ends the sentence: "has its last before its first; it takes first, past the last, step."
  Error mistake(const std::string& name, const std::string& complaint) const;

 private:
  struct Storage;
  explicit OptionValues(std::shared_ptr<const Storage> storage);

  std::shared_ptr<const Storage> storage_;
};

}  // namespace ridgeline

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/deck.hpp"
#include "config/options.hpp"

// What the user set: a deck joined with `--set`, bound to the options that each section declares.

namespace ridgeline {

/// One `--set section.key=value`. In `eval.ood_x.x` the last dot separates the key.
struct Override {
  static constexpr const char* origin = "--set";  ///< in messages

  std::string section;
  std::string key;
  std::string value;

  /// Throws Error(Exit::mistake) when `text` has not this form.
  static Override parse(std::string_view text);
};

/// Which sections there may be and what each may hold: what a deck is checked against.
class Schema {
 public:
  virtual ~Schema() = default;

  /// The options of a section, nullptr where there is no such section. A member of a family is found by its full name.
  virtual const OptionSet* find(const std::string& section) const = 0;
  /// Full names of the sections there are, to suggest from ("model", "attention.functional").
  virtual std::vector<std::string> sections() const = 0;
  /// Families whose members the user names ("eval" for every [eval.NAME]), to suggest from.
  virtual std::vector<std::string> families() const { return {}; }
};

/// A deck and what `--set` changes in it. Overrides beat the deck, a later one an earlier one, and may name sections
/// that the deck has not.
///
/// What some sections hold depends on keys of others (the data's options on its task), so sections are bound one by
/// one, in any order: peek at the key that decides, then bind, and at the end check that no section is left over.
class Settings {
 public:
  explicit Settings(Deck deck, std::vector<Override> overrides = {}, LayerNames layers = {});

  const std::string& path() const { return deck_.path; }
  /// Every section that the deck or an override names, the deck's first, in order.
  std::vector<std::string> sections() const;
  /// The members of a family, by full name, in order: all "eval.NAME" for "eval".
  std::vector<std::string> members(std::string_view family) const;
  bool has(std::string_view section) const;

  /// The values of a section's keys, those that `options` does not know being refused, defaults filled in. A section
  /// that is absent has its defaults. Throws Error(Exit::mistake).
  OptionValues bind(const std::string& section, const OptionSet& options) const;

  /// The same, but other keys may be there too and are not looked at: for the key that decides what a section holds.
  OptionValues peek(const std::string& section, const OptionSet& options) const;

  /// Throws Error(Exit::mistake) for the first section that the schema does not have.
  void check_sections(const Schema& schema) const;

  /// Binds every section that the deck or an override names, in order. Throws Error(Exit::mistake).
  std::vector<OptionValues> bind(const Schema& schema) const;

  /// An error about a whole section: "inputs/sine.ini:9: [eval.id] " and then `complaint`, which ends the sentence.
  Error mistake(const std::string& section, const std::string& complaint) const;

 private:
  std::vector<OptionText> texts(const std::string& section) const;
  std::string origin(const std::string& section) const;

  Deck deck_;
  std::vector<Override> overrides_;
  LayerNames layers_;
};

}  // namespace ridgeline

#pragma once

#include <cstddef>
#include <iosfwd>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/options.hpp"

// The input deck: read line by line to raw text (Deck), joined with `--set` (Settings), bound to the options that each
// section declares (OptionValues), and written back.

namespace ridgeline {

/// A deck as it is written: sections, keys and values as text with their lines, nothing known about their meaning.
struct Deck {
  struct Entry {
    std::string key;
    std::string value;  ///< may be empty
    std::size_t line;   ///< counted from 1
  };
  struct Section {
    std::string name;  ///< "model", "eval.id", "attention.functional"
    std::size_t line;  ///< of its [header]
    std::vector<Entry> entries;
  };

  /// Longest line and largest deck, in bytes.
  static constexpr std::size_t longest_line = 65536;
  static constexpr std::size_t largest_size = std::size_t{16} << 20;

  std::string path;               ///< as the user named it, for messages
  std::vector<Section> sections;  ///< in the deck's order

  /// Reads a file. Throws Error: Exit::mistake when there is no such file, it is a folder, or its text is no deck;
  /// Exit::file when it cannot be read.
  static Deck read(const std::string& path);

  /// Reads a deck's text; `path` is for messages only. Throws Error(Exit::mistake).
  static Deck parse(std::string_view text, const std::string& path);

  /// nullptr when the deck does not hold it.
  const Section* find(std::string_view section) const;
};

/// One `--set section.key=value`. In `eval.ood_x.x` the last dot separates the key.
struct Override {
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
  explicit Settings(Deck deck, const std::vector<Override>& overrides = {}, LayerNames layers = {});

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

/// Writes sections, each under the name that its values carry, as a deck that reads back to exactly the same values.
/// Throws Error(Exit::mistake) when a value has characters that a deck cannot hold.
void write_deck(std::ostream& stream, const std::vector<OptionValues>& sections);

}  // namespace ridgeline

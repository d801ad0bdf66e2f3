#pragma once

#include <cstddef>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "config/options.hpp"

// The input deck as a file: read line by line to sections, keys and values as text, and written back. What the text
// means is told by settings.hpp.

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

  /// Reads a file. Throws Error: Exit::mistake when there is no such file, it is a folder, pipe or device, or its text
  /// is no deck;
  /// Exit::file when it cannot be read.
  static Deck read(const std::string& path);

  /// Reads a deck's text; `path` is for messages only. Throws Error(Exit::mistake).
  static Deck parse(std::string_view text, const std::string& path);

  /// nullptr when the deck does not hold it.
  const Section* find(std::string_view section) const;
};

/// What is wrong with a section's name, as the end of a sentence; empty when it is right: letters, digits, _ and -,
/// with at most one dot between two of its parts.
std::string section_name_complaint(std::string_view name);

/// Writes sections, each under the name that its values carry, as a deck that reads back to exactly the same values.
/// Throws Error(Exit::mistake) when a value has characters that a deck cannot hold.
void write_deck(std::ostream& stream, const std::vector<OptionValues>& sections);

}  // namespace ridgeline

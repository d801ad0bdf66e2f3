#include "config/deck.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <ostream>
#include <stdexcept>
#include <system_error>
#include <unordered_map>

#include "config/text.hpp"

namespace ridgeline {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

Error mistake_in(const std::string& path, const std::string& complaint) {
  return {Exit::mistake, excerpt(path, 200) + ": " + complaint};
}

bool is_blank(char character) { return character == ' ' || character == '\t'; }

std::string hexadecimal(char character) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(character);
  return std::string("0x") + digits[byte >> 4] + digits[byte & 15];
}

// Goes through a deck's text once and builds its sections.
class Parser {
 public:
  Parser(std::string_view text, const std::string& path) : text_(text) { deck_.path = path; }

  Deck parse() {
    if (text_.substr(0, byte_order_mark.size()) == byte_order_mark) text_.remove_prefix(byte_order_mark.size());
    while (!text_.empty()) {
      const std::size_t end = text_.find('\n');
      ++number_;
      read_line(text_.substr(0, end));
      text_.remove_prefix(end == std::string_view::npos ? text_.size() : end + 1);
    }
    if (deck_.sections.empty()) throw mistake_in(deck_.path, "the deck has no [section].");
    return std::move(deck_);
  }

 private:
  Error mistake(const std::string& complaint) const {
    return mistake_in(excerpt(deck_.path, 200) + ":" + std::to_string(number_), complaint);
  }

  void read_line(std::string_view line) {
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    check_bytes(line);
    const std::string_view content = trim(without_comment(line));
    if (content.empty()) return;
    if (content.front() == '[') {
      read_header(content);
    } else {
      read_entry(content);
    }
  }

  void check_bytes(std::string_view line) const {
    if (line.size() > Deck::longest_line) {
      throw mistake("the line is " + std::to_string(line.size()) + " bytes long; a deck's line is at most " +
                    std::to_string(Deck::longest_line) + ".");
    }
    const auto is_control = [](char character) {
      const auto byte = static_cast<unsigned char>(character);
      return (byte < 0x20 && byte != '\t') || byte == 0x7f;
    };
    const auto control = std::find_if(line.begin(), line.end(), is_control);
    const std::size_t at = std::min(static_cast<std::size_t>(control - line.begin()), find_invalid_utf8(line));
    if (at < line.size()) {
      throw mistake("byte " + std::to_string(at + 1) + " of the line is " + hexadecimal(line[at]) +
                    "; a deck is text in UTF-8 without control characters.");
    }
  }

  std::string_view without_comment(std::string_view line) const {
    const std::size_t at = line.find('#');
    if (at == std::string_view::npos) return line;
    if (at > 0 && !is_blank(line[at - 1])) {
      throw mistake("a # stands without white space before it in " + excerpt(trim(line)) +
                    "; a value holds no #, and a comment begins a line or follows white space.");
    }
    return line.substr(0, at);
  }

  void read_header(std::string_view content) {
    const std::size_t end = content.find(']');
    if (end != content.size() - 1) {
      const std::string what = end == std::string_view::npos ? "has no closing ]" : "has something after its ]";
      throw mistake("the section header " + excerpt(content) + " " + what + "; it is [section] or [section.name].");
    }
    const std::string name(trim(content.substr(1, end - 1)));
    const std::string complaint = section_name_complaint(name);
    if (!complaint.empty()) throw mistake("[" + excerpt(name) + "] " + complaint);
    const auto [first, added] = section_lines_.emplace(name, number_);
    if (!added) {
      throw mistake("[" + excerpt(name) + "] appears twice; the first is on line " + std::to_string(first->second) +
                    ".");
    }
    deck_.sections.push_back({name, number_, {}});
    key_lines_.clear();
  }

  void read_entry(std::string_view content) {
    const std::size_t equals = content.find('=');
    if (equals == std::string_view::npos) {
      throw mistake(excerpt(content) + " is neither a [section] nor a key = value nor a # comment.");
    }
    const std::string key(trim(content.substr(0, equals)));
    if (key.empty()) throw mistake(excerpt(content) + " has no key before its =; a line is key = value.");
    if (deck_.sections.empty()) {
      throw mistake(excerpt(key) + " stands before any section; a deck begins with a [section].");
    }
    const auto [first, added] = key_lines_.emplace(key, number_);
    if (!added) {
      throw mistake("[" + excerpt(deck_.sections.back().name) + "] " + excerpt(key) +
                    " is given twice; the first is on line " + std::to_string(first->second) + ".");
    }
    deck_.sections.back().entries.push_back({key, std::string(trim(content.substr(equals + 1))), number_});
  }

  std::string_view text_;
  std::size_t number_ = 0;
  Deck deck_;
  std::unordered_map<std::string, std::size_t> section_lines_;
  std::unordered_map<std::string, std::size_t> key_lines_;
};

Error unreadable(const std::string& path, const std::string& why) {
  return {Exit::file, excerpt(path, 200) + ": the deck cannot be read; " + why + "."};
}

std::string reason(int error) { return std::generic_category().message(error); }

// Values that come from code may hold what a deck cannot (a #, a line's end): reading the text again finds whatever it
// is.
void check_written(const std::string& text, const std::vector<Deck::Section>& written) {
  const Deck deck = Deck::parse(text, "the resolved deck");
  for (std::size_t i = 0; i < written.size(); ++i) {
    for (std::size_t j = 0; j < written[i].entries.size(); ++j) {
      const Deck::Entry& entry = written[i].entries[j];
      const bool is_there = i < deck.sections.size() && j < deck.sections[i].entries.size();
      if (is_there && deck.sections[i].entries[j].value == entry.value) continue;
      throw Error(Exit::mistake, "[" + written[i].name + "] " + entry.key + " = " + excerpt(entry.value) +
                                     " cannot be written to a deck; a value is one line of text without # and outer "
                                     "white space.");
    }
  }
}

}  // namespace

Deck Deck::read(const std::string& path) {
  if (path.empty()) throw Error(Exit::mistake, "the deck's name is empty; a deck is a file.");
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0) {
    if (errno == ENOENT || errno == ENOTDIR) throw mistake_in(path, "there is no such deck.");
    if (errno == ENAMETOOLONG) throw mistake_in(path, "there is no such deck; no file has so long a name.");
    if (errno == ELOOP) throw mistake_in(path, "there is no such deck; its symbolic links lead in a circle.");
    throw unreadable(path, reason(errno));
  }
  if (S_ISDIR(status.st_mode)) throw mistake_in(path, "this is a folder; a deck is a file.");
  // A pipe waits for whoever writes to it, a device may have no end.
  if (!S_ISREG(status.st_mode)) throw mistake_in(path, "this is a pipe or a device; a deck is a file on disk.");

  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  if (!file) throw unreadable(path, reason(errno));
  // As much as a deck may hold and no more: a file may grow while it is read.
  std::string text;
  char buffer[65536];
  while (text.size() <= largest_size) {
    const std::size_t count = std::fread(buffer, 1, sizeof buffer, file.get());
    if (count == 0) break;
    text.append(buffer, count);
  }
  if (std::ferror(file.get()) != 0) throw unreadable(path, reason(errno));
  if (text.size() > largest_size) {
    throw mistake_in(path, "the file is larger than " + std::to_string(largest_size >> 20) +
                               " MiB, which is the most that a deck may hold.");
  }
  return parse(text, path);
}

Deck Deck::parse(std::string_view text, const std::string& path) { return Parser(text, path).parse(); }

const Deck::Section* Deck::find(std::string_view section) const {
  for (const Section& candidate : sections) {
    if (candidate.name == section) return &candidate;
  }
  return nullptr;
}

std::string section_name_complaint(std::string_view name) {
  const auto is_allowed = [](char character) {
    return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
           (character >= '0' && character <= '9') || character == '_' || character == '-' || character == '.';
  };
  const auto dots = std::count(name.begin(), name.end(), '.');
  const bool right = !name.empty() && std::all_of(name.begin(), name.end(), is_allowed) && dots <= 1 &&
                     name.front() != '.' && name.back() != '.';
  return right ? ""
               : "is no name of a section; it is made of letters, digits, _ and -, in two parts joined by a dot "
                 "or in one.";
}

void write_deck(std::ostream& stream, const std::vector<OptionValues>& sections) {
  std::string text;
  std::vector<Deck::Section> written;
  for (const OptionValues& values : sections) {
    if (values.section().empty()) throw std::logic_error("a section is to be written that has no name");
    Deck::Section section{values.section(), 0, {}};
    text.append(text.empty() ? "[" : "\n[").append(section.name).append("]\n");
    for (const auto& [key, value] : values.resolved()) {
      text.append(key).append(value.empty() ? " =" : " = ").append(value).append("\n");
      section.entries.push_back({key, value, 0});
    }
    written.push_back(std::move(section));
  }
  if (!written.empty()) check_written(text, written);
  stream << text;
}

}  // namespace ridgeline

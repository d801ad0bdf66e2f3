#include "config/describe.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "config/text.hpp"

namespace ridgeline {
namespace {

// What a row says of an option: key, type, default, allowed, unit, summary.
constexpr std::size_t columns = 6;
using Row = std::array<std::string, columns>;

const Row headings = {"key", "type", "default", "allowed", "unit", "meaning"};

std::string default_text(const Option& option) {
  if (option.is_required()) return "required";
  if (!option.standard() || option.standard()->empty()) return "none";
  return *option.standard();
}

std::vector<Row> rows_of(const OptionSet& options) {
  std::vector<Row> rows;
  for (const Option& option : options.options()) {
    rows.push_back({option.name(), option.type_text(), default_text(option), option.range_text(), option.unit(),
                    option.summary()});
  }
  return rows;
}

// Text of at most `width` characters a line, broken between words.
std::vector<std::string> wrapped(const std::string& text, std::size_t width) {
  std::vector<std::string> lines(1);
  for (const std::string& word : split_words(text)) {
    std::string& line = lines.back();
    if (!line.empty() && character_count(line) + 1 + character_count(word) > width) {
      lines.push_back(word);
    } else {
      line += (line.empty() ? "" : " ") + word;
    }
  }
  return lines;
}

std::string padded(const std::string& text, std::size_t width) {
  return text + std::string(width - std::min(width, character_count(text)), ' ');
}

// The row as lines, the last column wrapped beneath its own start. Columns of width 0 are left out.
std::string aligned(const Row& row, const std::array<std::size_t, columns>& widths, std::size_t width) {
  std::string start;
  std::size_t indent = 0;
  for (std::size_t column = 0; column + 1 < columns; ++column) {
    if (widths[column] == 0) continue;
    start += padded(row[column], widths[column]) + "  ";
    indent += widths[column] + 2;
  }
  constexpr std::size_t narrowest = 24;
  std::string result;
  for (const std::string& line : wrapped(row.back(), width > indent + narrowest ? width - indent : narrowest)) {
    std::string whole = (result.empty() ? start : std::string(indent, ' ')) + line;
    whole.erase(whole.find_last_not_of(' ') + 1);
    result += whole + "\n";
  }
  return result;
}

// A cell of a Markdown table, where a bar would end it.
std::string cell(const std::string& text) {
  std::string result;
  for (const char character : text) {
    if (character == '|') result += '\\';
    result += character;
  }
  return result;
}

std::string code(const std::string& text) { return text.empty() ? "" : "`" + cell(text) + "`"; }

// The choices as code, a range as words.
std::string allowed_cell(const Option& option) {
  if (option.choices().empty()) return cell(option.range_text());
  std::vector<std::string> words;
  for (const std::string& choice : option.choices()) words.push_back(code(choice));
  return join(words, ", ") + (option.type() == Option::Type::layer ? ", or a registered one" : "");
}

// The section that a line `<!-- options: SECTION -->` names; empty for any other line.
std::string marked_section(std::string_view line) {
  constexpr std::string_view before = "<!-- options:";
  constexpr std::string_view after = "-->";
  line = trim(line);
  if (line.size() < before.size() + after.size() || line.substr(0, before.size()) != before ||
      line.substr(line.size() - after.size()) != after) {
    return "";
  }
  return std::string(trim(line.substr(before.size(), line.size() - before.size() - after.size())));
}

bool is_end(std::string_view line) { return trim(line) == "<!-- end -->"; }

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1);
    lines.push_back(text.substr(0, end + 1));
    text.remove_prefix(end + 1);
  }
  return lines;
}

}  // namespace

std::string describe_options(const OptionSet& options, std::size_t width) {
  if (options.empty()) return "no options\n";
  const std::vector<Row> rows = rows_of(options);
  std::array<std::size_t, columns> widths = {};
  for (std::size_t column = 0; column < columns; ++column) {
    for (const Row& row : rows) widths[column] = std::max(widths[column], character_count(row[column]));
    // A column that no option fills has no heading either.
    if (widths[column] > 0) widths[column] = std::max(widths[column], character_count(headings[column]));
  }
  std::string result = aligned(headings, widths, width);
  for (const Row& row : rows) result += aligned(row, widths, width);
  return result;
}

std::string markdown_table(const OptionSet& options) {
  if (options.empty()) return "No options.\n";
  std::string result = "| " + join(std::vector<std::string>(headings.begin(), headings.end()), " | ") + " |\n";
  for (std::size_t column = 0; column < columns; ++column) result += "| --- ";
  result += "|\n";
  for (const Option& option : options.options()) {
    const bool has_standard = option.standard() && !option.standard()->empty();
    const std::vector<std::string> cells = {
        code(option.name()),  cell(option.type_text()), has_standard ? code(*option.standard()) : default_text(option),
        allowed_cell(option), cell(option.unit()),      cell(option.summary())};
    result += "| " + join(cells, " | ") + " |\n";
  }
  return result;
}

std::string fill_tables(const std::string& markdown, const SectionOptions& options_of) {
  std::string result;
  std::string section;  // whose table is being replaced
  for (const std::string_view line : lines_of(markdown)) {
    const std::string marked = marked_section(line);
    if (!section.empty() && !marked.empty()) break;
    if (is_end(line)) section.clear();
    if (section.empty()) result += line;
    if (marked.empty()) continue;
    section = marked;
    result += "\n" + markdown_table(options_of(section)) + "\n";
  }
  if (!section.empty()) {
    throw Error(Exit::mistake, "the table of options marked " + excerpt(section) + " has no <!-- end --> after it.");
  }
  return result;
}

}  // namespace ridgeline

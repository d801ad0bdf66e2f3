#include "config/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <system_error>

namespace ridgeline {
namespace {

constexpr std::string_view blanks = " \t\r\n\v\f";

// Names longer than this are no misspelling of anything, and comparing them takes time that grows with the square.
constexpr std::size_t longest_name = 64;

bool is_digit(char character) { return character >= '0' && character <= '9'; }

// As two spellings that people confuse become one: capitals, and the hyphen or space in place of an underscore.
std::string folded(std::string_view name) {
  std::string result(name);
  for (char& character : result) {
    if (character >= 'A' && character <= 'Z') character = static_cast<char>(character - 'A' + 'a');
    if (character == '-' || character == ' ') character = '_';
  }
  return result;
}

// Characters to insert, drop, change or swap with their neighbour (optimal string alignment).
std::size_t edit_distance(const std::string& from, const std::string& to) {
  const std::size_t columns = to.size() + 1;
  std::vector<std::size_t> before(columns), last(columns), row(columns);
  for (std::size_t j = 0; j < columns; ++j) last[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j < columns; ++j) {
      const std::size_t changed = from[i - 1] == to[j - 1] ? 0 : 1;
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + changed});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1]) {
        row[j] = std::min(row[j], before[j - 2] + 1);
      }
    }
    std::swap(before, last);
    std::swap(last, row);
  }
  return last[to.size()];
}

// The one candidate that begins with the name: "norm" for "normalization".
std::string only_completion(const std::string& name, const std::vector<std::string>& candidates) {
  if (name.size() < 3) return "";
  std::string found;
  for (const std::string& candidate : candidates) {
    if (folded(candidate).compare(0, name.size(), name) != 0) continue;
    if (!found.empty()) return "";
    found = candidate;
  }
  return found;
}

// The length of the decimal number at the start of the text; 0 when there is none.
std::size_t decimal_length(std::string_view text) {
  std::size_t at = 0;
  std::size_t digits = 0;
  if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
  for (; at < text.size() && is_digit(text[at]); ++at) ++digits;
  if (at < text.size() && text[at] == '.') {
    for (++at; at < text.size() && is_digit(text[at]); ++at) ++digits;
  }
  if (digits == 0) return 0;
  if (at == text.size() || (text[at] != 'e' && text[at] != 'E')) return at;
  std::size_t exponent = at + 1;
  if (exponent < text.size() && (text[exponent] == '+' || text[exponent] == '-')) ++exponent;
  const std::size_t first = exponent;
  while (exponent < text.size() && is_digit(text[exponent])) ++exponent;
  return exponent > first ? exponent : 0;
}

// std::from_chars knows no plus sign.
std::string_view without_plus(std::string_view text) {
  return !text.empty() && text.front() == '+' ? text.substr(1) : text;
}

// Reads one code point; returns the bytes it takes, 0 when they are not valid UTF-8.
std::size_t decode_utf8(std::string_view text, std::uint32_t& code) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) {
    code = byte(0);
    return 1;
  }
  const std::size_t length = byte(0) >= 0xf0 ? 4 : byte(0) >= 0xe0 ? 3 : 2;
  if (byte(0) < 0xc2 || byte(0) > 0xf4 || text.size() < length) return 0;
  code = byte(0) & (0xffu >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool surrogate = code >= 0xd800 && code <= 0xdfff;
  return overlong || surrogate || code > 0x10ffff ? 0 : length;
}

// Control characters, and those that would reorder or hide the rest of a message.
bool is_printable_character(std::uint32_t code) {
  return !(code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x200b && code <= 0x200f) ||
           (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff);
}

// Appends the first character, '?' where it may not be printed; returns the bytes that it takes.
std::size_t append_printable(std::string_view text, std::string& result) {
  std::uint32_t code = 0;
  const std::size_t bytes = decode_utf8(text, code);
  if (bytes > 0 && is_printable_character(code))
    result += text.substr(0, bytes);
  else
    result += '?';
  return std::max<std::size_t>(bytes, 1);
}

}  // namespace

std::string_view trim(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  std::size_t first = text.find_first_not_of(blanks);
  while (first != std::string_view::npos) {
    const std::size_t end = std::min(text.find_first_of(blanks, first), text.size());
    words.emplace_back(text.substr(first, end - first));
    first = text.find_first_not_of(blanks, end);
  }
  return words;
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  std::string result;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result += separator;
    result += parts[i];
  }
  return result;
}

std::string phrase(const std::vector<std::string>& parts, std::string_view conjunction) {
  if (parts.size() < 2) return join(parts, "");
  const std::vector<std::string> first(parts.begin(), parts.end() - 1);
  return join(first, ", ") + " " + std::string(conjunction) + " " + parts.back();
}

std::string number_text(double number) {
  char buffer[64];
  const auto written = std::to_chars(buffer, buffer + sizeof buffer, number);
  std::string result(buffer, written.ptr);
  // 1e-04 and 1e+05 are how C writes what people write as 1e-4 and 1e5.
  const std::size_t exponent = result.find('e');
  if (exponent == std::string::npos) return result;
  const std::size_t digits = std::min(result.find_first_not_of("+-0", exponent + 1), result.size() - 1);
  const std::string sign = result[exponent + 1] == '-' ? "-" : "";
  return result.substr(0, exponent + 1) + sign + result.substr(digits);
}

std::string number_text(std::int64_t number) { return std::to_string(number); }

std::string count_text(std::int64_t count, const std::string& noun) {
  return number_text(count) + " " + noun + (count == 1 ? "" : "s");
}

double without_sign_of_nan(double number) { return std::isnan(number) ? std::abs(number) : number; }

NumberError read_number(std::string_view text, std::int64_t& number) {
  const std::size_t sign = !text.empty() && (text.front() == '+' || text.front() == '-') ? 1 : 0;
  const std::string_view digits = text.substr(sign);
  if (digits.empty() || !std::all_of(digits.begin(), digits.end(), is_digit)) return NumberError::malformed;
  const std::string_view body = without_plus(text);
  std::int64_t result = 0;
  const auto read = std::from_chars(body.data(), body.data() + body.size(), result);
  if (read.ec != std::errc()) return NumberError::out_of_range;
  number = result;
  return NumberError::none;
}

NumberError read_number(std::string_view text, double& number) {
  if (text.empty() || decimal_length(text) != text.size()) return NumberError::malformed;
  const std::string_view body = without_plus(text);
  double result = 0;
  const auto read = std::from_chars(body.data(), body.data() + body.size(), result);
  if (read.ec == std::errc::result_out_of_range || !std::isfinite(result)) return NumberError::out_of_range;
  if (read.ec != std::errc() || read.ptr != body.data() + body.size()) return NumberError::malformed;
  number = result;
  return NumberError::none;
}

std::string nearest(std::string_view name, const std::vector<std::string>& candidates) {
  if (name.empty() || name.size() > longest_name) return "";
  const std::string wanted = folded(name);
  // A third of the characters may differ; a single letter resembles nothing but itself.
  std::size_t allowed = wanted.size() == 1 ? 0 : std::max<std::size_t>(1, wanted.size() / 3);
  std::string found;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > longest_name) continue;
    const std::size_t distance = edit_distance(wanted, folded(candidate));
    if (distance > allowed || (distance == allowed && !found.empty())) continue;
    allowed = distance;
    found = candidate;
  }
  return found.empty() ? only_completion(wanted, candidates) : found;
}

std::string suggestion(std::string_view name, const std::vector<std::string>& candidates, std::string_view otherwise,
                       std::string_view before, std::string_view after) {
  const std::string near = nearest(name, candidates);
  if (!near.empty()) return "; did you mean " + std::string(before) + near + std::string(after) + "?";
  return otherwise.empty() ? "." : "; " + std::string(otherwise) + ".";
}

std::string excerpt(std::string_view text, std::size_t length) {
  std::string result;
  std::size_t characters = 0;
  for (std::size_t at = 0; at < text.size(); ++characters) {
    if (characters == length) return result + "…";
    at += append_printable(text.substr(at), result);
  }
  return result;
}

std::string printable(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '\n')
      at += append_printable(text.substr(at), result);
    else
      result += text[at++];
  }
  return result;
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    std::uint32_t code = 0;
    const std::size_t bytes = decode_utf8(text.substr(at), code);
    if (bytes == 0) return at;
    at += bytes;
  }
  return std::string_view::npos;
}

std::size_t character_count(std::string_view text) {
  const auto is_first = [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; };
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), is_first));
}

}  // namespace ridgeline

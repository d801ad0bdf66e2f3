#include "io/json.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>

#include "config/text.hpp"

namespace ridgeline {

namespace {

/// Each byte that is none becomes the character for that.
std::string valid_utf8(std::string_view text) {
  std::string result;
  for (std::size_t bad = find_invalid_utf8(text); bad != std::string_view::npos; bad = find_invalid_utf8(text)) {
    result.append(text.substr(0, bad)).append("\xef\xbf\xbd");
    text.remove_prefix(bad + 1);
  }
  return result.append(text);
}

}  // namespace

std::string json_text(const std::string& text) {
  std::string result = "\"";
  for (const char letter : valid_utf8(text)) {
    if (letter == '"' || letter == '\\') {
      result += '\\';
      result += letter;
    } else if (static_cast<unsigned char>(letter) < 0x20) {
      result += fmt::format("\\u{:04x}", static_cast<int>(letter));
    } else {
      result += letter;
    }
  }
  return result + "\"";
}

std::string json_number(double value) { return std::isfinite(value) ? fmt::format("{}", value) : "null"; }

}  // namespace ridgeline

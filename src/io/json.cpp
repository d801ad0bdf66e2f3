#include "io/json.hpp"

#include <fmt/format.h>

#include <cmath>

namespace ridgeline {

std::string json_text(const std::string& text) {
  std::string result = "\"";
  for (const char letter : text) {
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

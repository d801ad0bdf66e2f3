// Texts and numbers as JSON writes them.
#pragma once

#include <string>

namespace ridgeline {

/// In quotation marks; what JSON cannot hold as it is, escaped.
std::string json_text(const std::string& text);

/// The shortest decimal that reads back to the same bits; null for what is not finite, as JSON has no word for it.
std::string json_number(double value);

}  // namespace ridgeline

#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// Text as decks, command lines and messages need it: numbers that read back to the same value, names that are nearly
// right, and excerpts that are safe to print.

namespace ridgeline {

/// Without the blanks (space, tab, carriage return, line feed, vertical tab, form feed) at either end.
std::string_view trim(std::string_view text);

/// The words of a text, separated by any number of blanks.
std::vector<std::string> split_words(std::string_view text);

/// The parts of a text with `separator` between each two.
std::string join(const std::vector<std::string>& parts, std::string_view separator);

/// The parts as a phrase: "a", "a or b", "a, b or c" with `conjunction` = "or".
std::string phrase(const std::vector<std::string>& parts, std::string_view conjunction);

/// The shortest decimal that reads back to exactly the same number: 0.1, 1e-4, -6, 128.
std::string number_text(double number);
std::string number_text(std::int64_t number);

/// So many of something: "1 thread", "2 threads".
std::string count_text(std::int64_t count, const std::string& noun);

/// The number as it is to be printed: the sign of a NaN means nothing, and would show as "-nan".
double without_sign_of_nan(double number);

/// What reading a number can end in.
enum class NumberError {
  none,
  malformed,     ///< not a number of this type from its first to its last character
  out_of_range,  ///< a number, but more (or, for reals, closer to zero) than the type can hold
};

/// Reads a whole number (optional sign, digits, nothing else) into `number`, which is left alone on failure.
NumberError read_number(std::string_view text, std::int64_t& number);

/// Reads a finite decimal number (optional sign, digits, point, exponent, nothing else: no nan, inf or hexadecimal)
/// into `number`, which is left alone on failure.
NumberError read_number(std::string_view text, double& number);

/// The candidate that a misspelt name most likely stands for: the one with the fewest inserted, dropped, changed or
/// swapped characters, capitals and `-` for `_` forgiven; empty when none is near.
std::string nearest(std::string_view name, const std::vector<std::string>& candidates);

/// "; did you mean NAME?" for the candidate nearest to `name`, with `before` and `after` around it, otherwise
/// "; OTHERWISE.": the end of a sentence about an unknown name. With nothing near and `otherwise` empty: ".".
std::string suggestion(std::string_view name, const std::vector<std::string>& candidates,
                       std::string_view otherwise = {}, std::string_view before = {}, std::string_view after = {});

/// The text as it may be printed in a message: one line, valid UTF-8, no control characters (each stands as '?'), cut
/// with an ellipsis after `length` characters.
std::string excerpt(std::string_view text, std::size_t length = 60);

/// Text of any length as it may be printed: as excerpt, but uncut and with its line breaks.
std::string printable(std::string_view text);

/// Where the first byte of `text` stands that is no part of valid UTF-8 (overlong forms and surrogates are not valid);
/// std::string_view::npos when all of it is valid.
std::size_t find_invalid_utf8(std::string_view text);

/// The number of characters (code points) of valid UTF-8.
std::size_t character_count(std::string_view text);

}  // namespace ridgeline

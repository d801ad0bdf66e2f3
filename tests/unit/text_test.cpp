#include "config/text.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace ridgeline {
namespace {

using Words = std::vector<std::string>;

TEST(Text, TrimsBothEnds) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \t "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Text, CountsAsOneSpeaks) {
  EXPECT_EQ(count_text(1, "thread"), "1 thread");
  EXPECT_EQ(count_text(0, "thread"), "0 threads");
  EXPECT_EQ(count_text(21, "thread"), "21 threads");
}

TEST(Text, NoNumberIsWithoutASign) {
  for (const double sign : {1.0, -1.0})
    EXPECT_FALSE(std::signbit(without_sign_of_nan(std::copysign(std::nan(""), sign))));
  EXPECT_EQ(without_sign_of_nan(-2.5), -2.5);
  EXPECT_EQ(without_sign_of_nan(-HUGE_VAL), -HUGE_VAL);
}

TEST(Text, SplitsAtAnyBlanks) {
  EXPECT_EQ(split_words(" -6\t6   0.1 "), (Words{"-6", "6", "0.1"}));
  EXPECT_EQ(split_words("one"), Words{"one"});
  EXPECT_TRUE(split_words(" \t").empty());
}

TEST(Text, JoinsIntoPhrases) {
  EXPECT_EQ(phrase({}, "or"), "");
  EXPECT_EQ(phrase({"a"}, "or"), "a");
  EXPECT_EQ(phrase({"a", "b"}, "or"), "a or b");
  EXPECT_EQ(phrase({"a", "b", "c"}, "or"), "a, b or c");
}

TEST(Text, WritesNumbersShort) {
  EXPECT_EQ(number_text(1e-4), "1e-4");
  EXPECT_EQ(number_text(0.1), "0.1");
  EXPECT_EQ(number_text(-6.0), "-6");
  EXPECT_EQ(number_text(128.0), "128");
  EXPECT_EQ(number_text(1e6), "1e6");
  EXPECT_EQ(number_text(1e300), "1e300");
  EXPECT_EQ(number_text(1e-10), "1e-10");
  EXPECT_EQ(number_text(0.0), "0");
  EXPECT_EQ(number_text(std::numeric_limits<std::int64_t>::min()), "-9223372036854775808");
}

TEST(Text, NumbersReadBackToTheSameBits) {
  const double cases[] = {3.141592653589793,
                          1.0 / 3.0,
                          -0.0,
                          5e-324,
                          std::numeric_limits<double>::max(),
                          std::numeric_limits<double>::min(),
                          std::nextafter(0.1, 1.0),
                          123456789012345678.0};
  for (const double number : cases) {
    double read = 1;
    ASSERT_EQ(read_number(number_text(number), read), NumberError::none) << number_text(number);
    EXPECT_EQ(read, number);
    EXPECT_EQ(std::signbit(read), std::signbit(number));
  }
}

TEST(Text, ReadsWholeNumbers) {
  std::int64_t number = 7;
  EXPECT_EQ(read_number("-12", number), NumberError::none);
  EXPECT_EQ(number, -12);
  EXPECT_EQ(read_number("+8", number), NumberError::none);
  EXPECT_EQ(number, 8);
  EXPECT_EQ(read_number("9223372036854775807", number), NumberError::none);
  EXPECT_EQ(number, std::numeric_limits<std::int64_t>::max());
}

TEST(Text, RefusesWhatIsNoWholeNumber) {
  std::int64_t number = 7;
  for (const char* text : {"", "+", "-", "+-1", "8x", "8.0", "1e3", "0x10", " 8", "8 ", "8 9", "nan", "--1"}) {
    EXPECT_EQ(read_number(text, number), NumberError::malformed) << text;
  }
  EXPECT_EQ(read_number("9223372036854775808", number), NumberError::out_of_range);
  EXPECT_EQ(read_number("-9223372036854775809", number), NumberError::out_of_range);
  EXPECT_EQ(number, 7);
}

TEST(Text, ReadsReals) {
  double number = 0;
  for (const char* text : {"1e-4", "+0.0001", ".0001", "1.E-4", "0.1e-3"}) {
    EXPECT_EQ(read_number(text, number), NumberError::none) << text;
    EXPECT_EQ(number, 1e-4) << text;
  }
}

TEST(Text, RefusesWhatIsNoReal) {
  double number = 7;
  for (const char* text : {"", ".", "-", "e4", "1e", "1e+", "8x", "1e-4 3", "nan", "inf", "-inf", "0x1p3", "1,5", "+-1",
                           "1.2.3", "infinity", "1d4", "1f"}) {
    EXPECT_EQ(read_number(text, number), NumberError::malformed) << text;
  }
  EXPECT_EQ(read_number("1e400", number), NumberError::out_of_range);
  EXPECT_EQ(read_number("-1e400", number), NumberError::out_of_range);
  EXPECT_EQ(read_number("1e-400", number), NumberError::out_of_range);
  EXPECT_EQ(number, 7);
}

TEST(Text, FindsTheNearestName) {
  const Words keys = {"width", "blocks", "residual", "encoder", "attention", "ffn", "normalization"};
  EXPECT_EQ(nearest("widht", keys), "width");
  EXPECT_EQ(nearest("Width", keys), "width");
  EXPECT_EQ(nearest("block", keys), "blocks");
  EXPECT_EQ(nearest("ffm", keys), "ffn");
  EXPECT_EQ(nearest("atention", keys), "attention");
  EXPECT_EQ(nearest("norm", keys), "normalization");
  EXPECT_EQ(nearest("learning-rate", {"learning_rate", "learning_rates"}), "learning_rate");
}

TEST(Text, FindsNothingWhereNothingIsNear) {
  const Words keys = {"width", "blocks", "x"};
  EXPECT_EQ(nearest("temperature", keys), "");
  EXPECT_EQ(nearest("", keys), "");
  EXPECT_EQ(nearest("y", keys), "");
  EXPECT_EQ(nearest("width", {}), "");
  EXPECT_EQ(nearest(std::string(1000000, 'w'), keys), "");
}

TEST(Text, PrefersTheFirstOfEquallyNearNames) { EXPECT_EQ(nearest("ab_", {"abc", "abd"}), "abc"); }

TEST(Text, EndsASentenceWithASuggestion) {
  EXPECT_EQ(suggestion("widht", {"width"}), "; did you mean width?");
  EXPECT_EQ(suggestion("widht", {"width"}, "known is width", "[", "]"), "; did you mean [width]?");
  EXPECT_EQ(suggestion("zzzz", {"width"}, "known is width"), "; known is width.");
  EXPECT_EQ(suggestion("zzzz", {"width"}), ".");
}

TEST(Text, ExcerptsAreShortAndPrintable) {
  EXPECT_EQ(excerpt("plain"), "plain");
  EXPECT_EQ(excerpt("größe"), "größe");
  EXPECT_EQ(excerpt(std::string(60, 'a')), std::string(60, 'a'));
  EXPECT_EQ(excerpt(std::string(61, 'a')), std::string(60, 'a') + "…");
  EXPECT_EQ(excerpt("äöü", 2), "äö…");
  EXPECT_EQ(excerpt("a\nb\x1b[31m\x7f"), "a?b?[31m?");
  EXPECT_EQ(excerpt("\xff\xfe"
                    "a\xc3"),
            "??a?");
  EXPECT_EQ(excerpt("a\u202eb\u0085"), "a?b?");
}

TEST(Text, PrintableKeepsLinesAndLength) {
  const std::string long_text(1000, 'a');
  EXPECT_EQ(printable("größe\n" + long_text), "größe\n" + long_text);
  EXPECT_EQ(printable("a\033[31m\tb\r\n\xc2\x9b\xff\xe2\x80\xaez"), "a?[31m?b?\n???z");
  EXPECT_EQ(printable(""), "");
}

TEST(Text, FindsInvalidUtf8) {
  constexpr std::size_t none = std::string_view::npos;
  EXPECT_EQ(find_invalid_utf8("größe € 𝛷"), none);
  EXPECT_EQ(find_invalid_utf8(""), none);
  EXPECT_EQ(find_invalid_utf8("ab\xff"), 2U);
  EXPECT_EQ(find_invalid_utf8("\xc0\xaf"), 0U);          // overlong
  EXPECT_EQ(find_invalid_utf8("\xe0\x80\xaf"), 0U);      // overlong
  EXPECT_EQ(find_invalid_utf8("\xf0\x80\x80\xaf"), 0U);  // overlong
  EXPECT_EQ(find_invalid_utf8("a\xed\xa0\x80"), 1U);     // a surrogate
  EXPECT_EQ(find_invalid_utf8("\xf4\x90\x80\x80"), 0U);  // past the last code point
  EXPECT_EQ(find_invalid_utf8("a\xe2\x82"), 1U);         // cut short
  EXPECT_EQ(find_invalid_utf8("\x80"), 0U);
}

TEST(Text, CountsCharacters) {
  EXPECT_EQ(character_count("größe"), 5U);
  EXPECT_EQ(character_count(""), 0U);
}

}  // namespace
}  // namespace ridgeline

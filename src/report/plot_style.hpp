// What all pictures share: colours, the look of axes, labels that fit.

#pragma once

#include <array>
#include <cstddef>
#include <string>

namespace ridgeline::report {

// Okabe and Ito's palette, which colour-blind readers tell apart.
inline constexpr const char* black = "#000000";
inline constexpr const char* orange = "#E69F00";
inline constexpr const char* sky_blue = "#56B4E9";
inline constexpr const char* green = "#009E73";
inline constexpr const char* blue = "#0072B2";
inline constexpr const char* vermillion = "#D55E00";
inline constexpr const char* purple = "#CC79A7";
inline constexpr const char* grey = "#7F7F7F";
inline constexpr std::array<const char*, 6> set_colours{blue, vermillion, green, orange, purple, sky_blue};

/// What every picture's script begins with.
std::string common_style();

/// The label shortened to `longest` characters: its middle dropped, for names often differ at either end.
std::string fitting(const std::string& label, std::size_t longest = 34);

/// The text with a typographic minus in place of a hyphen.
std::string minus_sign(const std::string& number);

bool can_be_logarithmic(double value);

/// Range and tics of a logarithmic axis, "x" or "y". gnuplot's own label whole decades only, and a short axis may hold
/// none.
std::string logarithmic_tics(const char* axis, double low, double high);

}  // namespace ridgeline::report

#pragma once

#include <functional>
#include <string>

#include "config/options.hpp"

// What a section's options are, for people: on the terminal and in the manual.

namespace ridgeline {

/// One option a row, in aligned columns of plain text: key, type, default, allowed, unit, summary. Summaries wrap at
/// `width` characters. Ends with a newline; says so in a line when there are no options.
std::string describe_options(const OptionSet& options, std::size_t width = 100);

/// The same as a Markdown table with a row an option.
std::string markdown_table(const OptionSet& options);

/// The options of a section by its name.
using SectionOptions = std::function<OptionSet(const std::string& section)>;

/// The Markdown with everything between each line `<!-- options: SECTION -->` and the next line `<!-- end -->` replaced
/// by the table of that section's options. Throws Error(Exit::mistake) for a marker without its end.
std::string fill_tables(const std::string& markdown, const SectionOptions& options_of);

}  // namespace ridgeline

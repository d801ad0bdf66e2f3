// gnuplot as a program: found, fed, and its complaints read.

#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace ridgeline::report {

/// The first executable of this name in the folders of PATH.
std::optional<std::filesystem::path> find_program(const std::string& name);

/// The text to show as a string of gnuplot's language, quotes included: nothing in it is expanded or run. Apostrophes
/// become typographic ones (gnuplot cannot read a string that begins with its own quote), control characters spaces.
std::string gnuplot_string(std::string_view text);

/// Runs a script with `folder` as working folder, where its data lies, where its output goes, and where the script and
/// gnuplot's complaints are left. Returns nothing where all went well, else what gnuplot said, in one line. No setting
/// of the user's takes part, and no shell. Throws Error(Exit::file) when the folder cannot be written.
std::optional<std::string> run_gnuplot(const std::filesystem::path& gnuplot, const std::string& script,
                                       const std::filesystem::path& folder);

}  // namespace ridgeline::report

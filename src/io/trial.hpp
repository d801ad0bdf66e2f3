// What may crash or never end, tried by a child process first.
#pragma once

#include <filesystem>
#include <functional>

namespace ridgeline {

/// Lets a child process do `what` with a file. Throws Error(Exit::file) where a signal ended the child, or where it was
/// still at work after so many seconds and was ended. Exceptions in the child are not looked at: whoever does the same
/// again meets them. Where there can be no child, nothing is tried.
void try_apart(const std::filesystem::path& file, double seconds, const std::function<void()>& what);

}  // namespace ridgeline

// What is done with one file.
#pragma once

#include <string>

#include "case.hpp"

namespace ridgeline::reference {

struct Verdict {
  enum class Status { passed, failed, skipped };
  Status status;
  std::string text;  ///< errors, or why
};

/// Builds what the file's attributes name, runs it in double and in single, and compares. Throws Skipped, Failed, and
/// Error where the file's options are not allowed.
Verdict check(const Case& reference);

}  // namespace ridgeline::reference

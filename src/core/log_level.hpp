// How grave a line of log.txt is.
#pragma once

namespace ridgeline {

/// A log of one level holds the lines of this level and those after it: debug also what every step did, warn only what
/// needs a look.
enum class LogLevel { debug, info, warn };

}  // namespace ridgeline

#pragma once

#include <stdexcept>
#include <string>

namespace ridgeline {

/// How the program ends, as its exit status.
enum class Exit {
  done = 0,           ///< everything asked for was done
  nonconforming = 1,  ///< the conformance kit found a layer wrong
  mistake = 2,        ///< a mistake in the command or the deck
  numerical = 3,      ///< a numerical failure: a loss that is not finite, a solve that broke down
  file = 4,           ///< a file could not be read or written
  stopped = 75,       ///< stopped by a signal after writing a checkpoint; `--resume` continues
};

/// What went wrong, for the user: exactly one sentence that says where, what was given and what is allowed, and the
/// exit status that the program ends with. Programming mistakes are std::logic_error instead.
class Error : public std::runtime_error {
 public:
  Error(Exit status, const std::string& sentence) : std::runtime_error(sentence), status_(status) {}

  Exit status() const noexcept { return status_; }

 private:
  Exit status_;
};

/// An error's sentence as the part of a longer one: without its full stop.
inline std::string clause(std::string sentence) {
  if (!sentence.empty() && sentence.back() == '.') sentence.pop_back();
  return sentence;
}

}  // namespace ridgeline

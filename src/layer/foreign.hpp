// What stands between the program and the code of a plugin: whatever that throws names it, and whatever ends the program
// while it runs can.
#pragma once

#include <cstddef>
#include <string>

#include "core/error.hpp"
#include "layer/layer.hpp"

namespace ridgeline {

/// The reason in what is being thrown, as the end of a sentence without its full stop: one line of at most `length`
/// characters. To be called in a handler.
std::string thrown_reason(std::size_t length);

/// Throws std::range_error where what a layer states as its operations is no count: less than nothing, or not finite.
void check_counts(const Operations& operations);

/// While one lives, code of a plugin runs. They nest; only the main thread makes them.
class ForeignCode {
 public:
  /// Under a title for messages, "ffn/swiglu of the plugin build/swiglu.so", which must outlive it.
  explicit ForeignCode(const std::string& title);
  ~ForeignCode();
  ForeignCode(const ForeignCode&) = delete;
  ForeignCode& operator=(const ForeignCode&) = delete;

  /// The innermost title; null where none of a plugin runs.
  static const std::string* running();

 private:
  const std::string* former_;
};

/// Calls code of a plugin. Whatever it throws becomes an Error of this status, "TITLE FAILING: the reason.": it cannot
/// pose as the program's own, as a stop by a signal say.
template <class Call>
void guarded(const std::string& title, const char* failing, Exit status, const Call& call) {
  const ForeignCode code(title);
  try {
    call();
  } catch (...) {
    throw Error(status, title + " " + failing + ": " + thrown_reason(400) + ".");
  }
}

}  // namespace ridgeline

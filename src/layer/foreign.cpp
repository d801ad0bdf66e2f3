#include "layer/foreign.hpp"

#include <cmath>
#include <exception>
#include <new>
#include <stdexcept>
#include <utility>

#include "config/text.hpp"

namespace ridgeline {
namespace {

/// Nothing to destroy: whoever looks may do so at the very end of the program.
const std::string* running_title = nullptr;

}  // namespace

std::string thrown_reason(std::size_t length) {
  std::string reason = "it threw something that is no std::exception";
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    reason = "it asked for more memory than there is";
  } catch (const std::exception& error) {
    reason = error.what();
  } catch (...) {
  }
  const std::size_t last = reason.find_last_not_of(". \t\r\n");
  reason.erase(last == std::string::npos ? 0 : last + 1);
  return reason.empty() ? "it gave no reason" : excerpt(reason, length);
}

void check_counts(const Operations& operations) {
  const std::pair<const char*, double> counts[] = {{"forward", operations.forward},
                                                   {"backward", operations.backward},
                                                   {"own_forward", operations.own_forward},
                                                   {"own_backward", operations.own_backward}};
  for (const auto& [name, count] : counts)
    if (!(std::isfinite(count) && count >= 0))
      throw std::range_error(std::string("it declares ") + name + " = " + number_text(count) + ", which is no count");
}

ForeignCode::ForeignCode(const std::string& title) : former_(running_title) { running_title = &title; }

ForeignCode::~ForeignCode() { running_title = former_; }

const std::string* ForeignCode::running() { return running_title; }

}  // namespace ridgeline

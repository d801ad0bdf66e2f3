// Holding a layer against the conformance kit, in a test.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <ostream>

#include "conform/conformance.hpp"

namespace ridgeline::conform {

// For messages; GoogleTest looks them up by this name.
// NOLINTBEGIN(readability-identifier-naming)
inline void PrintTo(const LayerName& layer, std::ostream* out) {
  *out << layer.kind << "/" << layer.name << (layer.options.empty() ? "" : " ") << options_text(layer);
}
inline void PrintTo(const Case& tried, std::ostream* out) {
  const auto& [shape, inputs, outputs] = tried.sizes;
  PrintTo(tried.layer, out);
  *out << fmt::format(", {} samples of {} tokens, {} to {} channels", shape.batch, shape.tokens, inputs, outputs);
}
// NOLINTEND(readability-identifier-naming)

}  // namespace ridgeline::conform

namespace ridgeline::support {

#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
constexpr bool as_delivered = true;
#else
constexpr bool as_delivered = false;
#endif

/// Every check passes, no value of an option is refused, and it takes under 10 seconds.
inline void expect_conforming(const conform::LayerName& layer) {
  const std::clock_t start = std::clock();
  const conform::Conformance conformance = conform::examine(layer);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_TRUE(conformance.conforms()) << conform::report(conformance, {});
  EXPECT_TRUE(conformance.refused.empty()) << conform::report(conformance, {});
  // Of one thread the time of the processor is that of the clock, whatever else runs.
  const bool measured = as_delivered && Execution().concurrency() == 1;
  EXPECT_TRUE(!measured || seconds < 10) << seconds;
}

}  // namespace ridgeline::support

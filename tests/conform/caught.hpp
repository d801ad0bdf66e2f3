// What the tests of flawed layers share.
#pragma once

#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "conform/conformance.hpp"

namespace ridgeline::conform {

/// A flaw, the check that must find it, and what that must say.
template <class Flaw>
struct Expectation {
  Flaw flaw;
  const char* name;
  const char* check;
  const char* says;
};

template <class Flaw>
// NOLINTNEXTLINE(readability-identifier-naming): GoogleTest looks it up by this name
void PrintTo(const Expectation<Flaw>& expectation, std::ostream* out) {
  *out << expectation.name;
}

/// The layer in the registry, where it may be already: a test may run again.
inline LayerName added_once(const LayerEntry& entry) {
  Registry& registry = Registry::instance();
  if (registry.find(entry.kind, entry.name) == nullptr) registry.add(entry);
  return {entry.kind, entry.name};
}

/// The check must be among those that fail, and say what is wrong, with what, and how to see it again.
inline void expect_caught(const LayerName& layer, const std::string& check, const std::string& part_of_text) {
  const Conformance conformance = examine(layer);
  const std::string text = report(conformance, {});
  EXPECT_FALSE(conformance.conforms());
  for (const Outcome& outcome : conformance.outcomes) {
    if (outcome.check->name != check) continue;
    EXPECT_EQ(outcome.finding.result, Finding::Result::failed) << text;
    EXPECT_NE(outcome.finding.text.find(part_of_text), std::string::npos) << outcome.finding.text;
    EXPECT_TRUE(outcome.tried.has_value());
    EXPECT_NE(text.find("\n" + check + " FAILED\n  " + outcome.finding.text + "\n  with "), std::string::npos) << text;
    EXPECT_NE(text.find("\n  ridgeline conform " + layer.kind + "/" + layer.name), std::string::npos) << text;
    return;
  }
  ADD_FAILURE() << "there is no check " << check;
}

}  // namespace ridgeline::conform

// What the tests of flawed layers share.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "conform/conformance.hpp"

namespace ridgeline::conform {

/// The names of the checks that fail, one after another; that of the one that the test is about must be among them, and
/// say what is wrong, with what, and how to see it again.
inline void expect_caught(const LayerName& layer, const std::string& check, const std::string& part_of_text) {
  const Conformance conformance = examine(layer);
  const std::string text = report(conformance, {"flawed.so"});
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

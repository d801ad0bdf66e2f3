// What is said of a mistake.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"

namespace ridgeline::support {

/// The sentence of the Error(Exit::mistake) that a call throws; "none" where it throws no Error.
template <class Call>
std::string mistake_of(const Call& call) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake) << error.what();
    return error.what();
  }
  return "none";
}

}  // namespace ridgeline::support

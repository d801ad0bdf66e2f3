// The layers of plugins/ as the tests here try them; the plugins are loaded before the first test.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "conform/cases.hpp"
#include "support/conforming.hpp"
#include "support/subject.hpp"

namespace ridgeline::support {

/// One token, one sample, odd and prime sizes, none square, heads of one channel, more slices than tokens, more tokens
/// than a chunk of rows.
extern const std::vector<Case> every_case;

/// "attention_physics_slices_5_2x7", as GoogleTest wants it.
std::string case_name(const ::testing::TestParamInfo<Case>& info);

}  // namespace ridgeline::support

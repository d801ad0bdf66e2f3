// The layers of plugins/ as the tests here try them.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/subject.hpp"

namespace ridgeline::support {

/// A layer with options, and the sizes of a call.
struct Case {
  LayerName layer;
  Shape shape;
  int inputs;
  int outputs;
};

/// One token, one sample, odd and prime sizes, none square, heads of one channel, more slices than tokens, more tokens
/// than a chunk of rows.
extern const std::vector<Case> every_case;

/// "attention_physics_slices_5_2x7", as GoogleTest wants it.
std::string case_name(const ::testing::TestParamInfo<Case>& info);

/// For messages; GoogleTest looks it up by this name.
void PrintTo(const Case& one, std::ostream* out);  // NOLINT(readability-identifier-naming)

/// The layer, with room for the case's shape and for `others`, and random parameters.
template <class Scalar>
std::unique_ptr<Subject<Scalar>> prepared(const Case& one, const std::vector<Shape>& others = {});

/// max |a - b| / max |b|, or the difference itself where b is 0.
double relative_error(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace ridgeline::support

// What the layer tests try: every registered layer, with its options varied one at a time.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "support/subject.hpp"

namespace ridgeline::support {

/// Kinds whose layers map tokens to tokens.
inline const std::vector<std::string> token_layer_kinds = {"encoder", "attention", "ffn"};

/// Every registered layer, with its standard options.
std::vector<LayerName> every_layer();

/// Every layer again for each value that its options' declarations say to try: trials, choices, the layers of a kind.
std::vector<LayerName> every_variation();

/// "attention_functional_heads_3", as GoogleTest wants it.
std::string test_name(const ::testing::TestParamInfo<LayerName>& info);

/// The same for messages; GoogleTest looks it up by this name.
void PrintTo(const LayerName& layer, std::ostream* out);  // NOLINT(readability-identifier-naming)

/// Sizes of a call.
struct Sizes {
  Shape shape;
  int inputs;
  int outputs;
};

/// Nothing square, one token, one sample, fewer tokens than basis functions, more basis functions than channels, more
/// tokens than a chunk of rows.
inline const std::vector<Sizes> every_size = {
    {{2, 7}, 5, 3},  {{1, 300}, 3, 2}, {{3, 1}, 5, 6},   {{5, 19}, 9, 12},
    {{1, 9}, 10, 7}, {{1, 1}, 11, 4},  {{2, 37}, 11, 5},
};

std::string text(const LayerName& layer, const Sizes& sizes);

/// A layer, prepared for a shape, with random parameters.
template <class Scalar>
std::unique_ptr<Subject<Scalar>> prepared_layer(const LayerName& layer, const Sizes& sizes, std::uint64_t seed = 1);

/// A layer without memory, for what can be asked of it before it runs: reserve and operations.
template <class Scalar>
struct BareLayer {
  BareLayer(const LayerName& name, int inputs, int outputs);

  Parameters<Scalar> parameters;
  std::unique_ptr<Layer<Scalar>> layer;
};

}  // namespace ridgeline::support

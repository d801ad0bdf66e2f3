// What the conformance kit tries: sizes, and a layer's options varied one at a time.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "conform/check.hpp"

namespace ridgeline::conform {

/// Nothing square, one token, one sample, fewer tokens than basis functions, more basis functions than channels, more
/// tokens than a chunk of rows or a tile of a product.
inline const std::vector<Sizes> every_size = {
    {{2, 7}, 5, 3},  {{1, 300}, 3, 2}, {{3, 1}, 5, 6},   {{5, 19}, 9, 12},
    {{1, 9}, 10, 7}, {{1, 1}, 11, 4},  {{2, 37}, 11, 5},
};

/// The layer again for each value that its options' declarations say to try besides the default: trials, choices, the
/// layers of a kind. Options that are given stay as they are.
std::vector<LayerName> variations(const LayerName& layer);

struct Cases {
  std::vector<Case> cases;
  std::vector<std::string> refused;  ///< which options cannot be tried at any size: the layer's own sentence
};

/// What ended the process that made it, and who is told before a layer is made.
struct Making {
  std::vector<Case> deadly = {};
  std::function<void(const Case&)> before = [](const Case&) {};
};

/// The layer as it is at every size, and its variations at some. A layer that refuses sizes is given 24 or 48 channels,
/// which heads divide, and where it refuses that too, as many out as in. With options that were deadly it is not made
/// again: that one case is listed, for the checks to fail. Throws Error(Exit::mistake) where the layer as it is cannot
/// be made at any size, or does not fit into memory.
Cases cases_of(const LayerName& layer, const Making& making = {});

/// The sizes nearest to these at which it can be tried: a position may have numbers for some lengths only, and channels
/// of its own. A layer has no such bounds.
Sizes fitting(const LayerName& layer, const Sizes& sizes);

/// "3 samples of 19 tokens, 9 to 5 channels", for an activation "a matrix of 57 by 9", for a position "19 tokens, 5
/// channels".
std::string text(const Case& tried);

/// "--option heads=3", …
std::string options_text(const LayerName& layer);

/// What a shell reads as this one word: in quotes where it has to be.
std::string shell_word(const std::string& text);

bool is_activation(const LayerName& layer);
bool is_position(const LayerName& layer);

}  // namespace ridgeline::conform

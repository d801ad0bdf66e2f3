// The option that the positions of tokens share.
#pragma once

#include "config/options.hpp"

namespace ridgeline {

/// Declares `channels`, for a position that gives as many as it is asked for.
inline void declare_channels(OptionSet& options) {
  options.integer("channels", 0, "channels of a token, where they are concatenated; 0: the width")
      .at_least(0)
      .at_most(1 << 20)
      .trials({"1", "6"});
}

}  // namespace ridgeline

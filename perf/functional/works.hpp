// What is timed beside PyTorch: a training step of a deck, and an attention layer by itself, forward and backward.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/settings.hpp"

namespace ridgeline::perf {

/// Takes an array by its name; row-major, in single precision.
using WriteArray =
    std::function<void(const std::string& name, const std::vector<int>& shape, const std::vector<float>& values)>;

class Work {
 public:
  virtual ~Work() = default;

  /// Once through.
  virtual void call() = 0;

  /// Floating-point operations of a call, as the layers count them.
  virtual double operations() const = 0;

  /// Hands over what goes in and what comes out of the first call: parameters, inputs, outputs, gradients. Before any
  /// call.
  virtual void write_values(const WriteArray& write) = 0;
};

/// `step`, a training step of the deck; BxN, functional attention of width 128, 8 heads and 8 basis functions on B
/// samples of N tokens; or LAYER/BxN, another attention layer, of width 64 and 4 heads. Throws Error(Exit::mistake) for
/// another name, and for what is wrong with the deck.
std::unique_ptr<Work> make_work(const std::string& name, const std::string& deck,
                                const std::vector<Override>& overrides);

}  // namespace ridgeline::perf

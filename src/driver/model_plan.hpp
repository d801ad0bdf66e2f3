// From a deck's [model], and the sections of the layers that it names, to the plan of a model.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "config/settings.hpp"
#include "model/model.hpp"

namespace ridgeline {

/// The keys of [model], the same for every task.
OptionSet model_options();

/// What a model needs to know of the samples.
struct SampleFacts {
  int inputs = 0;          ///< channels of a token
  int targets = 0;         ///< numbers of a prediction, for a token
  int extra_channels = 0;  ///< of a token, besides: what attention may look at
  Grid grid = {};          ///< where samples are images
  std::vector<std::pair<std::string, int>> tokens =
      {};  ///< of a sample, by the name of the set; the training set first
};

/// Appends the sections that the model uses, each once, to `sections`. Throws Error(Exit::mistake) where layers, options
/// and samples do not go together.
ModelPlan plan_model(const Settings& settings, const OptionValues& model, const SampleFacts& samples,
                     std::vector<OptionValues>& sections);

/// For people: the layers, in a line.
std::string layers_text(const ModelPlan& plan);

/// The files of the plugins that a model's layers, and the layers in their options, came from.
std::vector<std::string> plugins_of(const ModelPlan& model);

}  // namespace ridgeline

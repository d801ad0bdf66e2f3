// How a run that was interrupted goes on: which deck it may go on with, and what of its history still stands.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "driver/console.hpp"
#include "driver/experiment.hpp"
#include "driver/run_directory.hpp"
#include "io/history.hpp"
#include "train/checkpoint.hpp"

namespace ridgeline {

/// What of a resolved deck another one must share.
enum class Shared {
  run,   ///< to continue a run: all but how long it is, its test sets, and when it evaluates and saves
  model  ///< to use a checkpoint's parameters: the model and its layers
};

/// The keys in which two decks differ that they should share, as "model.width (64, was 128)", in the first deck's order.
std::vector<std::string> differences(const Experiment& now, const Experiment& former, Shared shared);

/// The rows of a history for the sets of another deck: figures of sets that are the same in both decks stay.
History history_for(const Experiment& now, const Experiment& former, const History& history);

/// What a run that was interrupted in this folder, for a model of these parameters, goes on from: its last checkpoint,
/// or, with a warning, the one before where the last cannot be read (which then takes its place). Nothing where the
/// folder holds no checkpoint: what else a run left there is removed, and the run starts anew.
///
/// Throws Error: Exit::mistake where the folder's run is of a deck, or of data, that `experiment` cannot continue;
/// Exit::file.
template <class Scalar>
std::optional<Checkpoint<Scalar>> find_checkpoint(const Experiment& experiment, const RunDirectory& directory,
                                                  const Parameters<Scalar>& parameters, Console& console);

/// The resolved deck of the run that a checkpoint is of. Throws Error(Exit::file).
Deck deck_of_checkpoint(const std::filesystem::path& checkpoint);

/// The experiment of the run that a checkpoint is of, without test sets, with what overrides change in it. Throws Error:
/// Exit::mistake where an override is wrong or its deck needs plugins that are not loaded; Exit::file.
Experiment experiment_of_checkpoint(const std::filesystem::path& checkpoint, const std::vector<Override>& overrides);

/// Sets the parameters from a checkpoint of the experiment's model. Throws Error: Exit::mistake where it is of another
/// model, or one for other data; Exit::file.
template <class Scalar>
void load_parameters(const Experiment& experiment, const std::filesystem::path& checkpoint,
                     Parameters<Scalar>& parameters, Console& console);

}  // namespace ridgeline

// What a deck says, read and checked: the settings of every section, and from them the tasks and the model.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "config/deck.hpp"
#include "config/settings.hpp"
#include "data/task.hpp"
#include "driver/model_plan.hpp"
#include "train/trainer.hpp"

namespace ridgeline {

/// What [data] task is where a deck does not say.
inline constexpr const char* standard_task = "sine";

/// The keys of [run] and [train], the same for every task.
OptionSet run_options();
OptionSet train_options();
/// The keys of [data] for a task: `task` and the task's own.
OptionSet data_options(const std::string& task);
/// The keys that [eval.NAME] may hold.
OptionSet eval_options(const std::string& task);

/// One set of samples and its name: "train", or the NAME of [eval.NAME].
struct TaskSet {
  std::string name;
  std::unique_ptr<Task> task;
};

struct Experiment {
  std::string deck;      ///< the deck's path, for messages
  std::string name;      ///< as name_of_deck
  std::string resolved;  ///< a deck with every key of every section: run it and get the same run
  std::uint64_t seed = 1;
  bool single_precision = true;
  std::vector<TaskSet> sets;  ///< train first, then the test sets in the deck's order
  Extra extra = Extra::none;  ///< what the model is told of a sample with every token
  ModelPlan model;
  TrainingPlan training;
  std::int64_t epochs = 0;            ///< the last may be cut short by `steps`
  std::int64_t eval_every = 0;        ///< epochs; 0: never, but at the end
  std::int64_t checkpoint_every = 1;  ///< epochs; 0: never, but at the end
  double checkpoint_minutes = 0;      ///< since the last checkpoint; 0: only at the end of an epoch
  int report_samples = 0;             ///< that the trained model makes for the report
  std::vector<std::string> warnings;  ///< of what is allowed and hardly meant, a sentence each
  std::string task;                   ///< for the report: which task, which layers
  std::string layers;
};

/// What the run of a deck is called, and its folder: the deck's file name without its ending, or "deck" where that names
/// another folder ("." of "..ini").
std::string name_of_deck(const std::string& path);

/// Throws Error(Exit::mistake) for whatever is wrong with the deck.
Experiment read_experiment(const Deck& deck, const std::vector<Override>& overrides);

}  // namespace ridgeline

// A task says what the samples are: it makes each from its number alone, and declares the keys of [data].
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/options.hpp"
#include "layer/layer.hpp"

namespace ridgeline {

/// What a model's outputs for a token are compared with.
enum class LossKind {
  squared_error,  ///< as many numbers as the token has targets
  cross_entropy   ///< each target is a level, a whole number, and has an output for every level that there is
};

/// What a model may be told of a sample with every token, besides the token's input ([model] extra).
enum class Extra {
  none,
  class_label,  ///< what the sample shows, one hot
  image         ///< the token's own targets, one hot
};

/// One set of samples, all of the same number of tokens.
class Task {
 public:
  virtual ~Task() = default;

  virtual int samples() const = 0;
  virtual int tokens() const = 0;
  virtual std::vector<std::string> channel_names() const = 0;  ///< of the input; the first is the pictures' abscissa
  virtual std::vector<std::string> target_names() const = 0;
  /// Tokens of each sample whose target is part of the input.
  virtual int shown_tokens() const = 0;

  virtual LossKind loss() const { return LossKind::squared_error; }
  /// How many levels a target may have, where the loss is the cross-entropy.
  virtual int levels() const { return 0; }
  /// Whether a token's input tells nothing of its target or a later one's, and the model's layers must not either: then
  /// new samples can be made token by token, from the model's outputs.
  virtual bool is_autoregressive() const { return false; }
  /// Of images, whose pixels are the tokens row by row.
  virtual Grid grid() const { return {}; }

  int channels() const { return static_cast<int>(channel_names().size()); }
  int targets() const { return static_cast<int>(target_names().size()); }
  /// What a model gives for each token.
  int outputs() const { return targets() * (loss() == LossKind::cross_entropy ? levels() : 1); }

  /// Extra channels of a token; 0 where the samples have none of this kind.
  virtual int extra_channels(Extra /*extra*/) const { return 0; }

  /// Throws Error(Exit::mistake) where a sample may hold a number of a larger magnitude, which is beyond `precision`
  /// ("single precision"). A task whose numbers are never large need not look.
  virtual void check_magnitude(double /*largest*/, const std::string& /*precision*/) const {}

  /// Writes sample `index` (any whole number; the same one gives the same bits anywhere): inputs [tokens, channels],
  /// targets [tokens, targets], and 1 in shown [tokens] where the target is part of the input. Called from many threads.
  virtual void make(std::uint64_t index, double* inputs, double* targets, std::uint8_t* shown) const = 0;
  /// Writes the sample's extra channels [tokens, extra_channels(extra)], likewise. Not called where there are none.
  virtual void make_extra(std::uint64_t /*index*/, Extra /*extra*/, double* /*channels*/) const {}

  /// Whether the samples are those of another task, one by one.
  virtual bool is_same_set(const Task& /*other*/) const { return false; }
  /// What the samples of the set show, each once, in ascending order; empty where they have no classes.
  virtual std::vector<int> labels() const { return {}; }

  /// Of an autoregressive task: the input [channels] of a token from the targets [targets] of the one before it, which
  /// are empty (nullptr) for the first.
  virtual void encode(const double* /*before*/, double* /*input*/) const {}
  /// Likewise a token's extra channels [extra_channels(extra)], from the sample's class and the token's targets.
  virtual void encode_extra(Extra /*extra*/, int /*label*/, const double* /*targets*/, double* /*channels*/) const {}
};

/// One registered task.
struct TaskEntry {
  std::string name;
  std::string summary;
  OptionSet options;      ///< what [data] holds besides `task`
  OptionSet set_options;  ///< those among them that a test set may change

  /// The task of one set, with the data's values and the set's own, drawing from the random stream `purpose`. `train`
  /// is the task that this entry made of the training set; null where that is the set to be made. Throws
  /// Error(Exit::mistake) where values do not go together.
  std::function<std::unique_ptr<Task>(const OptionValues& data, const OptionValues& set, std::uint64_t seed,
                                      const std::string& purpose, const Task* train)>
      make;
};

/// The one list of tasks.
class TaskRegistry {
 public:
  static TaskRegistry& instance();
  void add(TaskEntry entry);
  /// Throws Error(Exit::mistake) where there is none.
  const TaskEntry& get(const std::string& name) const;
  std::vector<std::string> names() const;

 private:
  std::map<std::string, TaskEntry> entries_;
};

}  // namespace ridgeline

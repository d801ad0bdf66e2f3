// A task says what the samples are: it makes each from its number alone, and declares the keys of [data].
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/options.hpp"

namespace ridgeline {

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

  int channels() const { return static_cast<int>(channel_names().size()); }
  int targets() const { return static_cast<int>(target_names().size()); }

  /// Throws Error(Exit::mistake) where a sample may hold a number of a larger magnitude, which is beyond `precision`
  /// ("single precision"). A task whose numbers are never large need not look.
  virtual void check_magnitude(double /*largest*/, const std::string& /*precision*/) const {}

  /// Writes sample `index` (any whole number; the same one gives the same bits anywhere): inputs [tokens, channels],
  /// targets [tokens, targets], and 1 in shown [tokens] where the target is part of the input. Called from many threads.
  virtual void make(std::uint64_t index, double* inputs, double* targets, std::uint8_t* shown) const = 0;
};

/// One registered task.
struct TaskEntry {
  std::string name;
  std::string summary;
  OptionSet options;      ///< what [data] holds besides `task`
  OptionSet set_options;  ///< those among them that a test set may change

  /// The task of one set, with the data's values and the set's own, drawing from the random stream `purpose`. Throws
  /// Error(Exit::mistake) where values do not go together.
  std::function<std::unique_ptr<Task>(const OptionValues& data, const OptionValues& set, std::uint64_t seed,
                                      const std::string& purpose)>
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

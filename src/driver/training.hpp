// The training of a run: epoch after epoch, with its history and its checkpoints, until it is done or asked to stop.
#pragma once

#include <optional>
#include <string>

#include "driver/console.hpp"
#include "driver/run_directory.hpp"
#include "driver/session.hpp"
#include "train/checkpoint.hpp"

namespace ridgeline {

template <class Scalar>
class Training {
 public:
  /// Whatever is given outlives it. `time_limit`, in seconds since the program's start: check_stop asks to stop early
  /// enough to save before it is over. `began`: the moment of wall_time() from which on the run's time counts.
  Training(const Experiment& experiment, const RunDirectory& directory, Session<Scalar>& session, Console& console,
           const std::optional<double>& time_limit, double began);

  /// From the initial parameters, with a first checkpoint of them.
  void begin();
  /// From where a checkpoint of this run ends.
  void begin(const Checkpoint<Scalar>& checkpoint);

  /// Trains to the end, evaluates and saves as the deck says. Throws Error: Exit::numerical, with what is left of the
  /// run; Exit::stopped, after a checkpoint was written (see stopped); Exit::file.
  void run();

  /// What check_stop threw, and what was saved.
  Error stopped(const std::string& sentence) const;

  const TrainingState& state() const { return state_; }
  /// That the run took, in all its parts.
  double seconds() const;

 private:
  bool is_in_epoch() const;
  void train_epoch();
  void take_step();
  void finish_epoch();
  bool evaluates(std::int64_t epoch) const;
  bool saves(std::int64_t epoch) const;
  bool minutes_are_over() const;
  void save();
  Error diverged(const std::string& sentence) const;
  std::string place_text(std::int64_t step) const;
  void limit_time();
  double seconds_a_step() const;
  double time_left() const;
  std::string progress_text() const;
  std::string step_text(double loss) const;
  std::string epoch_text(const HistoryRow& row) const;

  const Experiment& experiment_;
  const RunDirectory& directory_;
  Session<Scalar>& session_;
  Trainer<Scalar>& trainer_;
  Console& console_;
  std::optional<double> time_limit_;
  double began_;

  TrainingState state_;
  double seconds_before_ = 0;        // of earlier parts of the run
  double training_began_ = 0;        // moments of wall_time()
  std::int64_t steps_at_start_ = 0;  // of this part
  std::int64_t saved_step_ = 0;
  double saved_at_ = 0;
  double longest_step_ = 0, longest_save_ = 0;
};

extern template class Training<float>;
extern template class Training<double>;

}  // namespace ridgeline

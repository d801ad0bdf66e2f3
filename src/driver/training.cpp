#include "driver/training.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/region.hpp"
#include "core/stop.hpp"

namespace ridgeline {

template <class Scalar>
Training<Scalar>::Training(const Experiment& experiment, const RunDirectory& directory, Session<Scalar>& session,
                           Console& console, const std::optional<double>& time_limit, double began)
    : experiment_(experiment),
      directory_(directory),
      session_(session),
      trainer_(session.trainer()),
      console_(console),
      time_limit_(time_limit),
      began_(began) {
  state_.seed = experiment.seed;
  state_.single_precision = experiment.single_precision;
  state_.deck = experiment.resolved;
  for (const TaskSet& set : experiment.sets) state_.history.sets.push_back(set.name);
  state_.history.metric = main_metric(experiment.sets.front().task->loss());
  limit_time();
}

template <class Scalar>
void Training<Scalar>::begin() {
  save();
}

template <class Scalar>
void Training<Scalar>::begin(const Checkpoint<Scalar>& checkpoint) {
  restore(checkpoint, session_.model().parameters(), trainer_.optimiser());
  state_ = checkpoint.state;
  state_.deck = experiment_.resolved;
  ++state_.resumed;
  seconds_before_ = state_.seconds;
  trainer_.continue_from(state_.step);
  saved_step_ = state_.step;
  std::vector<HistoryRow>& rows = state_.history.rows;
  // A shorter run ended in the middle of this epoch: it becomes a whole one.
  if (!rows.empty() && rows.back().step == state_.step && !trainer_.at_epoch_end()) rows.pop_back();
  state_.history.write(directory_.history());
  console_.line("resumed after " + place_text(state_.step));
}

template <class Scalar>
void Training<Scalar>::run() {
  steps_at_start_ = trainer_.steps_taken();
  training_began_ = saved_at_ = wall_time();
  try {
    while (!trainer_.finished() || is_in_epoch()) train_epoch();
  } catch (const Error& error) {
    if (error.status() == Exit::numerical) throw diverged(error.what());
    if (error.status() == Exit::stopped) save();
    throw;
  }
}

/// Whether steps were taken that no row of the history tells of.
template <class Scalar>
bool Training<Scalar>::is_in_epoch() const {
  const std::vector<HistoryRow>& rows = state_.history.rows;
  return trainer_.steps_taken() > (rows.empty() ? 0 : rows.back().step);
}

/// An epoch, or what is left of one.
template <class Scalar>
void Training<Scalar>::train_epoch() {
  const Region region("epoch");
  if (!is_in_epoch()) state_.progress = {};
  while (!is_in_epoch() || !trainer_.at_epoch_end()) take_step();
  finish_epoch();
}

template <class Scalar>
void Training<Scalar>::take_step() {
  EpochProgress& progress = state_.progress;
  const double began = wall_time();
  const double loss = trainer_.step();
  if (console_.logs(LogLevel::debug)) console_.log(step_text(loss), LogLevel::debug);
  progress.loss += loss;
  ++progress.steps;
  progress.tokens += trainer_.last_tokens();
  if (console_.progress_is_due()) console_.progress(progress_text());
  const double taken = wall_time() - began;
  progress.seconds += taken;
  longest_step_ = std::max(longest_step_, taken);
  if (minutes_are_over() && !trainer_.at_epoch_end()) save();
  limit_time();
  check_stop();
}

template <class Scalar>
void Training<Scalar>::finish_epoch() {
  const EpochProgress& progress = state_.progress;
  HistoryRow row;
  row.epoch = static_cast<int>(trainer_.epoch());
  row.step = trainer_.steps_taken();
  row.loss = progress.loss / static_cast<double>(progress.steps);
  row.learning_rate = trainer_.last_learning_rate();
  row.seconds = progress.seconds;
  row.tokens_per_second = static_cast<double>(progress.tokens) / progress.seconds;
  row.set_values.resize(state_.history.sets.size());
  trainer_.check_parameters();
  if (evaluates(row.epoch)) {
    const std::vector<Metrics> metrics = session_.evaluate();
    for (std::size_t i = 0; i < metrics.size(); ++i) row.set_values[i] = metrics[i][state_.history.metric];
  }
  state_.history.rows.push_back(row);
  if (saves(row.epoch))
    save();
  else
    state_.history.write(directory_.history());
  console_.line(epoch_text(row));
}

template <class Scalar>
bool Training<Scalar>::evaluates(std::int64_t epoch) const {
  return trainer_.finished() || (experiment_.eval_every > 0 && epoch % experiment_.eval_every == 0);
}

template <class Scalar>
bool Training<Scalar>::saves(std::int64_t epoch) const {
  const std::int64_t every = experiment_.checkpoint_every;
  return trainer_.finished() || (every > 0 && epoch % every == 0) || minutes_are_over();
}

template <class Scalar>
bool Training<Scalar>::minutes_are_over() const {
  const double minutes = experiment_.checkpoint_minutes;
  return minutes > 0 && wall_time() - saved_at_ >= 60 * minutes;
}

template <class Scalar>
void Training<Scalar>::save() {
  const Region region("checkpoint");
  const double began = wall_time();
  trainer_.check_parameters();
  state_.step = trainer_.steps_taken();
  state_.epoch = trainer_.epoch();
  state_.threads = Execution().concurrency();
  state_.seconds = seconds();
  write_checkpoint(directory_.checkpoint(), session_.model().parameters(), trainer_.optimiser(), state_);
  state_.history.write(directory_.history());
  saved_step_ = state_.step;
  saved_at_ = wall_time();
  longest_save_ = std::max(longest_save_, saved_at_ - began);
}

// --- what is said of it -------------------------------------------------------------------------------------------------

template <class Scalar>
Error Training<Scalar>::stopped(const std::string& sentence) const {
  return {Exit::stopped,
          fmt::format("{} after {} of {} steps; {} holds the run, and --resume continues it.", clause(sentence),
                      place_text(saved_step_), experiment_.training.steps, directory_.checkpoint().string())};
}

template <class Scalar>
Error Training<Scalar>::diverged(const std::string& sentence) const {
  return {Exit::numerical, fmt::format("{}; {} holds the parameters after {}.", clause(sentence),
                                       directory_.checkpoint().string(), place_text(saved_step_))};
}

/// "step 7 (epoch 2)"
template <class Scalar>
std::string Training<Scalar>::place_text(std::int64_t step) const {
  const std::int64_t samples = experiment_.sets.front().task->samples();
  const std::int64_t per_epoch = steps_per_epoch(static_cast<int>(samples), experiment_.training.batch);
  return fmt::format("step {} (epoch {})", step, (step + per_epoch - 1) / per_epoch);
}

template <class Scalar>
std::string Training<Scalar>::progress_text() const {
  const EpochProgress& progress = state_.progress;
  return fmt::format("epoch {} of {}   loss {:.4g}   {:.1f} steps/s   {} left", trainer_.epoch(), experiment_.epochs,
                     progress.loss / static_cast<double>(progress.steps), 1 / seconds_a_step(),
                     duration_text(time_left()));
}

template <class Scalar>
std::string Training<Scalar>::step_text(double loss) const {
  std::string text = fmt::format("step {}   loss {:.9g}   learning rate {:.6g}", trainer_.steps_taken(), loss,
                                 trainer_.last_learning_rate());
  if (const std::optional<double> norm = trainer_.last_gradient_norm())
    text += fmt::format("   norm of the gradients {:.6g}", *norm);
  return text;
}

template <class Scalar>
std::string Training<Scalar>::epoch_text(const HistoryRow& row) const {
  std::string text = fmt::format("epoch {:>{}} of {}   loss {:<9.4g}", row.epoch,
                                 fmt::formatted_size("{}", experiment_.epochs), experiment_.epochs, row.loss);
  text += fmt::format("   {:.1f} steps/s   {} left", static_cast<double>(state_.progress.steps) / row.seconds,
                      duration_text(time_left()));
  for (std::size_t i = 0; i < row.set_values.size(); ++i)
    if (row.set_values[i]) text += fmt::format("   {} {:.4g}", state_.history.sets[i], *row.set_values[i]);
  return text;
}

// --- time ---------------------------------------------------------------------------------------------------------------

template <class Scalar>
double Training<Scalar>::seconds() const {
  return seconds_before_ + wall_time() - began_;
}

/// The limit, less what one more step, a checkpoint and the program's end may take.
template <class Scalar>
void Training<Scalar>::limit_time() {
  if (!time_limit_) return;
  const double reserve = std::min(0.1 * *time_limit_, 1.0) + 2 * (longest_step_ + longest_save_);
  stop_at(program_began() + *time_limit_ - reserve, "the time limit of " + duration_text(*time_limit_));
}

template <class Scalar>
double Training<Scalar>::seconds_a_step() const {
  const std::int64_t steps = trainer_.steps_taken() - steps_at_start_;
  return (wall_time() - training_began_) / static_cast<double>(std::max<std::int64_t>(1, steps));
}

template <class Scalar>
double Training<Scalar>::time_left() const {
  return seconds_a_step() * static_cast<double>(experiment_.training.steps - trainer_.steps_taken());
}

template class Training<float>;
template class Training<double>;

}  // namespace ridgeline

// `ridgeline run` and `ridgeline eval`.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/region.hpp"
#include "driver/commands.hpp"
#include "driver/console.hpp"
#include "driver/facts.hpp"
#include "driver/run_directory.hpp"
#include "driver/session.hpp"
#include "io/files.hpp"
#include "io/history.hpp"
#include "report/report.hpp"
#include "train/checkpoint.hpp"
#include "version.hpp"

namespace ridgeline {
namespace {

std::vector<SetMetrics> join_metrics(const Experiment& experiment, const std::vector<Metrics>& untrained,
                                     const std::vector<Metrics>& trained) {
  std::vector<SetMetrics> all;
  for (std::size_t i = 0; i < experiment.sets.size(); ++i)
    all.push_back({experiment.sets[i].name, untrained[i], trained[i]});
  return all;
}

std::string metrics_table(const std::vector<SetMetrics>& sets) {
  std::size_t width = 3;
  for (const SetMetrics& set : sets) width = std::max(width, set.set.size());
  std::string text = fmt::format("{:<{}}  {:>12}  {:>12}  {:>12}  {:>12}  {:>15}", "set", width, "mse", "mse hidden",
                                 "mse shown", "relative L2", "untrained mse");
  for (const SetMetrics& set : sets)
    text +=
        fmt::format("\n{:<{}}  {:>12.5g}  {:>12.5g}  {:>12.5g}  {:>12.5g}  {:>15.5g}", set.set, width, set.trained.mse,
                    set.trained.mse_hidden, set.trained.mse_shown, set.trained.relative_l2, set.untrained.mse);
  return text;
}

/// A run from its deck to its report.
template <class Scalar>
class Run {
 public:
  Run(const Experiment& experiment, const RunDirectory& directory, Console& console)
      : experiment_(experiment), directory_(directory), console_(console), session_(experiment) {
    for (const TaskSet& set : experiment.sets) history_.sets.push_back(set.name);
  }

  void train() {
    untrained_ = session_.evaluate(Session<Scalar>::As::untrained);
    console_.line(fmt::format("{}: {} parameters, {} steps of {} samples, {} threads", experiment_.name,
                              session_.model().parameters().count(), experiment_.training.steps,
                              experiment_.training.batch, Execution().concurrency()));
    training_began_ = wall_time();
    save();
    while (!session_.trainer().finished()) try_epoch();
    trained_ = session_.evaluate(Session<Scalar>::As::trained);
  }

  /// From a checkpoint instead of training.
  void load(const std::filesystem::path& checkpoint) {
    read_parameters(checkpoint, session_.model().parameters());
    trained_ = session_.evaluate(Session<Scalar>::As::trained);
    session_.model().parameters().initialise(experiment_.seed);
    untrained_ = session_.evaluate(Session<Scalar>::As::untrained);
  }

  std::vector<SetMetrics> metrics() const { return join_metrics(experiment_, untrained_, trained_); }

  void write_results(double began) const {
    write_metrics(directory_.metrics(), metrics());
    hdf5::write_atomically(directory_.results(), [&](hdf5::File& file) {
      session_.write_sets(file);
      write_time(file, region_times());
      write_facts(file, facts_of(experiment_, session_.model().parameters().count(), wall_time() - began),
                  history_.sets);
    });
  }

 private:
  /// An epoch that fails says what is left of the run.
  void try_epoch() {
    try {
      train_epoch();
    } catch (const Error& error) {
      if (error.status() != Exit::numerical) throw;
      std::string sentence = error.what();
      if (sentence.back() == '.') sentence.pop_back();
      throw Error(error.status(),
                  fmt::format("{}; {} holds the parameters after epoch {}.", sentence, directory_.checkpoint().string(),
                              history_.rows.empty() ? 0 : history_.rows.back().epoch));
    }
  }

  void train_epoch() {
    const Region region("epoch");
    Trainer<Scalar>& trainer = session_.trainer();
    const double began = wall_time();
    double loss = 0;
    std::int64_t steps = 0, tokens = 0;
    do {
      loss += trainer.step();
      ++steps;
      tokens += trainer.last_tokens();
      console_.progress(progress_text(loss / static_cast<double>(steps)));
    } while (!trainer.at_epoch_end());
    HistoryRow row;
    row.epoch = static_cast<int>(trainer.epoch());
    row.step = trainer.steps_taken();
    row.loss = loss / static_cast<double>(steps);
    row.learning_rate = trainer.last_learning_rate();
    row.seconds = wall_time() - began;
    row.tokens_per_second = static_cast<double>(tokens) / row.seconds;
    row.set_mse.resize(history_.sets.size());
    trainer.check_parameters();
    if (evaluates(row.epoch)) {
      const std::vector<Metrics> metrics = session_.evaluate();
      for (std::size_t i = 0; i < metrics.size(); ++i) row.set_mse[i] = metrics[i].mse;
    }
    history_.rows.push_back(row);
    save();
    console_.line(epoch_text(row, static_cast<double>(steps) / row.seconds));
  }

  bool evaluates(std::int64_t epoch) const {
    return session_.trainer().finished() || (experiment_.eval_every > 0 && epoch % experiment_.eval_every == 0);
  }

  void save() {
    const Region region("checkpoint");
    history_.write(directory_.history());
    const Trainer<Scalar>& trainer = session_.trainer();
    write_checkpoint(directory_.checkpoint(), session_.model().parameters(), trainer.optimiser(),
                     {trainer.steps_taken(), trainer.epoch(), experiment_.seed, experiment_.resolved});
  }

  double time_left() const {
    const auto taken = static_cast<double>(session_.trainer().steps_taken());
    return (wall_time() - training_began_) / taken * (static_cast<double>(experiment_.training.steps) - taken);
  }

  std::string progress_text(double loss) const {
    const auto taken = static_cast<double>(session_.trainer().steps_taken());
    return fmt::format("epoch {} of {}   loss {:.4g}   {:.1f} steps/s   {} left", session_.trainer().epoch(),
                       experiment_.epochs, loss, taken / (wall_time() - training_began_), duration_text(time_left()));
  }

  std::string epoch_text(const HistoryRow& row, double rate) const {
    std::string text = fmt::format("epoch {:>{}} of {}   loss {:<9.4g}", row.epoch,
                                   fmt::formatted_size("{}", experiment_.epochs), experiment_.epochs, row.loss);
    text += fmt::format("   {:.1f} steps/s   {} left", rate, duration_text(time_left()));
    for (std::size_t i = 0; i < row.set_mse.size(); ++i)
      if (row.set_mse[i]) text += fmt::format("   {} {:.4g}", history_.sets[i], *row.set_mse[i]);
    return text;
  }

  const Experiment& experiment_;
  const RunDirectory& directory_;
  Console& console_;
  Session<Scalar> session_;
  History history_;
  std::vector<Metrics> untrained_, trained_;
  double training_began_ = 0;
};

void begin(const Experiment& experiment, RunDirectory& directory, Console& console) {
  directory.prepare();
  console.open_log(directory.log());
  console.log(fmt::format("Ridgeline {}\nhost      {}\n{}", version, host_name(), machine_text()));
  console.log("the resolved deck:\n" + experiment.resolved);
  write_atomically(directory.deck(), experiment.resolved);
}

void report(const RunDirectory& directory, Console& console) {
  const Region region("report");
  const Report drawn = draw_report(directory.path());
  if (!drawn.without_pictures.empty()) console.line(drawn.without_pictures);
  console.line("report: " + drawn.html.string());
}

template <class Scalar>
void train_and_report(const Experiment& experiment, RunDirectory& directory, Console& console) {
  const double began = wall_time();
  {
    const Region region("run");
    Run<Scalar> run(experiment, directory, console);  // what does not fit in memory fails before anything is written
    begin(experiment, directory, console);
    run.train();
    console.line(metrics_table(run.metrics()));
    run.write_results(began);
  }
  report(directory, console);
}

template <class Scalar>
void evaluate_and_report(const Experiment& experiment, const CommandLine& line, Console& console) {
  const double began = wall_time();
  RunDirectory directory;
  if (!line.output.empty()) directory = RunDirectory(line.output, experiment.name, line.overwrite);
  if (!line.output.empty() && directory.would_remove(line.checkpoint))
    throw Error(Exit::mistake, line.checkpoint + " is the checkpoint to evaluate, and " + line.output +
                                   " is to be overwritten; -o DIR takes another folder.");
  {
    const Region region("eval");
    Run<Scalar> run(experiment, directory, console);
    run.load(line.checkpoint);
    if (!line.output.empty()) {
      begin(experiment, directory, console);
      run.write_results(began);
    }
    console.line(metrics_table(run.metrics()));
  }
  if (!line.output.empty()) report(directory, console);
}

}  // namespace

Exit run_command(const CommandLine& line) {
  const Experiment experiment = read_experiment(line.deck, line.overrides);
  const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
  Console console(line.quiet);
  RunDirectory directory(line.output, experiment.name, line.overwrite);
  try {
    if (experiment.single_precision)
      train_and_report<float>(experiment, directory, console);
    else
      train_and_report<double>(experiment, directory, console);
  } catch (const Error& error) {
    console.log(std::string("stopped: ") + error.what());
    throw;
  }
  return Exit::done;
}

Exit eval_command(const CommandLine& line) {
  const Experiment experiment = read_experiment(line.deck, line.overrides);
  const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
  Console console(line.quiet);
  if (experiment.single_precision)
    evaluate_and_report<float>(experiment, line, console);
  else
    evaluate_and_report<double>(experiment, line, console);
  return Exit::done;
}

void print_version(const CommandLine& line) {
  const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
  fmt::print("Ridgeline {}\n{}\n", version, machine_text());
}

}  // namespace ridgeline

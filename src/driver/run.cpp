// `ridgeline run` and `ridgeline eval`.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>

#include "config/text.hpp"
#include "core/region.hpp"
#include "core/stop.hpp"
#include "driver/autoregression.hpp"
#include "driver/commands.hpp"
#include "driver/compare.hpp"
#include "driver/console.hpp"
#include "driver/continuation.hpp"
#include "driver/facts.hpp"
#include "driver/plugins.hpp"
#include "driver/profile.hpp"
#include "driver/run_directory.hpp"
#include "driver/session.hpp"
#include "driver/training.hpp"
#include "io/files.hpp"
#include "report/report.hpp"
#include "version.hpp"

namespace ridgeline {
namespace {

Earlier earlier(const CommandLine& line) {
  return line.overwrite ? Earlier::overwrite : line.resume ? Earlier::resume : Earlier::refuse;
}

std::string metrics_table(const std::vector<SetMetrics>& sets) {
  const std::vector<MetricKind> kinds = kinds_of(sets);
  std::size_t width = 3;
  for (const SetMetrics& set : sets) width = std::max(width, set.set.size());
  std::string text = fmt::format("{:<{}}", "set", width);
  for (const MetricKind& kind : kinds) text += fmt::format("  {:>13}", kind.label);
  const std::string last = std::string("untrained ") + kinds.front().label;
  text += fmt::format("  {}", last);
  for (const SetMetrics& set : sets) {
    text += fmt::format("\n{:<{}}", set.set, width);
    for (const MetricKind& kind : kinds)
      text += fmt::format("  {:>13.5g}", without_sign_of_nan(set.trained[kind.name]));
    text += fmt::format("  {:>{}.5g}", without_sign_of_nan(set.untrained[kinds.front().name]), last.size());
  }
  return text;
}

void open_log(const Experiment& experiment, const RunDirectory& directory, Console& console) {
  console.open_log(directory.log());
  console.log(fmt::format("Ridgeline {}\nhost      {}\n{}", version, host_name(), machine_text()));
  console.log("the resolved deck:\n" + experiment.resolved);
}

template <class Scalar>
void write_results(const RunDirectory& directory, const Session<Scalar>& session, const Facts& facts,
                   const std::optional<KernelTimes>& kernels = {}) {
  write_metrics(directory.metrics(), session.metrics());
  hdf5::write_atomically(directory.results(), [&](hdf5::File& file) {
    session.write_sets(file);
    write_time(file, region_times());
    if (kernels) write_kernel_times(file, *kernels);
    std::vector<std::string> names;
    for (const SetMetrics& set : session.metrics()) names.push_back(set.set);
    write_facts(file, facts, names);
  });
}

/// Taken once: the clock goes on, and all that shows them shows the same.
std::optional<KernelTimes> times_of(const std::optional<Profile>& profile) {
  if (!profile) return {};
  return profile->kernel_times();
}

/// What was measured, where that was asked for: profile.json, and a table.
void write_profile(const std::optional<Profile>& profile, const std::optional<KernelTimes>& kernels,
                   const Experiment& experiment, const RunDirectory& directory, Console& console) {
  if (!profile) return;
  console.line(kernel_table(*kernels));
  profile->write(directory.profile(), experiment.name, *kernels);
  console.line("profile: " + directory.profile().string());
}

/// The same of a run that failed or was stopped: the sentence that says so comes before any of its own.
void write_profile_of_failure(const std::optional<Profile>& profile, const Experiment& experiment,
                              const RunDirectory& directory, Console& console) {
  try {
    write_profile(profile, times_of(profile), experiment, directory, console);
  } catch (const Error& error) {
    console.warn(error.what());
  }
}

/// Seconds and calls of every region so far.
void log_times(Console& console) {
  if (!console.logs(LogLevel::debug)) return;
  std::string text = "     seconds       calls  region";
  for (const RegionTime& region : region_times())
    text += fmt::format("\n{:>12.4f}  {:>10}  {}", region.seconds, region.calls, region.name);
  console.log(text, LogLevel::debug);
}

void report(const RunDirectory& directory, Console& console) {
  const Region region("report");
  try {
    const Report drawn = draw_report(directory.path());
    if (!drawn.without_pictures.empty()) console.line(drawn.without_pictures);
    console.line("report: " + drawn.html.string());
  } catch (const Error& error) {
    if (error.status() != Exit::stopped) throw;
    throw Error(Exit::stopped, fmt::format("{} while the report was drawn; `ridgeline report {}` draws it.",
                                           clause(error.what()), directory.path().string()));
  }
}

/// What the run in the folder goes on from, if anything.
template <class Scalar>
std::optional<Checkpoint<Scalar>> resume(const Experiment& experiment, const RunDirectory& directory,
                                         const Session<Scalar>& session, Console& console) {
  std::optional<Checkpoint<Scalar>> checkpoint =
      find_checkpoint(experiment, directory, session.model().parameters(), console);
  if (!checkpoint) return checkpoint;
  const int threads = Execution().concurrency();
  if (checkpoint->state.threads != threads)
    console.warn(fmt::format("this run had {} and goes on with {}: its results may differ in their last bits.",
                             count_text(checkpoint->state.threads, "thread"), threads));
  if (checkpoint->state.step < experiment.training.steps) directory.clear_outcome();
  return checkpoint;
}

/// Trains and evaluates, from the initial parameters or a checkpoint.
template <class Scalar>
void train(const Experiment& experiment, Session<Scalar>& session, Training<Scalar>& training,
           std::optional<Checkpoint<Scalar>> checkpoint, Console& console) {
  const auto parameters = static_cast<std::int64_t>(session.model().parameters().count());
  console.line(fmt::format("{}: {}, {} of {}, {}", experiment.name, count_text(parameters, "parameter"),
                           count_text(experiment.training.steps, "step"),
                           count_text(experiment.training.batch, "sample"),
                           count_text(Execution().concurrency(), "thread")));
  if (!checkpoint) training.begin();
  session.evaluate(Session<Scalar>::As::untrained);
  if (checkpoint) training.begin(*checkpoint);
  checkpoint.reset();
  training.run();
  session.evaluate(Session<Scalar>::As::trained);
  session.prepare_report();
}

/// Says why the report will lack images, where it will.
template <class Scalar>
void warn_of_missing_images(const Session<Scalar>& session, Console& console) {
  if (!session.why_no_images().empty())
    console.warn("the report will have no images that the model made: " + session.why_no_images());
}

/// A run from its deck to its results, which began at a moment of wall_time().
template <class Scalar>
void train_and_write(const Experiment& experiment, const CommandLine& line, RunDirectory& directory, Console& console,
                     double began) {
  const Region region("run");
  std::optional<Profile> profile;
  if (line.profile) profile.emplace(line.profile_steps, measure_gemm_rate<Scalar>());
  Session<Scalar> session(experiment);  // what does not fit in memory fails before anything is written
  directory.prepare();
  open_log(experiment, directory, console);
  warn_of_missing_images(session, console);
  std::optional<Checkpoint<Scalar>> checkpoint;
  if (line.resume) checkpoint = resume(experiment, directory, session, console);
  write_atomically(directory.deck(), experiment.resolved);
  Training<Scalar> training(experiment, directory, session, console, line.time_limit, began);
  try {
    train(experiment, session, training, std::move(checkpoint), console);
  } catch (const Error& error) {
    write_profile_of_failure(profile, experiment, directory, console);
    if (error.status() == Exit::stopped) throw training.stopped(error.what());
    throw;
  }
  console.line(metrics_table(session.metrics()));
  Facts facts = facts_of(experiment, session.model().parameters().count(), training.seconds());
  if (training.state().resumed > 0) facts["resumed"] = count_text(training.state().resumed, "time");
  const std::optional<KernelTimes> kernels = times_of(profile);
  write_results(directory, session, facts, kernels);
  write_profile(profile, kernels, experiment, directory, console);
  log_times(console);
}

template <class Scalar>
void evaluate_and_report(const Experiment& experiment, const CommandLine& line, Console& console) {
  RunDirectory directory;
  if (!line.output.empty()) directory = RunDirectory(line.output, experiment.name, earlier(line));
  if (!line.output.empty() && directory.would_remove(line.checkpoint))
    throw Error(Exit::mistake, line.checkpoint + " is the checkpoint to evaluate, and " + line.output +
                                   " is to be overwritten; -o DIR takes another folder.");
  {
    const Region region("eval");
    Session<Scalar> session(experiment, line.output.empty() ? For::figures : For::report);
    load_parameters(experiment, line.checkpoint, session.model().parameters(), console);
    session.evaluate(Session<Scalar>::As::trained);
    if (!line.output.empty()) session.prepare_report();
    session.model().parameters().initialise(experiment.seed);
    session.evaluate(Session<Scalar>::As::untrained);
    if (!line.output.empty()) {
      directory.prepare();
      open_log(experiment, directory, console);
      warn_of_missing_images(session, console);
      write_atomically(directory.deck(), experiment.resolved);
      write_results(directory, session,
                    facts_of(experiment, session.model().parameters().count(), wall_time() - program_began()));
      log_times(console);
    }
    console.line(metrics_table(session.metrics()));
  }
  if (!line.output.empty()) report(directory, console);
}

/// The deck's experiment, with its plugins.
Experiment experiment_of(const CommandLine& line, const std::string& path, Console& console) {
  const Deck deck = Deck::read(path);
  load_plugins_of(line, &deck, [&](const std::string& text) { console.log(text); });
  Experiment experiment = read_experiment(deck, line.overrides);
  for (const std::string& warning : experiment.warnings) console.warn(warning);
  return experiment;
}

/// The same, to evaluate a checkpoint: where the deck's layers are unknown, the checkpoint may say which plugins had them.
Experiment experiment_for(const CommandLine& line, Console& console) {
  try {
    return experiment_of(line, line.deck, console);
  } catch (const Error& error) {
    const std::string missing = error.status() == Exit::mistake ? missing_plugins_of(line.checkpoint) : "";
    if (missing.empty()) throw;
    throw Error(Exit::mistake, clause(error.what()) + "; " + missing + ".");
  }
}

/// A run to come: its deck, read and checked, its folder, and what is said of it.
struct Run {
  Run(const CommandLine& line, const std::string& deck, const std::string& folder)
      : console(line.quiet, line.log_level),
        experiment(experiment_of(line, deck, console)),
        directory(folder, experiment.name, earlier(line)) {}

  Console console;
  Experiment experiment;
  RunDirectory directory;
};

/// From the deck to the report. `began`: the moment of wall_time() from which on its time counts.
void perform(Run& run, const CommandLine& line, double began) {
  forget_regions();
  try {
    if (run.experiment.single_precision)
      train_and_write<float>(run.experiment, line, run.directory, run.console, began);
    else
      train_and_write<double>(run.experiment, line, run.directory, run.console, began);
    report(run.directory, run.console);
  } catch (const Error& error) {
    run.console.log(error.status() == Exit::stopped ? error.what() : std::string("failed: ") + error.what(),
                    LogLevel::warn);
    throw;
  }
}

/// Throws Error(Exit::mistake), with the deck's name, where its model cannot be made, needs too much memory, or is not
/// autoregressive though its task needs that.
template <class Scalar>
void check_model(const Experiment& experiment) {
  try {
    Model<Scalar> model(experiment.model);
    check_memory(memory_need(experiment, model));
  } catch (const Error& error) {
    throw Error(error.status(), experiment.deck + ": " + error.what());
  }
  prove_autoregressive<Scalar>(experiment);
}

/// Whatever can be known to be wrong with one of several runs, before the first is trained and with all folders as they
/// were; then their folders.
void prepare(std::deque<Run>& runs) {
  for (const Run& run : runs)
    if (run.experiment.single_precision)
      check_model<float>(run.experiment);
    else
      check_model<double>(run.experiment);
  for (Run& run : runs) run.directory.prepare();
}

/// Performs the runs one after another; what is done already is not done again. Returns the decks of those that are done
/// at the end: a numerical failure of one does not keep the others from theirs.
std::vector<std::string> perform_all(std::deque<Run>& runs, const CommandLine& line, Console& console) {
  std::vector<std::string> done;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const std::string& deck = runs[i].experiment.deck;
    const bool is_old = line.resume && is_done(runs[i].directory, runs[i].experiment.resolved);
    console.line(fmt::format("{}deck {} of {}: {}{}", i > 0 ? "\n" : "", i + 1, runs.size(), deck,
                             is_old ? ", trained already" : ""));
    try {
      if (!is_old) perform(runs[i], line, wall_time());
      done.push_back(deck);
    } catch (const Error& error) {
      if (error.status() != Exit::numerical) throw;
      runs[i].console.warn(fmt::format("the run of {} failed: {}", deck, error.what()));
    }
  }
  return done;
}

/// Several decks, one after another, and their comparison.
Exit run_several(const CommandLine& line) {
  const ComparisonDirectory directory(line.output, line.decks, earlier(line));
  std::deque<Run> runs;
  for (const std::string& deck : line.decks) runs.emplace_back(line, deck, directory.folder_of(deck));
  const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
  prepare(runs);
  directory.prepare();
  Console console(line.quiet);
  const std::vector<std::string> done = perform_all(runs, line, console);
  std::vector<std::string> failed;
  for (const std::string& deck : line.decks)
    if (std::find(done.begin(), done.end(), deck) == done.end()) failed.push_back(deck);
  if (!done.empty()) {
    console.line("");
    directory.compare(done, console);
  }
  if (failed.empty()) return Exit::done;
  throw Error(Exit::numerical, fmt::format("{} of {} runs failed numerically: {}; {}.", failed.size(), runs.size(),
                                           phrase(failed, "and"),
                                           done.empty() ? "there is nothing to compare" : "the others are compared"));
}

}  // namespace

Exit run_command(const CommandLine& line) {
  stop_on_signals();
  if (line.decks.size() > 1) return run_several(line);
  Run run(line, line.decks.front(), line.output);
  const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
  perform(run, line, program_began());
  return Exit::done;
}

Exit eval_command(const CommandLine& line) {
  Console console(line.quiet, line.log_level);
  const Experiment experiment = experiment_for(line, console);
  const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
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

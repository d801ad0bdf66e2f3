// The commands that only look: check, layers, describe, report.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "config/describe.hpp"
#include "config/text.hpp"
#include "driver/autoregression.hpp"
#include "driver/commands.hpp"
#include "driver/console.hpp"
#include "driver/plugins.hpp"
#include "driver/run_directory.hpp"
#include "driver/session.hpp"
#include "io/free_memory.hpp"
#include "report/comparison.hpp"
#include "report/report.hpp"
#include "report/report_options.hpp"

namespace ridgeline {
namespace {

std::string bytes_text(double bytes) {
  const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 1024 && unit + 1 < std::size(units); ++unit) bytes /= 1024;
  return fmt::format("{:.4g} {}", bytes, units[unit]);
}

std::string millions(const Operations& of, double count) {
  return of.known ? fmt::format("{:.4g}", count / 1e6) : "unknown";
}

/// What was found of whether the model is autoregressive, where the task needs that. Throws where it is not.
template <class Scalar>
std::string proof_text(const Experiment& experiment) {
  const double bytes = bytes_of_proof<Scalar>(experiment);
  if (bytes == 0) return "";
  if (host_reads_memory && bytes > free_memory())
    return fmt::format("autoregressive not tried: that takes {}, and {} are free\n", bytes_text(bytes),
                       bytes_text(free_memory()));
  prove_autoregressive<Scalar>(experiment);
  return "autoregressive no prediction sees its own token or a later one: tried on this model\n";
}

template <class Scalar>
void print_check(const Experiment& experiment) {
  Model<Scalar> model(experiment.model);
  const MemoryNeed need = memory_need(experiment, model);
  const std::string proof = proof_text<Scalar>(experiment);
  const Shape shape{experiment.training.batch, experiment.sets.front().task->tokens()};
  fmt::print("{:<24}{:>14}{:>18}{:>18}\n", "layer", "parameters", "forward MFLOP", "backward MFLOP");
  for (const LayerShare& share : model.layers(shape))
    fmt::print("{:<24}{:>14}{:>18}{:>18}\n", share.name, share.parameters,
               millions(share.operations, share.operations.forward),
               millions(share.operations, share.operations.backward));
  const Operations all = model.operations(shape);
  fmt::print("{:<24}{:>14}{:>18}{:>18}\n\n", "all", model.parameters().count(), millions(all, all.forward),
             millions(all, all.backward));
  fmt::print("a step         {} of {}, {:.4g} GFLOP in products and solves{}\n", count_text(shape.batch, "sample"),
             count_text(shape.tokens, "token"), (all.forward + all.backward) / 1e9,
             all.known ? "" : ", and those of layers that do not say");
  Model<Scalar> step(experiment.model);
  fmt::print("               {} of activations and scratch\n",
             bytes_text(static_cast<double>(step.bytes_for({shape}))));
  fmt::print("{}", proof);
  fmt::print("the run        {}, {}\n", count_text(experiment.training.steps, "step"),
             count_text(experiment.epochs, "epoch"));
  fmt::print("sets           ");
  for (std::size_t i = 0; i < experiment.sets.size(); ++i)
    fmt::print("{}{} ({} x {})", i > 0 ? ", " : "", experiment.sets[i].name, experiment.sets[i].task->samples(),
               experiment.sets[i].task->tokens());
  fmt::print("\npeak memory    {}: parameters, gradients and moments {}, activations {}, data {}\n",
             bytes_text(need.total()), bytes_text(need.parameters), bytes_text(need.activations),
             bytes_text(need.data));
  fmt::print("               {} more at the end, for the results\n", bytes_text(need.results));
}

std::string section_text(const std::string& title, const OptionSet& options) {
  return options.empty() ? "" : fmt::format("{}\n{}\n", title, describe_options(options));
}

}  // namespace

OptionSet section_options(const std::string& section) {
  if (section == "run") return run_options();
  if (section == "model") return model_options();
  if (section == "train") return train_options();
  if (section == "report") return report_options();
  const std::size_t dot = section.find('.');
  const std::string head = section.substr(0, dot), tail = dot == std::string::npos ? "" : section.substr(dot + 1);
  const std::string task = tail.empty() ? standard_task : tail;
  if (head == "data") return data_options(task);
  if (head == "eval") return eval_options(task);
  if (const LayerEntry* entry = Registry::instance().find(head, tail)) return entry->options;
  std::vector<std::string> known{"run", "data", "model", "train", "report", "eval"};
  for (const std::string& kind : Registry::instance().kinds())
    for (const std::string& name : Registry::instance().names(kind)) known.push_back(kind + "." + name);
  throw Error(Exit::mistake, "there is nothing to describe named " + excerpt(section) +
                                 suggestion(section, known, "it takes a section of a deck, or KIND/NAME"));
}

Exit check_command(const CommandLine& line) {
  const Deck deck = Deck::read(line.deck);
  load_plugins_of(line, &deck);
  const Experiment experiment = read_experiment(deck, line.overrides);
  for (const std::string& warning : experiment.warnings) Console(false).warn(warning);
  const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
  if (experiment.single_precision)
    print_check<float>(experiment);
  else
    print_check<double>(experiment);
  return Exit::done;
}

Exit layers_command(const CommandLine& line) {
  load_plugins_of(line, nullptr);
  const Registry& registry = Registry::instance();
  const std::vector<std::string> kinds = registry.kinds();
  if (!line.subject.empty() && std::find(kinds.begin(), kinds.end(), line.subject) == kinds.end())
    throw Error(Exit::mistake, "there is no kind of layer named " + excerpt(line.subject) +
                                   suggestion(line.subject, kinds, "the kinds are " + phrase(kinds, "and")));
  for (const std::string& kind : kinds) {
    if (!line.subject.empty() && kind != line.subject) continue;
    for (const std::string& name : registry.names(kind)) {
      const LayerEntry& entry = registry.get(kind, name);
      fmt::print("{:<24}{:<10}{}\n", kind + "/" + name, entry.version, entry.summary);
      if (entry.origin != LayerEntry::built_in) fmt::print("{:<34}from {}\n", "", entry.origin);
    }
  }
  return Exit::done;
}

Exit describe_command(const CommandLine& line) {
  load_plugins_of(line, nullptr);
  if (line.subject.empty() || line.subject == "deck") {
    fmt::print("{}", section_text("[run]", run_options()));
    for (const std::string& task : TaskRegistry::instance().names())
      fmt::print("{}{}", section_text("[data], task = " + task, data_options(task)),
                 section_text("[eval.NAME], task = " + task, eval_options(task)));
    fmt::print("{}{}{}", section_text("[model]", model_options()), section_text("[train]", train_options()),
               section_text("[report]", report_options()));
    return Exit::done;
  }
  const std::size_t slash = line.subject.find('/');
  if (slash == std::string::npos) {
    fmt::print("{}", section_text("[" + line.subject + "]", section_options(line.subject)));
    return Exit::done;
  }
  const LayerEntry& entry = Registry::instance().get(line.subject.substr(0, slash), line.subject.substr(slash + 1));
  fmt::print("{}/{}: {} ({})\n", entry.kind, entry.name, entry.summary, entry.origin);
  fmt::print("{}", entry.options.empty()
                       ? "it has no options\n"
                       : "\n" + section_text("[" + entry.kind + "." + entry.name + "]", entry.options));
  return Exit::done;
}

namespace {

/// Throws Error(Exit::file) where the folder is that of several decks whose comparison was not made, as when the command
/// was stopped.
void check_is_compared(const std::filesystem::path& folder) {
  if (!first_file_of_a_run(folder).empty()) return;
  constexpr std::size_t most_named = 8;
  std::vector<std::string> runs;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(folder, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (std::filesystem::exists(entry->path() / "deck.ini", ignored)) runs.push_back(entry->path().string());
  if (runs.empty()) return;
  std::sort(runs.begin(), runs.end());
  if (runs.size() > most_named) runs.resize(most_named);
  throw Error(Exit::file,
              fmt::format("{} holds runs and no comparison of them (comparison.csv): `ridgeline run` of the "
                          "same decks with --resume ends and compares them, and `ridgeline report` draws "
                          "one alone, as that in {}.",
                          folder.string(), phrase(runs, "or")));
}

}  // namespace

Exit report_command(const CommandLine& line) {
  if (holds_comparison(line.directory)) {
    const Comparison drawn = draw_comparison(line.directory);
    if (!drawn.report.without_pictures.empty()) fmt::print("{}\n", drawn.report.without_pictures);
    fmt::print("comparison: {}\n", drawn.report.html.string());
    return Exit::done;
  }
  check_is_compared(line.directory);
  const Report drawn = draw_report(line.directory);
  if (!drawn.without_pictures.empty()) fmt::print("{}\n", printable(drawn.without_pictures));
  fmt::print("report: {}\n", printable(drawn.html.string()));
  return Exit::done;
}

}  // namespace ridgeline

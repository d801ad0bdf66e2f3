#include "driver/continuation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "config/deck.hpp"
#include "config/text.hpp"
#include "driver/plugins.hpp"
#include "io/files.hpp"
#include "io/hdf5.hpp"

namespace ridgeline {
namespace {

bool is_in_family(const std::string& section, const std::string& family) { return section.rfind(family + ".", 0) == 0; }

bool is_shared(const std::string& section, const std::string& key, Shared shared) {
  static const std::set<std::string> of_this_part_only = {"train.epochs",           "train.steps",
                                                          "train.eval_every",       "run.checkpoint_every",
                                                          "run.checkpoint_minutes", "run.plugins"};
  if (is_in_family(section, "eval") || section == "report") return false;
  if (shared == Shared::run) return of_this_part_only.count(section + "." + key) == 0;
  return section != "run" && section != "data" && section != "train";
}

using Values = std::map<std::string, std::string>;  // by "section.key"

/// The keys in the deck's order, and their values.
std::vector<std::string> list(const std::string& resolved, Shared shared, Values& values) {
  std::vector<std::string> keys;
  for (const Deck::Section& section : Deck::parse(resolved, "").sections)
    for (const Deck::Entry& entry : section.entries)
      if (is_shared(section.name, entry.key, shared)) {
        keys.push_back(section.name + "." + entry.key);
        values[keys.back()] = entry.value;
      }
  return keys;
}

std::string section_text(const Experiment& experiment, const std::string& name) {
  const Deck deck = Deck::parse(experiment.resolved, "");
  const Deck::Section* section = deck.find(name);
  std::string text;
  if (section != nullptr)
    for (const Deck::Entry& entry : section->entries) text += entry.key + " = " + entry.value + "\n";
  return text;
}

/// Some of the differences, as part of a sentence.
std::string listed(std::vector<std::string> found) {
  constexpr std::size_t most = 8;
  if (found.size() > most) {
    const std::size_t more = found.size() - most;
    found.resize(most);
    found.push_back(fmt::format("{} more", more));
  }
  return phrase(found, "and");
}

}  // namespace

std::vector<std::string> differences(const Experiment& now, const Experiment& former, Shared shared) {
  Values new_values, old_values;
  std::vector<std::string> keys = list(now.resolved, shared, new_values);
  for (const std::string& key : list(former.resolved, shared, old_values))
    if (new_values.count(key) == 0) keys.push_back(key);
  std::vector<std::string> found;
  for (const std::string& key : keys) {
    const auto value = new_values.find(key), was = old_values.find(key);
    const bool is_new = was == old_values.end(), is_gone = value == new_values.end();
    if (!is_new && !is_gone && value->second == was->second) continue;
    found.push_back(fmt::format("{} ({}, was {})", key, is_gone ? "not set" : excerpt(value->second),
                                is_new ? "not set" : excerpt(was->second)));
  }
  return found;
}

History history_for(const Experiment& now, const Experiment& former, const History& history) {
  std::vector<std::optional<std::size_t>> from;  // which column a set's figures come from
  History adapted;
  adapted.metric = history.metric;
  for (const TaskSet& set : now.sets) {
    const auto found = std::find(history.sets.begin(), history.sets.end(), set.name);
    const std::string section = "eval." + set.name;
    const bool stands = found != history.sets.end() && section_text(now, section) == section_text(former, section);
    from.push_back(stands ? std::optional<std::size_t>(found - history.sets.begin()) : std::nullopt);
    adapted.sets.push_back(set.name);
  }
  for (const HistoryRow& row : history.rows) {
    HistoryRow copy = row;
    copy.set_values.clear();
    for (const std::optional<std::size_t>& column : from)
      copy.set_values.push_back(column ? row.set_values.at(*column) : std::nullopt);
    adapted.rows.push_back(std::move(copy));
  }
  return adapted;
}

namespace {

/// What a deck that a file holds is called in messages.
std::string title_of_deck_in(const std::string& origin) { return "the deck in " + origin; }

Deck parse_deck_in(const std::string& origin, const std::string& text) {
  return Deck::parse(text, title_of_deck_in(origin));
}

/// The experiment that a resolved deck describes. Throws Error(Exit::mistake) where this version, with the layers that it
/// has, cannot read it, with the plugins that it lacks.
Experiment former_experiment(const Deck& deck, const std::string& origin, const std::vector<Override>& overrides = {}) {
  try {
    return read_experiment(deck, overrides);
  } catch (const Error& error) {
    const std::string missing = error.status() == Exit::mistake ? missing_plugins(deck, origin) : "";
    if (missing.empty()) throw;
    throw Error(Exit::mistake, clause(error.what()) + "; " + missing + ".");
  }
}

/// Throws Error(Exit::mistake) where a run of the deck `former`, which `origin` holds, cannot go on as `now`.
void check_continuation(const Experiment& now, const Experiment& former, const std::string& origin) {
  std::vector<std::string> found = differences(now, former, Shared::run);
  if (now.training.steps < former.training.steps)
    found.push_back(fmt::format("the length of the run ({} steps, was {})", now.training.steps, former.training.steps));
  if (found.empty()) return;
  throw Error(Exit::mistake,
              fmt::format("the deck {} is not that of the run in {}: they differ in {}; with --resume only a longer "
                          "run, other test sets, `eval_every` and the settings of checkpoints may change.",
                          now.deck, origin, listed(std::move(found))));
}

/// The deck that a checkpoint holds.
std::string deck_in(const std::filesystem::path& checkpoint) {
  const hdf5::File file = hdf5::File::open(checkpoint);
  if (!file.has_attribute("/", "deck"))
    throw Error(Exit::file, checkpoint.string() + ": it does not hold the deck of its run.");
  return file.attribute_string("/", "deck");
}

void note_origin(const std::filesystem::path& path, const CheckpointOrigin& origin, Console& console) {
  if (!origin.is_sealed) console.log(path.string() + " bears no checksum: another program wrote it.");
}

/// A checkpoint of this run, its history for the sets that there are now.
template <class Scalar>
Checkpoint<Scalar> read_own(const Experiment& experiment, const std::filesystem::path& path,
                            const Parameters<Scalar>& parameters, Console& console) {
  std::optional<Experiment> former;
  Checkpoint<Scalar> checkpoint = read_checkpoint<Scalar>(path, parameters, [&](const CheckpointOrigin& origin) {
    note_origin(path, origin, console);
    if (origin.deck.empty())
      throw Error(Exit::file, path.string() + ": it does not hold the deck of its run, so no run can continue it.");
    former = former_experiment(parse_deck_in(path.string(), origin.deck), path.string());
    check_continuation(experiment, *former, path.string());
  });
  checkpoint.state.history = history_for(experiment, *former, checkpoint.state.history);
  return checkpoint;
}

/// Whether there is such a name, whatever it leads to: who opens it says what is wrong with it.
bool is_there(const std::filesystem::path& path) {
  std::error_code ignored;
  return std::filesystem::exists(std::filesystem::symlink_status(path, ignored));
}

void begin_anew(const Experiment& experiment, const RunDirectory& directory, Console& console) {
  if (is_there(directory.deck())) {
    const std::string origin = directory.deck().string();
    const Deck former = parse_deck_in(origin, read_text(directory.deck()));
    check_continuation(experiment, former_experiment(former, origin), origin);
  }
  if (directory.holds_a_run())
    console.warn("there is no checkpoint in " + directory.path().string() + ": the run starts anew.");
  directory.clear(true);
}

}  // namespace

template <class Scalar>
std::optional<Checkpoint<Scalar>> find_checkpoint(const Experiment& experiment, const RunDirectory& directory,
                                                  const Parameters<Scalar>& parameters, Console& console) {
  const std::filesystem::path last = directory.checkpoint(), previous = previous_checkpoint(last);
  const bool has_last = is_there(last), has_previous = is_there(previous);
  if (!has_last && !has_previous) {
    begin_anew(experiment, directory, console);
    return std::nullopt;
  }
  std::string complaint;
  try {
    return read_own(experiment, last, parameters, console);
  } catch (const Error& error) {
    if (error.status() != Exit::file || !has_previous) throw;
    complaint = clause(error.what());
  }
  Checkpoint<Scalar> checkpoint;
  try {
    checkpoint = read_own(experiment, previous, parameters, console);
  } catch (const Error& error) {
    if (error.status() != Exit::file) throw;
    throw Error(Exit::file, complaint + "; " + error.what());
  }
  console.warn(fmt::format("{}; the run goes on from {}.", complaint, previous.string()));
  // In the place of the other: the next checkpoint must not push it out.
  std::error_code error;
  std::filesystem::rename(previous, last, error);
  if (error) throw Error(Exit::file, fmt::format("cannot write {}: {}.", last.string(), error.message()));
  return checkpoint;
}

Deck deck_of_checkpoint(const std::filesystem::path& checkpoint) {
  return parse_deck_in(checkpoint.string(), deck_in(checkpoint));
}

namespace {

/// A model needs none, and their files may be gone.
Deck without_test_sets(Deck deck) {
  const auto is_test_set = [](const Deck::Section& section) { return is_in_family(section.name, "eval"); };
  deck.sections.erase(std::remove_if(deck.sections.begin(), deck.sections.end(), is_test_set), deck.sections.end());
  return deck;
}

std::string* find_data_file(Deck& deck) {
  for (Deck::Section& section : deck.sections)
    for (Deck::Entry& entry : section.entries)
      if (section.name == "data" && entry.key == "file") return &entry.value;
  return nullptr;
}

/// The deck with its training data where another one has them: they may have moved since.
Deck with_data_of(Deck deck, const Experiment& now) {
  Deck other = Deck::parse(now.resolved, now.deck);
  std::string *own = find_data_file(deck), *file = find_data_file(other);
  if (own != nullptr && file != nullptr) *own = *file;
  return deck;
}

/// As differences(…, Shared::model), and where [data] makes other channels of a token.
std::vector<std::string> differences_of_models(const Experiment& now, const Experiment& former) {
  std::vector<std::string> found = differences(now, former, Shared::model);
  const auto channels = [](const ModelPlan& model) {
    return fmt::format("{} in, {} out, {} extra", model.inputs, model.targets, model.extra_channels);
  };
  const std::string own = channels(now.model), others = channels(former.model);
  if (found.empty() && own != others) found.push_back(fmt::format("the channels of a token ({}, was {})", own, others));
  return found;
}

}  // namespace

Experiment experiment_of_checkpoint(const std::filesystem::path& checkpoint, const std::vector<Override>& overrides) {
  return former_experiment(without_test_sets(deck_of_checkpoint(checkpoint)), checkpoint.string(), overrides);
}

template <class Scalar>
void load_parameters(const Experiment& experiment, const std::filesystem::path& checkpoint,
                     Parameters<Scalar>& parameters, Console& console) {
  read_parameters(checkpoint, parameters, [&](const CheckpointOrigin& origin) {
    note_origin(checkpoint, origin, console);
    if (origin.deck.empty()) return;
    const std::string file = checkpoint.string();
    const Deck deck = with_data_of(without_test_sets(parse_deck_in(file, origin.deck)), experiment);
    std::vector<std::string> found = differences_of_models(experiment, former_experiment(deck, file));
    if (found.empty()) return;
    const bool is_own = experiment.deck == title_of_deck_in(file);
    throw Error(Exit::mistake, fmt::format("the model {} is not that of {}: they differ in {}.",
                                           is_own ? "that --set asks for" : "of the deck " + experiment.deck, file,
                                           listed(std::move(found))));
  });
}

// NOLINTBEGIN(bugprone-macro-parentheses): Scalar is a type
#define RIDGELINE_INSTANTIATE(Scalar)                                                                \
  template std::optional<Checkpoint<Scalar>> find_checkpoint(const Experiment&, const RunDirectory&, \
                                                             const Parameters<Scalar>&, Console&);   \
  template void load_parameters(const Experiment&, const std::filesystem::path&, Parameters<Scalar>&, Console&);

RIDGELINE_INSTANTIATE(float)
RIDGELINE_INSTANTIATE(double)
#undef RIDGELINE_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

}  // namespace ridgeline

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

/// Whose mistake it is where a deck that a file holds cannot be read.
enum class Fault { of_user, of_file };

Error error_of(const Error& error, Fault fault) {
  const bool is_files = fault == Fault::of_file && error.status() == Exit::mistake;
  return {is_files ? Exit::file : error.status(), error.what()};
}

Deck parse_deck_in(const std::string& origin, const std::string& text, Fault fault) {
  try {
    return Deck::parse(text, title_of_deck_in(origin));
  } catch (const Error& error) {
    throw error_of(error, fault);
  }
}

/// The experiment that a resolved deck describes. Throws Error where this version, with the layers that it has, cannot
/// read it: Exit::mistake where it lacks plugins, and names those, otherwise as `fault` has it.
Experiment former_experiment(const Deck& deck, const std::string& origin, Fault fault,
                             const std::vector<Override>& overrides = {}) {
  try {
    return read_experiment(deck, overrides);
  } catch (const Error& error) {
    const std::string missing = error.status() == Exit::mistake ? missing_plugins(deck, origin) : "";
    if (missing.empty()) throw error_of(error, fault);
    throw Error(Exit::mistake, clause(error.what()) + "; " + missing + ".");
  }
}

constexpr const char* own_extra_channels = "extra_channels";

bool is_attention(const Deck::Section& section) { return is_in_family(section.name, "attention"); }

/// The channels that attention had besides those of the tokens, as its sections of a resolved deck say; -1 where none
/// does.
std::int64_t extra_channels_in(const Deck& deck) {
  std::int64_t channels = -1;
  for (const Deck::Section& section : deck.sections)
    for (const Deck::Entry& entry : section.entries)
      if (is_attention(section) && entry.key == own_extra_channels) read_number(entry.value, channels);
  return channels;
}

/// The deck of a model, for whatever data there are now.
Deck without_extra_channels(Deck deck) {
  for (Deck::Section& section : deck.sections)
    if (is_attention(section))
      section.entries.erase(std::remove_if(section.entries.begin(), section.entries.end(),
                                           [](const Deck::Entry& entry) { return entry.key == own_extra_channels; }),
                            section.entries.end());
  return deck;
}

const std::string* find_value(const Deck& deck, const std::string& section, const std::string& key) {
  const Deck::Section* found = deck.find(section);
  if (found == nullptr) return nullptr;
  for (const Deck::Entry& entry : found->entries)
    if (entry.key == key) return &entry.value;
  return nullptr;
}

/// Throws Error(Exit::mistake) where the data of now have other levels, channels or classes than those that the model of
/// a checkpoint was made for. Only tasks whose samples come from a file can.
void check_data(const Experiment& now, const Deck& deck, std::int64_t outputs, const std::string& origin) {
  const Task& task = *now.sets.front().task;
  const Deck own = Deck::parse(now.resolved, now.deck);
  const std::string *file = find_value(own, "data", "file"), *extra = find_value(deck, "model", "extra");
  if (task.levels() == 0 || file == nullptr) return;
  std::vector<std::string> found;
  if (outputs >= 0 && outputs != task.outputs())
    found.push_back(fmt::format("the levels of a pixel ({} in {}, was {} in all)", task.levels(),
                                count_text(task.targets(), "channel"), outputs));
  const std::int64_t classes = task.extra_channels(Extra::class_label), former = extra_channels_in(deck);
  if (extra != nullptr && *extra == "class" && now.extra == Extra::class_label && former > 0 && former != classes)
    found.push_back(fmt::format("the labels that the model is told (0 to {}, was 0 to {})", classes - 1, former - 1));
  if (found.empty()) return;
  throw Error(Exit::mistake,
              fmt::format("the images of {} are not such as the model of {} was made for: they differ in "
                          "{}.",
                          excerpt(*file, 200), origin, phrase(found, "and")));
}

/// Throws Error(Exit::mistake) where a run of the deck `former`, which `origin` holds, cannot go on as `now`.
void check_continuation(const Experiment& now, const Experiment& former, const std::string& origin) {
  std::vector<std::string> found = differences(now, former, Shared::run);
  if (now.training.steps < former.training.steps)
    found.push_back(fmt::format("the length of the run ({}, was {})", count_text(now.training.steps, "step"),
                                former.training.steps));
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
    const Deck deck = parse_deck_in(path.string(), origin.deck, Fault::of_file);
    former = former_experiment(without_extra_channels(deck), path.string(), Fault::of_file);
    check_continuation(experiment, *former, path.string());
    check_data(experiment, deck, origin.outputs, path.string());
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
    const Deck former = parse_deck_in(origin, read_text(directory.deck()), Fault::of_user);
    check_continuation(experiment, former_experiment(former, origin, Fault::of_user), origin);
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
  return parse_deck_in(checkpoint.string(), deck_in(checkpoint), Fault::of_file);
}

namespace {

/// A model needs none, and their files may be gone.
Deck without_test_sets(Deck deck) {
  const auto is_test_set = [](const Deck::Section& section) { return is_in_family(section.name, "eval"); };
  deck.sections.erase(std::remove_if(deck.sections.begin(), deck.sections.end(), is_test_set), deck.sections.end());
  return deck;
}

/// The deck with the images of another one, which fit its model: those of its training may have moved since.
Deck with_data_of(Deck deck, const Experiment& now) {
  const Deck other = Deck::parse(now.resolved, now.deck);
  if (find_value(deck, "data", "file") == nullptr || find_value(other, "data", "file") == nullptr) return deck;
  for (Deck::Section& section : deck.sections)
    for (Deck::Entry& entry : section.entries)
      for (const std::string key : {"file", "part", "classes", "levels"})
        if (const std::string* value = find_value(other, "data", key);
            section.name == "data" && entry.key == key && value != nullptr)
          entry.value = *value;
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
  const Deck deck = without_extra_channels(without_test_sets(deck_of_checkpoint(checkpoint)));
  return former_experiment(deck, checkpoint.string(), overrides.empty() ? Fault::of_file : Fault::of_user, overrides);
}

template <class Scalar>
void load_parameters(const Experiment& experiment, const std::filesystem::path& checkpoint,
                     Parameters<Scalar>& parameters, Console& console) {
  read_parameters(checkpoint, parameters, [&](const CheckpointOrigin& origin) {
    note_origin(checkpoint, origin, console);
    if (origin.deck.empty()) return;
    const std::string file = checkpoint.string();
    const Deck deck = parse_deck_in(file, origin.deck, Fault::of_file);
    check_data(experiment, deck, origin.outputs, file);
    const Deck of_model = with_data_of(without_extra_channels(without_test_sets(deck)), experiment);
    std::vector<std::string> found =
        differences_of_models(experiment, former_experiment(of_model, file, Fault::of_file));
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

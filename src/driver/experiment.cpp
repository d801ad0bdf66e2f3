#include "driver/experiment.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <map>
#include <sstream>

#include "config/deck.hpp"
#include "config/text.hpp"
#include "driver/score_bias.hpp"
#include "io/results.hpp"
#include "report/report_options.hpp"

namespace ridgeline {

OptionSet run_options() {
  OptionSet options;
  options.integer("seed", 1, "of all random numbers: data, initial parameters, order of the samples").at_least(0);
  options.choice("precision", "single", {"single", "double"}, "of parameters and activations");
  options.integer("checkpoint_every", 1, "epochs between checkpoints; 0 none, the end of the run always").at_least(0);
  options.paths("plugins", "files of plugins, and folders of them, to load");
  options
      .real("checkpoint_minutes", 10,
            "a checkpoint in the middle of an epoch, this long after the last one; 0 at the end of an epoch only")
      .at_least(0);
  return options;
}

OptionSet train_options() {
  OptionSet options;
  options.choice("optimizer", "adam", {"adam"}, "what turns gradients into steps");
  options.real("learning_rate", 1e-4, "of the optimiser; the largest, where there is a schedule").above(0);
  options.choice("schedule", "constant", {"constant", "cosine", "one_cycle"},
                 "the learning rate over the run: as it is, down to 0, or up for 30 % of the run and down");
  options.integer("batch", 8, "samples a step; the last of an epoch may have fewer").at_least(1);
  options.integer("epochs", 100, "times that every sample is used").at_least(0).at_most(1e9);
  options.integer("steps", 0, "steps of the run; where given, `epochs` does not count")
      .at_least(0)
      .at_most(1e15)
      .optional();
  options.integer("eval_every", 10, "epochs between evaluations of all sets; 0 never, the last epoch always")
      .at_least(0);
  options.choice("loss", "all", {"all", "hidden"}, "tokens that the loss is over: all, or those not shown");
  options.real("gradient_clip", 0, "largest norm of all gradients together; 0 leaves them as they are").at_least(0);
  return options;
}

OptionSet data_options(const std::string& task) {
  OptionSet options;
  options.choice("task", standard_task, TaskRegistry::instance().names(), "what the samples are");
  options.include(TaskRegistry::instance().get(task).options);
  return options;
}

OptionSet eval_options(const std::string& task) { return TaskRegistry::instance().get(task).set_options; }

namespace {

/// Which sections a deck may have once its task is known.
class DeckSchema final : public Schema {
 public:
  DeckSchema(const std::string& task, const OptionValues& data)
      : run_(run_options()),
        data_(data_options(task)),
        model_(model_options()),
        train_(train_options()),
        report_(report_options()),
        eval_(eval_options(task).with_defaults(data)) {}

  const OptionSet* find(const std::string& section) const override {
    if (section == "run") return &run_;
    if (section == "data") return &data_;
    if (section == "model") return &model_;
    if (section == "train") return &train_;
    if (section == "report") return &report_;
    const std::size_t dot = section.find('.');
    if (dot == std::string::npos) return nullptr;
    if (section.substr(0, dot) == "eval") return &eval_;
    const LayerEntry* entry = Registry::instance().find(section.substr(0, dot), section.substr(dot + 1));
    return entry ? &entry->options : nullptr;
  }

  std::vector<std::string> sections() const override {
    std::vector<std::string> list{"run", "data", "model", "train", "report"};
    for (const std::string& kind : Registry::instance().kinds())
      for (const std::string& name : Registry::instance().names(kind)) list.push_back(kind + "." + name);
    return list;
  }
  std::vector<std::string> families() const override { return {"eval"}; }

  const OptionSet& eval() const { return eval_; }

 private:
  OptionSet run_, data_, model_, train_, report_, eval_;
};

std::vector<std::string> layer_names(const std::string& kind) { return Registry::instance().names(kind); }

void make_sets(Experiment& experiment, const Settings& settings, const DeckSchema& schema, const OptionValues& data,
               std::vector<OptionValues>& sections) {
  const TaskEntry& task = TaskRegistry::instance().get(data.text("task"));
  experiment.sets.push_back({"train", task.make(data, data, experiment.seed, "data/train", nullptr)});
  for (const std::string& section : settings.members("eval")) {
    const std::string name = section.substr(section.find('.') + 1);
    const std::string complaint = name == "train" ? "it is the training set's own name" : why_not_a_set_name(name);
    if (!complaint.empty()) throw settings.mistake(section, "cannot be the name of a test set: " + complaint + ".");
    sections.push_back(settings.bind(section, schema.eval()));
    const Task& train = *experiment.sets.front().task;
    experiment.sets.push_back({name, task.make(data, sections.back(), experiment.seed, "data/eval/" + name, &train)});
    if (experiment.sets.back().task->is_same_set(train))
      experiment.warnings.emplace_back(settings.mistake(section, "has the samples of the training set.").what());
  }
}

/// What a sample may hold: numbers of the run's precision, whose squares can be added up in double.
void check_magnitudes(const Experiment& experiment) {
  for (const TaskSet& set : experiment.sets)
    if (experiment.single_precision)
      set.task->check_magnitude(std::numeric_limits<float>::max(), "single precision");
    else
      set.task->check_magnitude(1e150, "what double precision can square");
}

/// A model that is told the class knows those of the training part.
void check_classes(const Experiment& experiment, const OptionValues& model) {
  const int classes = experiment.sets.front().task->extra_channels(Extra::class_label);
  for (const TaskSet& set : experiment.sets)
    for (const int label : set.task->labels())
      if (label >= classes)
        throw model.mistake("extra", fmt::format("tells a model which class a sample is of, and the set {} has the "
                                                 "class {} where those of the training part reach {}.",
                                                 set.name, label, classes - 1));
}

/// What the samples have for `[model] extra`.
Extra extra_of(const Experiment& experiment, const OptionValues& model) {
  const std::string& name = model.text("extra");
  const Extra extra = name == "class" ? Extra::class_label : name == "image" ? Extra::image : Extra::none;
  if (extra != Extra::none && experiment.sets.front().task->extra_channels(extra) == 0)
    throw model.mistake(
        "extra", fmt::format("is what samples of the task {} do not have; for them it takes none.", experiment.task));
  if (extra == Extra::class_label) check_classes(experiment, model);
  return extra;
}

bool is_causal(const LayerEntry& entry, const OptionValues& options) {
  const Properties promised = entry.properties(options);
  return promised.causal || promised.pointwise;
}

/// Throws Error(Exit::mistake) where a layer of an autoregressive model would let a token see later ones.
void check_causal(const Experiment& experiment, const OptionValues& model) {
  if (!experiment.sets.front().task->is_autoregressive()) return;
  const auto check = [&](const std::string& kind, const LayerChoice& choice) {
    const LayerEntry& entry = Registry::instance().get(kind, choice.name);
    if (is_causal(entry, choice.options)) return;
    std::vector<std::string> causal;
    for (const std::string& name : Registry::instance().names(kind)) {
      const LayerEntry& other = Registry::instance().get(kind, name);
      if (is_causal(other, OptionValues::defaults(other.options))) causal.push_back(name);
    }
    throw model.mistake(
        kind, fmt::format("names {}, which lets a token see later ones; the task {} takes layers that are causal: {}.",
                          choice.name, experiment.task, causal.empty() ? "there is none" : phrase(causal, "or")));
  };
  check("encoder", experiment.model.encoder);
  for (const LayerChoice& attention : experiment.model.attention) check("attention", attention);
  check("ffn", experiment.model.ffn);
}

SampleFacts facts_of_samples(const Experiment& experiment) {
  const Task& train = *experiment.sets.front().task;
  SampleFacts facts;
  facts.inputs = train.channels();
  facts.targets = train.outputs();
  facts.extra_channels = train.extra_channels(experiment.extra);
  facts.grid = train.grid();
  for (const TaskSet& set : experiment.sets) facts.tokens.emplace_back(set.name, set.task->tokens());
  return facts;
}

void plan_training(Experiment& experiment, const OptionValues& train, const OptionValues& data) {
  const Task& task = *experiment.sets.front().task;
  TrainingPlan& plan = experiment.training;
  plan.seed = experiment.seed;
  plan.batch = static_cast<int>(std::min<std::int64_t>(train.integer("batch"), task.samples()));
  plan.learning_rate = train.real("learning_rate");
  plan.schedule = schedule_named(train.text("schedule"));
  plan.gradient_clip = train.real("gradient_clip");
  plan.hidden_only = train.text("loss") == "hidden";
  if (plan.hidden_only && task.is_autoregressive())
    throw train.mistake(
        "loss",
        fmt::format("is for tasks that show some targets to the model, and {} shows none; for it, it takes all.",
                    experiment.task));
  plan.resample = data.options().find("resample") != nullptr && data.flag("resample");
  if (plan.hidden_only && task.shown_tokens() == task.tokens())
    throw train.mistake("loss", fmt::format("leaves nothing to learn from: of a function's {} all are shown.",
                                            count_text(task.tokens(), "point")));
  const std::int64_t per_epoch = steps_per_epoch(task.samples(), plan.batch);
  plan.steps = train.has("steps") ? train.integer("steps") : train.integer("epochs") * per_epoch;
  experiment.epochs = (plan.steps + per_epoch - 1) / per_epoch;
  experiment.eval_every = train.integer("eval_every");
  const double rows = static_cast<double>(plan.batch) * task.tokens();
  const int channels = std::max({experiment.model.width, experiment.model.inputs, experiment.model.targets});
  if (rows * channels > std::numeric_limits<int>::max())
    throw train.mistake(
        "batch", fmt::format("makes {:.3g} tokens of {} channels a step, more than can be indexed.", rows, channels));
}

/// Throws Error(Exit::mistake) where a section has a key that only the data of another task have: what is wrong is
/// [data] task, and a list of this task's keys would lead nowhere.
void check_task(const Settings& settings, const std::string& section, const std::string& task) {
  const OptionSet own = data_options(task);
  for (const std::string& other : TaskRegistry::instance().names()) {
    OptionSet foreign;
    for (const std::string& name : data_options(other).names())
      if (own.find(name) == nullptr) foreign.text(name, "", "");
    const OptionValues values = settings.peek(section, foreign);
    for (const std::string& name : foreign.names())
      if (values.given(name))
        throw values.mistake(name, fmt::format("is for `task = {}` in [data], and the task is {}{}.", other, task,
                                               task == standard_task ? ", as where none is named" : ""));
  }
}

/// Sections of layers may be in the deck without being used: they are checked all the same.
void check_all(const Settings& settings, const DeckSchema& schema, const std::string& task) {
  constexpr std::size_t most_sets = 1000;
  const std::vector<std::string> sets = settings.members("eval");
  if (sets.size() > most_sets)
    throw settings.mistake(sets[most_sets], fmt::format("is one test set too many; a deck may have {}.", most_sets));
  settings.check_sections(schema);
  for (const std::string& section : sets) check_task(settings, section, task);
  settings.bind(schema);
}

/// The settings of [run], with the plugins that the model's layers came from, wherever they were named.
OptionValues with_plugins(const OptionValues& run, const ModelPlan& model) {
  std::map<std::string, std::string> texts;
  for (const auto& [key, value] : run.resolved()) texts[key] = value;
  texts["plugins"] = join(plugins_of(model), " ");
  return OptionValues::from(run_options(), texts, "run");
}

}  // namespace

std::string name_of_deck(const std::string& path) {
  std::string name = std::filesystem::path(path).stem().string();
  // "..ini" and "...ini": a folder of that name would be another folder.
  if (name == "." || name == "..") name = "deck";
  return name;
}

Experiment read_experiment(const Deck& deck, const std::vector<Override>& overrides) {
  const Settings settings(deck, overrides, layer_names);
  OptionSet deciding;
  deciding.choice("task", standard_task, TaskRegistry::instance().names(), "what the samples are");
  const std::string task = settings.peek("data", deciding).text("task");

  check_task(settings, "data", task);
  const OptionValues data = settings.bind("data", data_options(task));
  const DeckSchema schema(task, data);
  check_all(settings, schema, task);
  const OptionValues run = settings.bind("run", run_options()), model = settings.bind("model", model_options()),
                     train = settings.bind("train", train_options()),
                     report = settings.bind("report", report_options());

  Experiment experiment;
  experiment.deck = deck.path;
  experiment.name = name_of_deck(deck.path);
  experiment.seed = static_cast<std::uint64_t>(run.integer("seed"));
  experiment.single_precision = run.text("precision") == "single";
  experiment.checkpoint_every = run.integer("checkpoint_every");
  experiment.checkpoint_minutes = run.real("checkpoint_minutes");
  experiment.task = task;
  experiment.report_samples = static_cast<int>(report.integer("samples"));
  std::vector<OptionValues> layers, sets;
  make_sets(experiment, settings, schema, data, sets);
  check_magnitudes(experiment);
  experiment.extra = extra_of(experiment, model);
  experiment.model = plan_model(settings, model, facts_of_samples(experiment), layers);
  check_causal(experiment, model);
  check_report_options(report, most_biased_heads(experiment.model));
  experiment.layers = layers_text(experiment.model);
  plan_training(experiment, train, data);

  std::vector<OptionValues> sections{with_plugins(run, experiment.model), data, model};
  sections.insert(sections.end(), layers.begin(), layers.end());
  sections.push_back(train);
  sections.push_back(report);
  sections.insert(sections.end(), sets.begin(), sets.end());
  std::ostringstream resolved;
  write_deck(resolved, sections);
  experiment.resolved = resolved.str();
  return experiment;
}

}  // namespace ridgeline

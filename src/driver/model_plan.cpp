#include "driver/model_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/text.hpp"
#include "core/error.hpp"
#include "layer/score_bias.hpp"

namespace ridgeline {

OptionSet model_options() {
  OptionSet options;
  options.integer("width", 128, "channels of a token between the layers").at_least(1).at_most(1 << 20);
  options.integer("blocks", 2, "blocks of attention and feed-forward network").at_least(1).at_most(1000);
  options.choice("residual", "normed", {"normed", "pre"},
                 "where the block's layer normalisations stand: on the residual, or before each layer");
  options.choice("extra", "none", {"none", "class", "image"},
                 "what attention may look at with every token, besides: the sample's class, or the image itself, one "
                 "hot");
  options.layer("position", "position", "none", "what tells tokens where they stand").one_of({"none"});
  options.choice("position_mode", "add", {"add", "concatenate"},
                 "whether a position is added to what the encoder gives, or its channels stand beside the input's");
  options.layer("encoder", "encoder", "mlp", "from the input's channels to the width");
  options.layers("attention", "attention", {"functional"},
                 "how tokens see one another: one for all blocks, or one each");
  options.layer("ffn", "ffn", "mlp", "what each token goes through by itself");
  options.flag("final_norm", false, "a layer normalisation before the head");
  return options;
}

namespace {

bool contains(const std::vector<std::string>& list, const std::string& item) {
  return std::find(list.begin(), list.end(), item) != list.end();
}

/// The layers that a layer's options name, as kind and name.
std::vector<std::pair<std::string, std::string>> named_by(const OptionValues& values) {
  std::vector<std::pair<std::string, std::string>> named;
  for (const Option& option : values.options().options()) {
    if (option.type() != Option::Type::layer || !values.has(option.name())) continue;
    const std::string& name = values.text(option.name());
    if (!contains(option.choices(), name)) named.emplace_back(option.kind(), name);
  }
  return named;
}

class Planner {
 public:
  Planner(const Settings& settings, const OptionValues& model, const SampleFacts& samples,
          std::vector<OptionValues>& sections)
      : settings_(settings), model_(model), samples_(samples), sections_(sections) {}

  ModelPlan plan() {
    plan_.inputs = samples_.inputs;
    plan_.targets = samples_.targets;
    plan_.extra_channels = samples_.extra_channels;
    plan_.tokens = samples_.tokens.front().second;
    plan_.grid = samples_.grid;
    plan_.width = static_cast<int>(model_.integer("width"));
    plan_.width_is_overridden = model_.origin("width") == Override::origin;
    plan_.residual = model_.text("residual") == "pre" ? Residual::pre : Residual::normed;
    plan_.final_norm = model_.flag("final_norm");
    plan_.position_mode = model_.text("position_mode") == "add" ? PositionMode::add : PositionMode::concatenate;
    plan_position();
    plan_.encoder = choose("encoder", model_.text("encoder"));
    plan_attention();
    plan_.ffn = choose("ffn", model_.text("ffn"));
    return std::move(plan_);
  }

 private:
  /// The values of a section, which is noted where it holds any.
  OptionValues bind(const std::string& section, const OptionSet& options) {
    const auto same = [&](const OptionValues& noted) { return noted.section() == section; };
    const auto found = std::find_if(sections_.begin(), sections_.end(), same);
    if (found != sections_.end()) return *found;
    OptionValues values = settings_.bind(section, options);
    if (!options.empty()) sections_.push_back(values);
    return values;
  }

  LayerChoice choose(const std::string& kind, const std::string& name) {
    const LayerEntry& entry = Registry::instance().get(kind, name);
    LayerChoice choice{name, bind(kind + "." + name, kind == "attention" ? with_extra(entry) : entry.options)};
    for (const auto& [other_kind, other_name] : named_by(choice.options)) {
      const std::string section = other_kind + "." + other_name;
      plan_.sections.emplace(section, bind(section, Registry::instance().get(other_kind, other_name).options));
    }
    return choice;
  }

  /// An attention layer's options, the default of extra_channels being what there is.
  OptionSet with_extra(const LayerEntry& entry) const {
    OptionSet extra;
    extra.integer("extra_channels", samples_.extra_channels, "");
    if (entry.options.find("extra_channels") == nullptr) return entry.options;
    return entry.options.with_defaults(OptionValues::defaults(extra));
  }

  void check_extra(const LayerChoice& attention) const {
    if (attention.options.options().find("extra_channels") == nullptr) {
      if (samples_.extra_channels > 0)
        throw model_.mistake("attention",
                             fmt::format("names {}, which looks at no extra channels, and the samples have {}.",
                                         attention.name, samples_.extra_channels));
      return;
    }
    if (attention.options.integer("extra_channels") != samples_.extra_channels)
      throw attention.options.mistake(
          "extra_channels",
          fmt::format("is not what the samples have{}, {}; leave it out.",
                      samples_.extra_channels > 0 ? fmt::format(" with `extra = {}`", model_.text("extra")) : "",
                      samples_.extra_channels));
  }

  void plan_attention() {
    const std::vector<std::string>& names = model_.texts("attention");
    const auto blocks = static_cast<std::size_t>(model_.integer("blocks"));
    if (names.size() != 1 && names.size() != blocks)
      throw model_.mistake("attention",
                           fmt::format("names {} layers, and there {} {} block{}; it takes one for all "
                                       "blocks, or one for each.",
                                       names.size(), blocks == 1 ? "is" : "are", blocks, blocks == 1 ? "" : "s"));
    for (std::size_t i = 0; i < blocks; ++i) {
      plan_.attention.push_back(choose("attention", names.size() == 1 ? names.front() : names[i]));
      check_extra(plan_.attention.back());
    }
  }

  void plan_position() {
    const std::string& name = model_.text("position");
    if (name == "none") return;
    const LayerEntry& entry = Registry::instance().get("position", name);
    if (entry.position_use != PositionUse::channels) {
      std::vector<std::string> allowed = positions_for(PositionUse::channels, Registry::instance());
      allowed.insert(allowed.begin(), "none");
      throw model_.mistake(
          "position", "is a bias of attention's scores, and tokens have none; it takes " + phrase(allowed, "or") + ".");
    }
    plan_.position = choose("position", name);
    check_position(entry);
  }

  /// Makes the position to see whether it can be had. A plugin's may need a device, and there is none yet: the model
  /// finds out.
  void check_position(const LayerEntry& entry) const {
    if (entry.origin != LayerEntry::built_in) return;
    std::string where;
    try {
      Parameters<double> parameters;
      Setup<double> setup{0,
                          plan_.width,
                          plan_.position->options,
                          ParameterScope<double>(parameters, "position"),
                          Signal(),
                          Registry::instance(),
                          plan_.tokens,
                          plan_.grid};
      InputPosition<double> position(entry, plan_.position_mode, plan_.inputs, setup, parameters);
      for (const auto& [set, tokens] : samples_.tokens) {
        where = " for the set " + set;
        Arena measure;
        position.reserve({1, tokens}, measure);
      }
    } catch (const Error& error) {
      throw model_.mistake("position", "cannot be had" + where + ": " + error.what());
    }
  }

  const Settings& settings_;
  const OptionValues& model_;
  const SampleFacts& samples_;
  std::vector<OptionValues>& sections_;
  ModelPlan plan_;
};

}  // namespace

ModelPlan plan_model(const Settings& settings, const OptionValues& model, const SampleFacts& samples,
                     std::vector<OptionValues>& sections) {
  return Planner(settings, model, samples, sections).plan();
}

std::string layers_text(const ModelPlan& plan) {
  std::vector<std::string> names;
  for (const LayerChoice& attention : plan.attention) names.push_back(attention.name);
  const bool all_same =
      std::all_of(names.begin(), names.end(), [&](const auto& name) { return name == names.front(); });
  if (all_same) names.resize(1);
  std::string text =
      fmt::format("encoder {}, {} of attention {} and ffn {} ({}), width {}", plan.encoder.name,
                  count_text(static_cast<std::int64_t>(plan.attention.size()), "block"), phrase(names, "and"),
                  plan.ffn.name, plan.residual == Residual::pre ? "pre" : "normed", plan.width);
  if (plan.position)
    text += fmt::format(", position {} {}", plan.position->name,
                        plan.position_mode == PositionMode::add ? "added" : "concatenated");
  return text;
}

std::vector<std::string> plugins_of(const ModelPlan& model) {
  std::vector<std::string> files;
  const auto note = [&](const std::string& kind, const std::string& name) {
    const std::string& origin = Registry::instance().get(kind, name).origin;
    if (origin != LayerEntry::built_in && !contains(files, origin)) files.push_back(origin);
  };
  const auto note_choice = [&](const std::string& kind, const LayerChoice& choice) {
    note(kind, choice.name);
    for (const auto& [other_kind, other_name] : named_by(choice.options)) note(other_kind, other_name);
  };
  if (model.position) note_choice("position", *model.position);
  note_choice("encoder", model.encoder);
  for (const LayerChoice& attention : model.attention) note_choice("attention", attention);
  note_choice("ffn", model.ffn);
  return files;
}

}  // namespace ridgeline

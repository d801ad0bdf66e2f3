#include "driver/plugins.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "config/settings.hpp"
#include "config/text.hpp"
#include "driver/experiment.hpp"
#include "io/hdf5.hpp"
#include "layer/plugin.hpp"

namespace ridgeline {
namespace {

OptionValues plugins_of_run(const Deck& deck, const std::vector<Override>& overrides) {
  OptionSet options;
  options.paths("plugins", run_options().find("plugins")->summary());
  return Settings(deck, overrides).peek("run", options);
}

/// The plugins at these places; what is wrong with one is said with who named it.
void load_places(const std::string& named_by, const std::vector<std::filesystem::path>& places,
                 const std::function<void(const std::string&)>& note) {
  try {
    load_plugins(places, note);
  } catch (const Error& error) {
    throw Error(error.status(), named_by + ": " + error.what());
  }
}

}  // namespace

void load_plugins_of(const CommandLine& line, const Deck* deck, const std::function<void(const std::string&)>& note) {
  const auto told = [&](const std::string& text) {
    if (note) note(text);
  };
  load_places("RIDGELINE_PLUGIN_PATH", plugin_path(), told);
  load_places("--plugin", {line.plugins.begin(), line.plugins.end()}, told);
  if (deck == nullptr) return;
  const OptionValues run = plugins_of_run(*deck, line.overrides);
  const std::vector<std::string>& named = run.texts("plugins");
  try {
    load_plugins({named.begin(), named.end()}, told);
  } catch (const Error& error) {
    const std::string hint = named.size() > 1 ? "; white space separates the files of this list." : ".";
    throw run.mistake("plugins", "cannot be had: " + clause(error.what()) + hint);
  }
}

std::string missing_plugins(const Deck& deck, const std::string& origin) {
  std::vector<std::string> missing;
  try {
    const OptionValues run = plugins_of_run(deck, {});
    for (const std::string& plugin : run.texts("plugins")) {
      const auto same = [&](const Plugin& loaded) { return loaded.file == plugin; };
      if (std::none_of(loaded_plugins().begin(), loaded_plugins().end(), same)) missing.push_back("--plugin " + plugin);
    }
  } catch (const Error&) {
    return "";
  }
  if (missing.empty()) return "";
  return fmt::format("{} was trained with plugins: add {}", origin, join(missing, " "));
}

std::string missing_plugins_of(const std::string& checkpoint) {
  try {
    const std::string deck = hdf5::File::open(checkpoint).attribute_string("/", "deck");
    return missing_plugins(Deck::parse(deck, checkpoint), checkpoint);
  } catch (const Error&) {
    return "";
  }
}

}  // namespace ridgeline

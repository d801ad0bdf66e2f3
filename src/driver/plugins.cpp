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

std::vector<std::string> plugins_named_by(const Deck& deck, const std::vector<Override>& overrides) {
  OptionSet options;
  options.paths("plugins", run_options().find("plugins")->summary());
  return Settings(deck, overrides).peek("run", options).texts("plugins");
}

}  // namespace

void load_plugins_of(const CommandLine& line, const Deck* deck, const std::function<void(const std::string&)>& note) {
  const auto told = [&](const std::string& text) {
    if (note) note(text);
  };
  load_plugins(plugin_path(), told);
  load_plugins({line.plugins.begin(), line.plugins.end()}, told);
  if (deck == nullptr) return;
  const std::vector<std::string> named = plugins_named_by(*deck, line.overrides);
  load_plugins({named.begin(), named.end()}, told);
}

std::string missing_plugins(const std::string& checkpoint) {
  std::vector<std::string> missing;
  try {
    const hdf5::File file = hdf5::File::open(checkpoint);
    for (const std::string& plugin :
         plugins_named_by(Deck::parse(file.attribute_string("/", "deck"), checkpoint), {})) {
      const auto same = [&](const Plugin& loaded) { return loaded.file == plugin; };
      if (std::none_of(loaded_plugins().begin(), loaded_plugins().end(), same)) missing.push_back("--plugin " + plugin);
    }
  } catch (const Error&) {
    return "";
  }
  if (missing.empty()) return "";
  return fmt::format("{} was trained with plugins: add {}", checkpoint, join(missing, " "));
}

}  // namespace ridgeline

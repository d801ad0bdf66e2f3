// Which plugins a command loads.
#pragma once

#include <functional>
#include <string>

#include "config/command_line.hpp"
#include "config/deck.hpp"

namespace ridgeline {

/// Loads the plugins that RIDGELINE_PLUGIN_PATH, `--plugin` and, where there is one, the deck's [run] name, in this order.
/// `note` is told of files that are passed over. Throws as load_plugins, with who named the plugin.
void load_plugins_of(const CommandLine& line, const Deck* deck,
                     const std::function<void(const std::string&)>& note = {});

/// Which plugins a run used that are not loaded, by its resolved deck, which `origin` holds, as the end of a sentence
/// about layers that are unknown; empty where there are none.
std::string missing_plugins(const Deck& deck, const std::string& origin);

/// The same by the deck in a checkpoint; empty also where that cannot be read.
std::string missing_plugins_of(const std::string& checkpoint);

}  // namespace ridgeline

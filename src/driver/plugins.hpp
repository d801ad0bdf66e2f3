// Which plugins a command loads.
#pragma once

#include <functional>
#include <string>

#include "config/command_line.hpp"
#include "config/deck.hpp"

namespace ridgeline {

/// Loads the plugins that RIDGELINE_PLUGIN_PATH, `--plugin` and, where there is one, the deck's [run] name, in this order.
/// `note` is told of files that are passed over. Throws as load_plugins.
void load_plugins_of(const CommandLine& line, const Deck* deck,
                     const std::function<void(const std::string&)>& note = {});

/// For a deck that could not be read: which plugins a checkpoint was trained with that are not loaded, as the end of a
/// sentence; empty where there are none, or the file cannot be read.
std::string missing_plugins(const std::string& checkpoint);

}  // namespace ridgeline

// Plugins: shared libraries whose layers enter the registry as the built-in ones do.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace ridgeline {

struct Plugin {
  std::filesystem::path file;  ///< canonical
  std::string name;
  std::string version;
  std::vector<std::string> layers;  ///< "attention/galerkin", … once it is loaded
};

/// What a plugin's file says of itself. Nothing of it is run. Throws Error(Exit::mistake) where there is no such file,
/// its path is none that a deck can name, it is not a library for this kind of machine, it is not a plugin, or one that
/// was built for another Ridgeline, Kokkos or compiler (which part differs).
Plugin read_plugin(const std::filesystem::path& file);

/// Loads plugins for the rest of the program: files, and every plugin in the folders among `places`. One that is loaded
/// already is left as it is; files in a folder that are no plugins are passed over, and `note` told.
///
/// Throws Error(Exit::mistake) as read_plugin, and where symbols are missing, it registers nothing, a layer's kind is
/// unknown or its name taken or not made of letters, digits, _ and -, or its options cannot be declared, their defaults
/// included. Then none of its layers is registered.
void load_plugins(const std::vector<std::filesystem::path>& places,
                  const std::function<void(const std::string&)>& note);

/// The places that the variable RIDGELINE_PLUGIN_PATH names, separated by colons.
std::vector<std::filesystem::path> plugin_path();

/// In the order of loading.
const std::vector<Plugin>& loaded_plugins();

}  // namespace ridgeline

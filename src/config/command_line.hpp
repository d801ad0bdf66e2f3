#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/settings.hpp"
#include "core/log_level.hpp"

// The program's command line. A command is one entry of the table in command_line.cpp: its argument, its options, its
// help.

namespace ridgeline {

/// What the user asked for. A field that the command does not take is left as it is here.
struct CommandLine {
  std::string command;               ///< "run", "eval", …; empty when only help or the version was asked for
  bool help = false;                 ///< print help_text(command), do nothing else
  bool version = false;              ///< print the version, do nothing else
  std::vector<std::string> decks;    ///< run: the decks' paths, one at least
  std::string deck;                  ///< eval, check: the deck's path
  std::string directory;             ///< report: the run directory
  std::string subject;               ///< layers: KIND or empty; describe: KIND/NAME, or empty for the deck's sections;
                                     ///< conform: KIND/NAME
  std::string output;                ///< -o: the folder, or of sample the file, for what is written; empty: not given
  std::string checkpoint;            ///< --checkpoint
  int count = 0;                     ///< --count
  std::optional<int> label;          ///< --class
  double temperature = 1;            ///< --temperature
  std::uint64_t seed = 1;            ///< --seed
  std::string given;                 ///< --given
  std::string part = "test";         ///< --part
  std::optional<int> keep;           ///< --keep
  std::vector<Override> overrides;   ///< --set, in order
  std::vector<std::string> plugins;  ///< --plugin, in order
  std::map<std::string, std::string> layer_options;  ///< --option
  bool json = false;                                 ///< --json
  std::optional<int> threads;                        ///< --threads
  bool overwrite = false;                            ///< --overwrite
  bool resume = false;                               ///< --resume
  std::optional<double> time_limit;                  ///< --time-limit, in seconds since the program's start
  bool profile = false;                              ///< --profile
  int profile_steps = 200;                           ///< --profile-steps
  bool quiet = false;                                ///< --quiet
  LogLevel log_level = LogLevel::info;               ///< --log-level
  std::vector<std::string> kokkos;                   ///< --kokkos-… as given, for Kokkos::initialize
};

/// Reads the program's arguments, its own name not among them. Throws Error(Exit::mistake).
CommandLine parse_command_line(const std::vector<std::string>& arguments);

/// Help for one command, or for the whole program when `command` is empty. Ends with a newline.
std::string help_text(const std::string& command = "");

/// The names of the commands, in the order of the help.
std::vector<std::string> command_names();

}  // namespace ridgeline

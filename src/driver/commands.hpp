// The program's commands. Each does its work and returns how the program ends; mistakes and failures are thrown as Error.
#pragma once

#include "config/command_line.hpp"

namespace ridgeline {

Exit run_command(const CommandLine& line);       ///< train, evaluate, report
Exit eval_command(const CommandLine& line);      ///< evaluate a checkpoint
Exit sample_command(const CommandLine& line);    ///< make images with a trained model
Exit check_command(const CommandLine& line);     ///< validate a deck, print what a run would take
Exit layers_command(const CommandLine& line);    ///< list the registered layers
Exit describe_command(const CommandLine& line);  ///< print the options of a layer, or a deck's keys
Exit conform_command(const CommandLine& line);   ///< check that a layer keeps what every layer promises
Exit report_command(const CommandLine& line);    ///< draw a run directory again
void print_version(const CommandLine& line);     ///< back end, Kokkos, threads, BLAS

/// The options that a section of the manual's tables shows: "run", "data.sine", "eval", "attention.functional".
OptionSet section_options(const std::string& section);

}  // namespace ridgeline

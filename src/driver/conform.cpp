// The command that holds a layer against the conformance kit.
#include <fmt/format.h>

#include "config/text.hpp"
#include "conform/conformance.hpp"
#include "driver/commands.hpp"
#include "driver/plugins.hpp"

namespace ridgeline {

Exit conform_command(const CommandLine& line) {
  const std::size_t slash = line.subject.find('/');
  if (slash == std::string::npos)
    throw Error(Exit::mistake, excerpt(line.subject) + " is no layer; conform takes KIND/NAME.");
  load_plugins_of(line, nullptr);
  const conform::LayerName layer{line.subject.substr(0, slash), line.subject.substr(slash + 1), line.layer_options};
  const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
  const conform::Conformance conformance = conform::examine(layer);
  fmt::print("{}",
             line.json ? conform::report_json(conformance, line.plugins) : conform::report(conformance, line.plugins));
  return conformance.conforms() ? Exit::done : Exit::nonconforming;
}

}  // namespace ridgeline

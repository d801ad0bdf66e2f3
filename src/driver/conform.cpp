// The command that holds a layer against the conformance kit.
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>

#include "config/text.hpp"
#include "conform/apart.hpp"
#include "core/region.hpp"
#include "driver/commands.hpp"
#include "driver/plugins.hpp"

namespace ridgeline {
namespace {

/// A line on standard error that says what is tried, where that is a terminal: redrawn a few times a second, and gone
/// in the end.
class Progress {
 public:
  Progress() : terminal_(isatty(STDERR_FILENO) != 0) {}
  ~Progress() { draw(""); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(const std::string& text) {
    const double now = wall_time();
    if (now - last_drawn_ < 0.1) return;
    last_drawn_ = now;
    draw(text);
  }

 private:
  void draw(const std::string& text) const {
    if (terminal_) std::fputs(("\r\033[K" + text).c_str(), stderr);
  }

  bool terminal_;
  double last_drawn_ = 0;
};

conform::Conformance examine(const conform::LayerName& layer, const CommandLine& line) {
  Progress progress;
  return conform::examine_apart(
      layer,
      [&](const std::function<void()>& work) {
        const KokkosScope kokkos(line.kokkos, line.threads.value_or(0));
        work();
      },
      [&](const std::string& text) { progress.show(text); });
}

}  // namespace

Exit conform_command(const CommandLine& line) {
  try {
    const std::size_t slash = line.subject.find('/');
    if (slash == std::string::npos)
      throw Error(Exit::mistake, excerpt(line.subject) + " is no layer; conform takes KIND/NAME.");
    load_plugins_of(line, nullptr);
    const conform::LayerName layer{line.subject.substr(0, slash), line.subject.substr(slash + 1), line.layer_options};
    const conform::Conformance conformance = examine(layer, line);
    fmt::print(
        "{}", line.json ? conform::report_json(conformance, line.plugins) : conform::report(conformance, line.plugins));
    return conformance.conforms() ? Exit::done : Exit::nonconforming;
  } catch (const Error& error) {
    if (line.json) fmt::print("{}", conform::error_json(line.subject, error.what()));
    throw;
  }
}

}  // namespace ridgeline

// The command that holds a layer against the conformance kit.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "config/text.hpp"
#include "conform/apart.hpp"
#include "core/region.hpp"
#include "driver/commands.hpp"
#include "driver/plugins.hpp"
#include "layer/plugin.hpp"

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

/// Whether one of the places is this file, or the folder that it lies in.
bool is_at(const std::filesystem::path& file, const std::vector<std::string>& places) {
  return std::any_of(places.begin(), places.end(), [&](const std::string& place) {
    std::error_code ignored;
    const std::filesystem::path path = std::filesystem::canonical(place, ignored);
    return path == file || path == file.parent_path();
  });
}

/// What the command takes besides layer and options, for one that shows the same again. Plugins that came by the
/// environment are named as well.
std::vector<std::string> words_of(const CommandLine& line) {
  std::vector<std::string> words;
  for (const Plugin& plugin : loaded_plugins())
    if (!is_at(plugin.file, line.plugins)) words.insert(words.end(), {"--plugin", plugin.file.string()});
  for (const std::string& plugin : line.plugins) words.insert(words.end(), {"--plugin", plugin});
  if (line.threads) words.insert(words.end(), {"--threads", fmt::to_string(*line.threads)});
  words.insert(words.end(), line.kokkos.begin(), line.kokkos.end());
  return words;
}

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
    const std::vector<std::string> words = words_of(line);
    fmt::print("{}", line.json ? conform::report_json(conformance, words) : conform::report(conformance, words));
    return conformance.conforms() ? Exit::done : Exit::nonconforming;
  } catch (const Error& error) {
    if (line.json) fmt::print("{}", conform::error_json(line.subject, error.what()));
    throw;
  }
}

}  // namespace ridgeline

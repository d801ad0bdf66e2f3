#include "driver/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <system_error>

#include "core/error.hpp"
#include "driver/experiment.hpp"
#include "io/files.hpp"
#include "report/comparison.hpp"

namespace ridgeline {
namespace {

namespace fs = std::filesystem;

constexpr const char* files_of_a_comparison[] = {"comparison.csv", "comparison.html", "figures/comparison.svg",
                                                 "figures/comparison.png"};

}  // namespace

ComparisonDirectory::ComparisonDirectory(const std::string& named, const std::vector<std::string>& decks,
                                         Earlier earlier)
    : path_(named.empty() ? "runs/comparison" : named), earlier_(earlier) {
  std::map<std::string, std::string> taken;
  for (const std::string& deck : decks) {
    const std::string name = name_of_deck(deck);
    for (const std::string own : files_of_a_comparison)
      if (name == own.substr(0, own.find('/')))
        throw Error(Exit::mistake,
                    fmt::format("the run of {} would be in {}, where the comparison itself has files; the "
                                "deck needs another name.",
                                deck, folder_of(deck)));
    const auto [other, is_new] = taken.emplace(name, deck);
    if (!is_new)
      throw Error(Exit::mistake, fmt::format("{} and {} would both have their run in {}; decks that are compared need "
                                             "different names.",
                                             other->second, deck, folder_of(deck)));
  }
  if (const std::string file = first_file_of_a_run(path_); !file.empty() && file != "log.txt")
    throw Error(Exit::mistake, fmt::format("{} holds the run of one deck ({}), and a comparison has a folder in it for "
                                           "each of its runs; -o DIR takes another folder.",
                                           path_.string(), file));
  if (earlier == Earlier::refuse && holds_comparison(path_))
    throw Error(Exit::mistake, path_.string() +
                                   " holds a comparison already (comparison.csv); -o DIR takes another "
                                   "folder, --resume continues its runs, --overwrite replaces them.");
}

std::string ComparisonDirectory::folder_of(const std::string& deck) const {
  return (path_ / name_of_deck(deck)).string();
}

void ComparisonDirectory::prepare() const {
  if (earlier_ != Earlier::overwrite) return;
  std::error_code ignored;
  for (const char* file : files_of_a_comparison) fs::remove(path_ / file, ignored);
  if (fs::is_directory(path_ / "figures", ignored)) fs::remove(path_ / "figures", ignored);  // not with others' files
}

void ComparisonDirectory::compare(const std::vector<std::string>& decks, Console& console) const {
  std::vector<std::string> names;
  std::transform(decks.begin(), decks.end(), std::back_inserter(names), name_of_deck);
  try {
    const Comparison drawn = draw_comparison(path_, names);
    console.line(drawn.table);
    if (!drawn.report.without_pictures.empty()) console.line(drawn.report.without_pictures);
    console.line("comparison: " + drawn.report.html.string());
  } catch (const Error& error) {
    if (error.status() != Exit::stopped) throw;
    throw Error(Exit::stopped, fmt::format("{} while the comparison was drawn; `ridgeline report {}` draws it.",
                                           clause(error.what()), path_.string()));
  }
}

bool is_done(const RunDirectory& directory, const std::string& resolved) {
  std::error_code error;
  const auto written = [&](const fs::path& file) {
    const fs::file_time_type time = fs::last_write_time(file, error);
    return error ? fs::file_time_type::min() : time;
  };
  const auto begun = std::max(written(directory.deck()), written(directory.checkpoint()));
  const auto results = std::min(written(directory.results()), written(directory.metrics()));
  const bool is_whole = fs::exists(directory.checkpoint(), error) && results >= begun &&
                        written(directory.report()) >= std::max(written(directory.results()), begun);
  return is_whole && read_text(directory.deck()) == resolved;
}

}  // namespace ridgeline

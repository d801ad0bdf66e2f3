// The manual says what the program does: its tables of options (RIDGELINE_UPDATE_MANUAL=1 rewrites them), the commands
// in its examples, and the files that a run leaves.
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <set>
#include <sstream>

#include "config/command_line.hpp"
#include "config/describe.hpp"
#include "driver/commands.hpp"
#include "io/hdf5.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;

TEST(Manual, TablesAreThoseOfTheProgram) {
  const char* update = std::getenv("RIDGELINE_UPDATE_MANUAL");
  const bool rewrite = update != nullptr && std::string(update) == "1";
  int tables = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(RIDGELINE_SOURCE_DIR) / "docs")) {
    if (entry.path().extension() != ".md") continue;
    const std::string text = test::content_of(entry.path());
    const std::string filled = fill_tables(text, [&](const std::string& section) {
      ++tables;
      return section_options(section);
    });
    if (rewrite && text != filled) test::put(entry.path(), filled);
    EXPECT_TRUE(rewrite || text == filled)
        << entry.path() << " is stale: run this test with RIDGELINE_UPDATE_MANUAL=1 to rewrite its tables";
  }
  EXPECT_GE(tables, 5);
}

fs::path manual(const std::string& page) { return fs::path(RIDGELINE_SOURCE_DIR) / "docs" / page; }

/// What stands between a heading of a page and the next one of its level; the page's beginning for an empty heading.
std::string section_of(const std::string& page, const std::string& heading) {
  const std::string text = test::content_of(manual(page));
  const std::size_t begin = heading.empty() ? 0 : text.find("\n## " + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << page << " has no section " << heading;
  return begin == std::string::npos ? "" : text.substr(begin, text.find("\n## ", begin + 1) - begin);
}

/// What is set as code in a text.
std::vector<std::string> code_in(const std::string& text) {
  static const std::regex code("`([^`]+)`");
  std::vector<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), code), end; match != end; ++match)
    found.push_back((*match)[1]);
  return found;
}

using Row = std::vector<std::string>;  // a table's cells

/// The rows of all tables of a section.
std::vector<Row> rows_of(const std::string& section) {
  std::vector<Row> rows;
  for (const std::string& line : lines_of(section)) {
    if (line.rfind("| ", 0) != 0) continue;
    Row row;
    std::istringstream cells(line.substr(1));
    for (std::string cell; std::getline(cells, cell, '|');) row.push_back(cell);
    rows.push_back(row);
  }
  return rows;
}

using Names = std::set<std::string>;

TEST(Manual, NamesEveryFileOfARunAndNoOther) {
  if (!gnuplot_is_there()) GTEST_SKIP() << "there is no gnuplot for the figures";
  const Place place;
  Surroundings surroundings;
  surroundings.gnuplot = true;
  expect_success(place.run({"run", "tiny.ini", "-o", "run", "--profile"}, surroundings));
  Names files, described, pictures;
  for (const auto& entry : fs::directory_iterator(place / "run"))
    files.insert(entry.path().filename().string() + (entry.is_directory() ? "/" : ""));
  for (const Row& row : rows_of(section_of("files.md", "")))
    for (const std::string& name : code_in(row[0])) described.insert(name);
  EXPECT_EQ(described, files);
  for (const auto& entry : fs::directory_iterator(place / "run/figures")) pictures.insert(entry.path().stem().string());
  EXPECT_EQ(pictures, (Names{"loss", "metrics", "predictions_far", "predictions_id", "predictions_train", "time"}));
}

TEST(Manual, NamesTheColumnsOfTheHistory) {
  const Place place;
  const std::string history = test::content_of(place.train("run") / "history.csv");
  std::string header;
  for (const Row& row : rows_of(section_of("files.md", "history.csv")))
    for (const std::string& name : code_in(row[0])) header += (header.empty() ? "" : ",") + name;
  const std::size_t sets = header.find("SET_mse");
  ASSERT_NE(sets, std::string::npos) << header;
  header.replace(sets, 7, "train_mse,id_mse,far_mse");
  EXPECT_EQ(history.substr(0, history.find('\n')), header);
}

/// The manual's name for an object of a file: what a deck or a model names is SET or NAME.
std::string described_object(const std::string& path) {
  static const std::regex parameter("^/(parameters|optimizer/first_moment|optimizer/second_moment)/.+");
  static const std::regex set("^/(train|id|far)($|/)");
  return std::regex_replace(std::regex_replace(path, parameter, "/$1/NAME"), set, "/SET$2");
}

std::string type_name(hdf5::ElementType type) {
  if (type == hdf5::ElementType::string) return "text";
  if (type == hdf5::ElementType::integer) return "int";
  return type == hdf5::ElementType::float32 ? "float32" : "float64";
}

/// What is in a file, a line each: "/time/calls: int of 1" for arrays, with the number of extents, and "/ @step" for
/// attributes. Arrays that depend on the run's precision are "real"; those of parameters have the parameter's shape.
Names content_of_file(const fs::path& path) {
  const hdf5::File file = hdf5::File::open(path);
  Names content, objects = {"/"};
  for (const std::string& name : file.datasets_below("/")) {
    const std::string object = described_object("/" + name);
    const bool is_parameter = object.find("NAME") != std::string::npos;
    const bool is_real = is_parameter || std::regex_search(object, std::regex("inputs|targets|predictions"));
    const std::string type = is_real ? "real" : type_name(file.element_type(name));
    content.insert(object + ": " + type + (is_parameter ? "" : " of " + std::to_string(file.shape(name).size())));
    for (fs::path above = "/" + name; above != "/"; above = above.parent_path()) objects.insert(above);
  }
  if (file.is_group("progress")) objects.insert("/progress");
  for (const std::string& object : objects)
    for (const auto& [name, value] : file.attributes(object)) content.insert(described_object(object) + " @" + name);
  return content;
}

/// The same from a section's tables.
Names described_content(const std::string& section) {
  static const std::regex integer("^u?int(8|32|64)$");
  Names content;
  for (const Row& row : rows_of(section_of("files.md", section)))
    for (const std::string& name : code_in(row[0])) {
      if (name[0] == '/') {
        std::istringstream type_cell(row[2]);
        std::string type;
        type_cell >> type;
        const auto extents = 1 + std::count(row[1].begin(), row[1].end(), ',');
        const bool has_shape = row[1].find('[') != std::string::npos;
        content.insert(name + ": " + std::regex_replace(type, integer, "int") +
                       (has_shape ? " of " + std::to_string(extents) : ""));
      } else {
        for (const std::string& object : code_in(row[1])) content.insert(object + " @" + name);
      }
    }
  return content;
}

TEST(Manual, DescribesAllThatIsInTheHdf5Files) {
  const Place place;
  const fs::path run = place.train("run", {"train.epochs=1"});
  // A run that was continued says so.
  expect_success(place.run({"run", "tiny.ini", "-o", "run", "--resume", "--profile"}));
  EXPECT_EQ(described_content("checkpoint.h5"), content_of_file(run / "checkpoint.h5"));
  EXPECT_EQ(described_content("results.h5"), content_of_file(run / "results.h5"));
}

/// The first fenced block of a page that holds this text.
std::string block_with(const std::string& page, const std::string& part) {
  const std::string text = test::content_of(manual(page));
  static const std::regex block("```[a-z]*\n((?:(?!```)[^\n]*\n)*)```");
  for (std::sregex_iterator match(text.begin(), text.end(), block), end; match != end; ++match)
    if ((*match)[1].str().find(part) != std::string::npos) return (*match)[1];
  ADD_FAILURE() << page << " has no block with " << part;
  return "";
}

TEST(Manual, TheJobScriptHandsSignalsOnAndPutsBackWhatIsNotDone) {
  const Place place;
  for (const char* folder : {"bin", "ridgeline/bin", "experiments"}) fs::create_directories(place / folder);
  fs::create_symlink(RIDGELINE_PROGRAM, place / "ridgeline/bin/ridgeline");
  place.put("bin/scontrol", "#!/bin/sh\necho \"$@\" >>\"$HOME/requeued\"\n");
  fs::permissions(place / "bin/scontrol", fs::perms::owner_all);
  place.put("job", block_with("clusters.md", "scontrol requeue"));
  place.put("experiments/sine.ini", tiny_deck);
  const std::string surroundings = "cd '" + (place / "").string() +
                                   "' && export HOME=\"$PWD\" PATH=\"$PWD/bin:$PATH\" "
                                   "SLURM_JOB_ID=77 SLURM_CPUS_PER_TASK=1 && ";
  const auto status_of = [&](const std::string& line) {
    const int status = std::system((surroundings + line).c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  };
  const auto stopped_by = [&](const std::string& signal) {
    return status_of(
        "sed -i 's/^epochs = .*/epochs = 1000000/' experiments/sine.ini; bash job >out 2>&1 & job=$!; "
        "for i in $(seq 500); do test -e runs/sine/checkpoint.previous.h5 && break; sleep 0.05; done; "
        "kill -s " +
        signal + " $job; wait $job");
  };
  EXPECT_EQ(stopped_by("USR1"), 75) << test::content_of(place / "out");
  EXPECT_EQ(test::content_of(place / "requeued"), "requeue 77\n");
  fs::remove(place / "runs/sine/checkpoint.previous.h5");
  EXPECT_EQ(stopped_by("TERM"), 75) << test::content_of(place / "out");
  test::expect_contains(test::content_of(place / "out"), "resumed after step");
  EXPECT_EQ(status_of("rm -r runs && sed -i 's/^epochs = .*/epochs = 1/' experiments/sine.ini && bash job >out 2>&1"),
            0)
      << test::content_of(place / "out");
  EXPECT_EQ(test::content_of(place / "requeued"), "requeue 77\n");  // once, by the first of the three
}

/// The program's calls in the fenced blocks of a page, continuation lines joined: command, then all that follows it.
std::vector<std::string> calls_in(const std::string& page) {
  static const std::regex call("(?:^|[ /])ridgeline\"? ((?:run|eval|check|report|layers|describe)(?: [^#&;|]*)?)");
  std::vector<std::string> calls;
  std::string joined;
  bool is_code = false;
  for (const std::string& line : lines_of(page)) {
    if (line.rfind("```", 0) == 0) is_code = !is_code;
    joined += line;
    if (is_code && !joined.empty() && joined.back() == '\\') {
      joined.back() = ' ';
      continue;
    }
    std::smatch match;
    if (is_code && std::regex_search(joined, match, call)) calls.push_back(match[1]);
    joined.clear();
  }
  return calls;
}

TEST(Manual, CallsTheProgramWithOptionsThatItHas) {
  int options = 0;
  std::vector<fs::path> pages = {fs::path(RIDGELINE_SOURCE_DIR) / "README.md"};
  for (const auto& entry : fs::directory_iterator(manual(""))) pages.push_back(entry.path());
  for (const fs::path& page : pages) {
    if (page.extension() != ".md") continue;
    for (const std::string& call : calls_in(test::content_of(page))) {
      std::istringstream words(call);
      std::string command;
      words >> command;
      for (std::string word; words >> word;) {
        if (word.rfind("--", 0) != 0 || word.rfind("--kokkos-", 0) == 0) continue;
        ++options;
        const std::string option = word.substr(0, word.find('='));
        EXPECT_NE(help_text(command).find(option + " "), std::string::npos) << page << ": " << call;
      }
    }
  }
  EXPECT_GE(options, 20);
}

}  // namespace
}  // namespace ridgeline::program

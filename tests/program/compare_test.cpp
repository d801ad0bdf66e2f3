// Several decks in one command: a run each, and files that compare them.
#include <algorithm>
#include <csignal>
#include <map>
#include <sstream>

#include "io/hdf5.hpp"
#include "io/history.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_contains;

/// The tiny deck with other lines for some of it.
std::string deck_with(const std::vector<std::pair<std::string, std::string>>& changes) {
  std::string deck = tiny_deck;
  for (const auto& [from, to] : changes) deck.replace(deck.find(from), from.size(), to);
  return deck;
}

/// A place with tiny.ini, wide.ini and rich.ini.
class Decks : public Place {
 public:
  Decks() {
    put("wide.ini", deck_with({{"width = 8", "width = 16"}}));
    put("rich.ini", deck_with({{"basis = 3", "basis = 4"}}));
  }
};

using Row = std::vector<std::string>;

/// The rows of a comparison.csv without quoted fields, its header first.
std::vector<Row> read_table(const fs::path& path) {
  std::vector<Row> rows;
  for (const std::string& line : lines_of(content_of(path))) {
    Row row;
    std::istringstream fields(line);
    for (std::string field; std::getline(fields, field, ',');) row.push_back(field);
    rows.push_back(row);
  }
  return rows;
}

std::vector<std::string> decks_in(const fs::path& folder) {
  std::vector<std::string> decks;
  for (const Row& row : read_table(folder / "comparison.csv")) decks.push_back(row.at(0));
  decks.erase(decks.begin());
  return decks;
}

TEST(Compare, ADeckWhoseNameIsAFoldersHasItsRunInsideAllTheSame) {
  const Decks place;
  for (const std::string name : {"..ini", "...ini"}) {
    place.put(name, tiny_deck);
    const std::string output = "of" + name;
    expect_success(place.run({"run", name, "wide.ini", "-o", output + "/all"}));
    EXPECT_TRUE(fs::exists(place / (output + "/all/deck/checkpoint.h5")));
    EXPECT_FALSE(fs::exists(place / (output + "/all/checkpoint.h5")));
    EXPECT_FALSE(fs::exists(place / (output + "/checkpoint.h5")));
    EXPECT_EQ(decks_in(place / (output + "/all")), (std::vector<std::string>{"deck", "wide"}));
  }
}

TEST(Compare, TrainsEachDeckAsARunOfItsOwnWould) {
  const Decks place;
  const Ended ended = place.run({"run", "wide.ini", "tiny.ini", "rich.ini", "-o", "all"});
  expect_success(ended);
  for (const std::string name : {"wide", "tiny", "rich"}) {
    expect_success(place.run({"run", name + ".ini", "-o", "alone/" + name}));
    EXPECT_EQ(files_below(place / "all" / name), files_below(place / "alone" / name));
    EXPECT_EQ(content_of(place / "all" / name / "deck.ini"), content_of(place / "alone" / name / "deck.ini"));
    expect_same_outcome(place / "all" / name, place / "alone" / name);
  }
}

TEST(Compare, WritesATableOfTheRunsInTheOrderOfTheDecks) {
  const Decks place;
  const Ended ended = place.run({"run", "wide.ini", "tiny.ini", "--set", "train.epochs=3"});
  expect_success(ended);
  const fs::path folder = place / "runs/comparison";
  const std::vector<Row> table = read_table(folder / "comparison.csv");
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table[0],
            (Row{"deck", "parameters", "steps", "seconds", "steps_per_second", "loss", "train_mse", "train_mse_hidden",
                 "train_mse_shown", "train_relative_l2", "id_mse", "id_mse_hidden", "id_mse_shown", "id_relative_l2",
                 "far_mse", "far_mse_hidden", "far_mse_shown", "far_relative_l2"}));
  for (const Row& row : {table[1], table[2]}) {
    ASSERT_EQ(row.size(), table[0].size());
    const fs::path run = folder / row[0];
    const History history = History::read(run / "history.csv");
    EXPECT_EQ(row[1], hdf5::File::open(run / "results.h5").attribute_string("/", "parameters"));
    EXPECT_EQ(row[2], "9");
    double seconds = 0;
    for (const HistoryRow& epoch : history.rows) seconds += epoch.seconds;
    EXPECT_EQ(std::stod(row[3]), seconds);
    EXPECT_EQ(std::stod(row[4]), 9 / seconds);
    EXPECT_EQ(std::stod(row[5]), history.rows.back().loss);
    const AllFigures metrics = read_metrics(run / "metrics.json");
    std::size_t column = 6;
    for (const char* set : {"train", "id", "far"})
      for (const char* name : {"mse", "mse_hidden", "mse_shown", "relative_l2"})
        EXPECT_EQ(std::stod(row[column++]), metrics.at("trained").at(set).at(name)) << set << " " << name;
  }
  EXPECT_EQ(table[1][0], "wide");
  EXPECT_EQ(table[2][0], "tiny");
  const std::size_t header = ended.out.find("deck  parameters"), wide = ended.out.find("\nwide  ", header);
  EXPECT_LT(wide, ended.out.find("\ntiny  ", wide)) << ended.out;
  expect_contains(ended.out, "comparison: runs/comparison/comparison.html\n");
}

/// What the program is told to draw with, where there is a gnuplot.
Surroundings with_gnuplot() {
  Surroundings surroundings;
  surroundings.gnuplot = true;
  return surroundings;
}

TEST(Compare, DrawsOnePictureAndOnePage) {
  if (!gnuplot_is_there()) GTEST_SKIP() << "there is no gnuplot";
  const Decks place;
  expect_success(place.run({"run", "tiny.ini", "rich.ini", "-o", "out"}, with_gnuplot()));
  expect_contains(content_of(place / "out/figures/comparison.svg").substr(0, 400), "<svg");
  EXPECT_EQ(content_of(place / "out/figures/comparison.png").substr(1, 3), "PNG");
  const std::string page = content_of(place / "out/comparison.html");
  expect_contains(page, "data:image/svg+xml;base64,");
  for (const std::string name : {"tiny", "rich"}) expect_contains(page, "href=\"" + name + "/report.html\"");
  expect_contains(page, "[attention.functional] basis");
  EXPECT_EQ(page.find("[model] width"), std::string::npos);
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);
}

TEST(Compare, WithoutGnuplotThePageSaysSoAndReportDrawsItLater) {
  const Decks place;
  const Ended ended = place.run({"run", "tiny.ini", "wide.ini", "-o", "out"});
  expect_success(ended);
  EXPECT_FALSE(fs::exists(place / "out/figures"));
  expect_contains(content_of(place / "out/comparison.html"), "No pictures: pictures need gnuplot");
  const std::string report = content_of(place / "out/tiny/report.html");
  const std::string table = content_of(place / "out/comparison.csv");
  if (!gnuplot_is_there()) GTEST_SKIP() << "there is no gnuplot to draw it later";
  const Ended drawn = place.run({"report", "out"}, with_gnuplot());
  expect_success(drawn);
  EXPECT_EQ(drawn.out, "comparison: out/comparison.html\n");
  EXPECT_TRUE(fs::exists(place / "out/figures/comparison.svg"));
  expect_contains(content_of(place / "out/comparison.html"), "data:image/svg+xml");
  EXPECT_EQ(content_of(place / "out/tiny/report.html"), report);
  EXPECT_EQ(content_of(place / "out/comparison.csv"), table);
}

TEST(Compare, ReportSaysWhichRunIsGone) {
  const Decks place;
  expect_success(place.run({"run", "tiny.ini", "wide.ini", "-o", "out"}));
  fs::remove(place / "out/wide/results.h5");
  expect_contains(expect_sentence(place.run({"report", "out"}), 4), "out/wide/results.h5");
}

TEST(Compare, ReportSaysHowToGoOnWhereThereIsNoComparison) {
  const Decks place;
  expect_success(place.run({"run", "tiny.ini", "wide.ini", "-o", "out"}));
  fs::remove_all(place / "out/wide");
  const std::string gone = expect_sentence(place.run({"report", "out"}), 4);
  expect_contains(gone, "the run out/wide is not as it was when it was compared: cannot read out/wide/deck.ini");
  fs::remove(place / "out/comparison.csv");  // as where the command was stopped
  const std::string none = expect_sentence(place.run({"report", "out"}), 4);
  expect_contains(none, "out holds runs and no comparison of them (comparison.csv): ");
  expect_contains(none, "as that in out/tiny.");
  // What it advises helps.
  expect_success(place.run({"run", "tiny.ini", "wide.ini", "-o", "out", "--resume"}));
  expect_success(place.run({"report", "out"}));
  EXPECT_EQ(decks_in(place / "out"), (std::vector<std::string>{"tiny", "wide"}));
}

TEST(Compare, AFolderIsOfOneRunOrOfSeveral) {
  const Decks place;
  expect_success(place.run({"run", "tiny.ini", "wide.ini", "-o", "several"}));
  place.train("one");
  const std::vector<std::string> before = place.files();
  for (const std::string flag : {"", "--overwrite", "--resume"}) {
    Arguments one{"run", "rich.ini", "-o", "several"}, several{"run", "rich.ini", "tiny.ini", "-o", "one"};
    if (!flag.empty())
      for (Arguments* arguments : {&one, &several}) arguments->push_back(flag);
    expect_contains(expect_sentence(place.run(one), 2), "several holds a comparison of several decks (comparison.csv)");
    expect_contains(expect_sentence(place.run(several), 2), "one holds the run of one deck (deck.ini)");
  }
  expect_contains(
      expect_sentence(place.run({"eval", "tiny.ini", "--checkpoint", "one/checkpoint.h5", "-o", "several"}), 2),
      "several holds a comparison");
  EXPECT_EQ(place.files(), before);
}

TEST(Compare, AFigureThatThereIsNotIsAnEmptyField) {
  const Decks place;
  place.put("blind.ini", deck_with({{"context = 3", "context = 0"}}));
  place.put("still.ini", deck_with({{"epochs = 2", "epochs = 0"}}));
  const Ended ended = place.run({"run", "blind.ini", "still.ini", "-o", "out"});
  expect_success(ended);
  const std::string csv = content_of(place / "out/comparison.csv");
  EXPECT_EQ(csv.find("nan"), std::string::npos) << csv;
  const std::vector<Row> table = read_table(place / "out/comparison.csv");
  const auto cell = [&](std::size_t row, const std::string& column) {
    const auto found = std::find(table.at(0).begin(), table.at(0).end(), column);
    return table.at(row).at(static_cast<std::size_t>(found - table.at(0).begin()));
  };
  EXPECT_EQ(cell(1, "train_mse_shown"), "");
  EXPECT_NE(cell(1, "train_mse_hidden"), "");
  EXPECT_NE(cell(1, "loss"), "");
  EXPECT_EQ(cell(2, "loss"), "");
  EXPECT_EQ(cell(2, "steps_per_second"), "");
  EXPECT_NE(cell(2, "train_mse_shown"), "");
  EXPECT_EQ(ended.out.find("-nan"), std::string::npos) << ended.out;
}

TEST(Compare, DecksMayShareAPlugin) {
  const Decks place;
  const std::string plugin = (fs::path(RIDGELINE_BINARY_DIR) / "loaded/loaded_softsign.so").string();
  const std::string deck = "[run]\nplugins = " + plugin + "\n";
  place.put("one.ini", deck + deck_with({{"hidden = 16", "hidden = 16\nactivation = softsign"}}));
  place.put("two.ini", deck + deck_with({{"hidden = 16", "hidden = 24\nactivation = softsign"}}));
  expect_success(place.run({"run", "one.ini", "tiny.ini", "two.ini", "-o", "out"}));
  for (const std::string name : {"one", "two"})
    expect_contains(content_of(place / "out" / name / "deck.ini"), "plugins = " + plugin + "\n");
  EXPECT_EQ(content_of(place / "out/tiny/deck.ini").find("softsign"), std::string::npos);
}

TEST(Compare, ARunsTimesAreItsOwn) {
  const Decks place;
  place.put("long.ini", deck_with({{"epochs = 2", "epochs = 400"}}));
  expect_success(place.run({"run", "long.ini", "tiny.ini", "-o", "out", "--quiet"}));
  const auto seconds = [&](const std::string& name) {
    return hdf5::File::open(place / "out" / name / "checkpoint.h5").attribute_number("/", "seconds");
  };
  EXPECT_LT(seconds("tiny"), seconds("long"));
  const hdf5::File results = hdf5::File::open(place / "out/tiny/results.h5");
  const std::vector<std::string> regions = results.read_strings("time/names");
  const auto calls = results.read<std::int64_t>("time/calls", {static_cast<std::int64_t>(regions.size())});
  std::map<std::string, std::int64_t> calls_of;
  for (std::size_t i = 0; i < regions.size(); ++i) calls_of[regions[i]] = calls[i];
  EXPECT_EQ(calls_of.at("run"), 1);
  EXPECT_EQ(calls_of.at("run/epoch"), 2);
  EXPECT_EQ(calls_of.count("report"), 0U);  // of the run before
}

TEST(Compare, ARunsMemoryIsFreeForTheNext) {
  if (is_watched) GTEST_SKIP() << "a sanitizer keeps freed memory to itself";
  const Decks place;
  const std::string deck = deck_with({{"functions = 10", "functions = 2000"},
                                      {"width = 8", "width = 2"},
                                      {"heads = 2", "heads = 1"},
                                      {"hidden = 16", "hidden = 2"},
                                      {"x = -3 3 0.5", "x = -3 3 0.01"},
                                      {"batch = 4", "batch = 16"},
                                      {"epochs = 2", "steps = 1"}});
  for (const char* name : {"a.ini", "b.ini", "c.ini"}) place.put(name, deck);
  const Ended one = place.run({"run", "a.ini", "-o", "one"});
  expect_success(one);
  const Ended three = place.run({"run", "a.ini", "b.ini", "c.ini", "-o", "three"});
  expect_success(three);
  const double sets = 2000 * 600 * (2 + 1) * 4;  // inputs and targets of one set of the three
  EXPECT_GT(one.most_memory, 3 * sets);
  EXPECT_LT(three.most_memory, one.most_memory + sets);
}

TEST(Compare, EveryDeckIsCheckedBeforeTheFirstIsTrained) {
  const Decks place;
  place.put("wrong.ini", deck_with({{"batch = 4", "batch = four"}}));
  place.put("large.ini", deck_with({{"width = 8", "width = 8192"}, {"blocks = 1", "blocks = 300"}}));
  const std::vector<std::string> before = place.files();
  const auto expect_refused = [&](const std::string& deck, const std::string& part) {
    const Ended ended = place.run({"run", "tiny.ini", deck, "-o", "out"});
    expect_contains(expect_sentence(ended, 2), part);
    EXPECT_EQ(ended.out, "");
    EXPECT_EQ(place.files(), before);
  };
  expect_refused("wrong.ini", "wrong.ini:16: ");
  expect_refused("missing.ini", "missing.ini");
  expect_refused("large.ini", "large.ini: this run needs ");
}

TEST(Compare, DecksOfOneNameAreRefused) {
  const Decks place;
  fs::create_directory(place / "other");
  place.put("other/tiny.ini", tiny_deck);
  place.put("figures.ini", tiny_deck);
  const auto refused = [&](const std::string& deck) {
    const std::string sentence = expect_sentence(place.run({"run", "tiny.ini", deck, "-o", "out"}), 2);
    EXPECT_FALSE(fs::exists(place / "out"));
    return sentence;
  };
  expect_contains(refused("other/tiny.ini"), "tiny.ini and other/tiny.ini would both have their run in out/tiny;");
  expect_contains(refused("tiny.ini"), "tiny.ini and tiny.ini would both");
  expect_contains(refused("figures.ini"), "the run of figures.ini would be in out/figures,");
}

TEST(Compare, AnotherComparisonIsKeptUnlessItIsToBeReplaced) {
  const Decks place;
  expect_success(place.run({"run", "tiny.ini", "wide.ini", "-o", "out"}));
  const std::string table = content_of(place / "out/comparison.csv");
  expect_contains(expect_sentence(place.run({"run", "rich.ini", "other.ini", "-o", "out"}), 2),
                  "out holds a comparison already (comparison.csv)");
  fs::remove(place / "out/comparison.csv");
  expect_contains(expect_sentence(place.run({"run", "rich.ini", "wide.ini", "-o", "out"}), 2),
                  "out/wide holds a run already (deck.ini)");
  EXPECT_FALSE(fs::exists(place / "out/rich"));
  expect_success(place.run({"run", "rich.ini", "wide.ini", "-o", "out", "--overwrite"}));
  EXPECT_EQ(decks_in(place / "out"), (std::vector<std::string>{"rich", "wide"}));
}

TEST(Compare, ANumericalFailureOfOneDeckLeavesTheOthers) {
  const Decks place;
  place.put("wild.ini", deck_with({{"learning_rate = 1e-3", "learning_rate = 1e30"}, {"epochs = 2", "epochs = 20"}}));
  const Ended ended = place.run({"run", "tiny.ini", "wild.ini", "wide.ini", "-o", "out"});
  EXPECT_EQ(ended.status, 3);
  const std::vector<std::string> complaints = lines_of(ended.err);
  ASSERT_EQ(complaints.size(), 2U) << ended.err;
  expect_contains(complaints[0], "ridgeline: warning: the run of wild.ini failed: ");
  EXPECT_EQ(complaints[1], "ridgeline: 1 of 3 runs failed numerically: wild.ini; the others are compared.");
  EXPECT_EQ(decks_in(place / "out"), (std::vector<std::string>{"tiny", "wide"}));
  EXPECT_FALSE(fs::exists(place / "out/wild/results.h5"));
  expect_contains(content_of(place / "out/wild/log.txt"), "failed: ");
  EXPECT_EQ(content_of(place / "out/wide/log.txt").find("failed"), std::string::npos);
}

TEST(Compare, WhereAllDecksFailThereIsNothingToCompare) {
  const Decks place;
  const Ended ended = place.run(
      with_settings({"run", "tiny.ini", "wide.ini", "-o", "out"}, {"train.learning_rate=1e30", "train.epochs=20"}));
  EXPECT_EQ(ended.status, 3);
  expect_contains(ended.err, "2 of 2 runs failed numerically: tiny.ini and wide.ini; there is nothing to compare.\n");
  EXPECT_FALSE(fs::exists(place / "out/comparison.csv"));
}

const std::vector<std::string> long_run = {"data.functions=120", "train.batch=2", "train.epochs=20"};

TEST(Compare, AStopEndsTheCommandAndResumeGoesOnWithTheRest) {
  const Decks place;
  const Arguments command = with_settings({"run", "wide.ini", "tiny.ini", "rich.ini", "-o", "out"}, long_run);
  Surroundings surroundings;
  surroundings.interrupts = {{SIGTERM, "deck 2 of 3: tiny.ini\ntiny: ", 10}};
  const Ended ended = place.run(command, surroundings);
  expect_contains(expect_sentence(ended, 75), "out/tiny/checkpoint.h5 holds the run, and --resume continues it.");
  EXPECT_FALSE(fs::exists(place / "out/comparison.csv"));
  EXPECT_TRUE(files_below(place / "out/rich").empty());
  const std::string report = content_of(place / "out/wide/report.html");

  Arguments again = command;
  again.emplace_back("--resume");
  const Ended resumed = place.run(again);
  expect_success(resumed);
  expect_contains(resumed.out, "deck 1 of 3: wide.ini, trained already\n");
  expect_contains(resumed.out, "resumed after step ");
  EXPECT_EQ(content_of(place / "out/wide/report.html"), report);  // not even drawn again
  EXPECT_EQ(decks_in(place / "out"), (std::vector<std::string>{"wide", "tiny", "rich"}));
  expect_success(place.run(with_settings({"run", "tiny.ini", "-o", "whole"}, long_run)));
  expect_same_outcome(place / "out/tiny", place / "whole");
}

TEST(Compare, ResumeAddsADeckAndTrainsALongerRunOn) {
  const Decks place;
  expect_success(place.run({"run", "tiny.ini", "wide.ini", "-o", "out"}));
  const Ended more = place.run({"run", "tiny.ini", "wide.ini", "rich.ini", "-o", "out", "--resume"});
  expect_success(more);
  expect_contains(more.out, "deck 2 of 3: wide.ini, trained already\n");
  EXPECT_EQ(decks_in(place / "out"), (std::vector<std::string>{"tiny", "wide", "rich"}));
  const Ended longer = place.run({"run", "tiny.ini", "wide.ini", "-o", "out", "--resume", "--set", "train.epochs=4"});
  expect_success(longer);
  EXPECT_EQ(longer.out.find("trained already"), std::string::npos) << longer.out;
  EXPECT_EQ(read_table(place / "out/comparison.csv").at(1).at(2), "12");
  const Ended other = place.run({"run", "tiny.ini", "wide.ini", "-o", "out", "--resume", "--set", "model.width=4"});
  expect_contains(expect_sentence(other, 2), "they differ in model.width (4, was 8)");
}

/// What was there when a deck's run ended: results that are older than a checkpoint do not count as its.
TEST(Compare, ResultsOlderThanTheCheckpointAreMadeAgain) {
  const Decks place;
  expect_success(place.run({"run", "tiny.ini", "wide.ini", "-o", "out"}));
  fs::last_write_time(place / "out/wide/checkpoint.h5", fs::file_time_type::clock::now());
  const Ended ended = place.run({"run", "tiny.ini", "wide.ini", "-o", "out", "--resume"});
  expect_success(ended);
  expect_contains(ended.out, "deck 1 of 2: tiny.ini, trained already\n");
  expect_contains(ended.out, "deck 2 of 2: wide.ini\n");
}

TEST(Compare, TheTimeLimitIsThatOfTheWholeCommand) {
  const Decks place;
  const Ended ended = place.run(with_settings({"run", "tiny.ini", "wide.ini", "-o", "out", "--time-limit", "0:00:03"},
                                              {"train.epochs=100000", "run.checkpoint_every=1000"}));
  expect_contains(expect_sentence(ended, 75), "stopped by the time limit of 3 s");
  EXPECT_TRUE(files_below(place / "out/wide").empty());
}

}  // namespace
}  // namespace ridgeline::program

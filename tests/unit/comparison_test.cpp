#include "report/comparison.hpp"

#include <limits>

#include <gtest/gtest.h>

#include "report/gnuplot.hpp"
#include "unit/files_support.hpp"

namespace ridgeline::report {
namespace {

using test::content_of;
using test::expect_contains;
using test::file_error;
using test::put;
using test::TemporaryFolder;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

Metrics metrics_of(double mse) {
  return {{"mse", mse}, {"mse_hidden", 2 * mse}, {"mse_shown", not_a_number}, {"relative_l2", 3 * mse}};
}

ComparedRun run_of(const std::string& name, double mse, const std::vector<std::string>& sets = {"train", "id"}) {
  ComparedRun run;
  run.name = name;
  run.facts = {{"parameters", "1234"}, {"model", "of " + name}, {"host", "here"}, {"threads", "2"}};
  run.deck = "[model]\nwidth = 8\n[train]\nbatch = 4\n";
  run.history.sets = sets;
  for (int epoch = 1; epoch <= 4; ++epoch) {
    HistoryRow row;
    row.epoch = epoch;
    row.step = 10 * epoch;
    row.loss = mse * (5 - epoch);
    row.seconds = 0.5;
    row.set_values.resize(sets.size());
    run.history.rows.push_back(row);
  }
  for (const std::string& set : sets) run.sets.push_back({set, {}, metrics_of(mse)});
  return run;
}

TEST(Comparison, CsvHasARowARunAndColumnsForTheSetsOfAll) {
  ComparedRun longer = run_of("b", 0.5, {"train", "far"});
  longer.history.rows.pop_back();
  EXPECT_EQ(comparison_csv({run_of("a", 0.25, {"train"}), longer}),
            "deck,parameters,steps,seconds,steps_per_second,loss,train_mse,train_mse_hidden,train_mse_shown,"
            "train_relative_l2,far_mse,far_mse_hidden,far_mse_shown,far_relative_l2\n"
            "a,1234,40,2,20,0.25,0.25,0.5,,0.75,,,,\n"
            "b,1234,30,1.5,20,1,0.5,1,,1.5,0.5,1,,1.5\n");
}

TEST(Comparison, CsvOfARunWithoutSteps) {
  ComparedRun run = run_of("a", 1, {"train"});
  run.history.rows.clear();
  expect_contains(comparison_csv({run}), "\na,1234,0,0,,,1,2,,3\n");
}

TEST(Comparison, NamesComeBackFromTheCsv) {
  const std::vector<std::string> names = {"plain", "a, b", "say \"so\"", "two\nlines", "größer"};
  std::vector<ComparedRun> runs;
  for (const std::string& name : names) runs.push_back(run_of(name, 1));
  EXPECT_EQ(names_in_comparison(comparison_csv(runs), "x"), names);
}

TEST(Comparison, RefusesAnotherTable) {
  const auto refused = [](const std::string& csv) { return file_error([&] { names_in_comparison(csv, "some.csv"); }); };
  expect_contains(refused(""), "some.csv is no comparison");
  expect_contains(refused("deck,steps\n"), "some.csv is no comparison");
  expect_contains(refused("name,steps\na,1\n"), "no column `deck`");
  expect_contains(refused("deck,steps\na\n"), "a row has 1 field, and its header has 2");
  expect_contains(refused("deck,steps\n\"a,1\n"), "a row has 1 field");
}

TEST(Comparison, DifferencesAreThoseOfAnyTwoDecksInTheirOrder) {
  std::vector<ComparedRun> runs = {run_of("a", 1), run_of("b", 1), run_of("c", 1)};
  runs[1].deck = "[model]\nwidth = 16\nblocks = 2\n[attention.x]\nheads = 2\n[train]\nbatch = 4\n";
  runs[2].deck = "[model]\nwidth = 8\n[train]\nbatch = 4\nepochs = 3\n";
  const std::vector<DeckDifference> differences = deck_differences(runs);
  std::vector<std::string> keys;
  for (const DeckDifference& difference : differences) keys.push_back(difference.section + "." + difference.key);
  EXPECT_EQ(keys, (std::vector<std::string>{"model.width", "model.blocks", "attention.x.heads", "train.epochs"}));
  using Values = std::vector<std::optional<std::string>>;
  EXPECT_EQ(differences.at(0).values, (Values{"8", "16", "8"}));
  EXPECT_EQ(differences.at(2).values, (Values{std::nullopt, "2", std::nullopt}));
  EXPECT_TRUE(deck_differences({runs[0], runs[0]}).empty());
}

TEST(Comparison, PageMarksTheBestAndEscapesWhatDecksSay) {
  std::vector<ComparedRun> runs = {run_of("a <b> & #1", 0.25), run_of("c", 0.125), run_of("d", 0.5, {"train", "far"})};
  runs[1].deck = "[model]\nwidth = <16>\n[train]\nbatch = 4\n";
  runs[1].facts["host"] = "there";
  const std::string page = comparison_html("all & sundry", runs, {}, "no <pictures>");
  expect_contains(page, "<h1>all &amp; sundry</h1>");
  expect_contains(page, "Comparison of 3 Ridgeline runs");
  expect_contains(page, "<p class=\"notice\">no &lt;pictures&gt;</p>");
  expect_contains(page, "<a href=\"a%20%3Cb%3E%20%26%20%231/report.html\">a &lt;b&gt; &amp; #1</a>");
  expect_contains(page, "<td>[model] width</td>");
  expect_contains(page, "&lt;16&gt;");
  EXPECT_EQ(page.find("[train] batch"), std::string::npos);
  expect_contains(page, "<dt>threads</dt><dd>2</dd>");
  EXPECT_EQ(page.find("<dt>host</dt>"), std::string::npos);
  // c is the best of train and of id, by both figures; far has one run only, which is none to be better than.
  std::size_t bold = 0;
  for (std::size_t at = page.find("<strong>"); at != std::string::npos; at = page.find("<strong>", at + 1)) ++bold;
  EXPECT_EQ(bold, 4U);
  expect_contains(page, "<td><strong>0.125</strong></td><td><strong>0.375</strong></td>");
}

TEST(Comparison, TableForTheScreenKeepsItsColumns) {
  const std::string table = comparison_table({run_of("größer", 0.25), run_of("b", 0.5, {"train"})});
  EXPECT_EQ(table,
            "deck    parameters    seconds    steps/s    train mse       id mse\n"
            "größer        1234          2         20         0.25         0.25\n"
            "b             1234          2         20          0.5            -");
}

ComparedRun run_of_images(const std::string& name) {
  ComparedRun run = run_of(name, 1, {"train"});
  run.sets = {{"train", {}, {{"bits_per_dimension", 1.75}, {"cross_entropy", 1.5}, {"accuracy", 0.5}}}};
  return run;
}

TEST(Comparison, TableForTheScreenHasTheFigureOfEveryTask) {
  EXPECT_EQ(comparison_table({run_of("sine", 0.25, {"train"}), run_of_images("digits")}),
            "deck    parameters    seconds    steps/s    train mse  train bits/dim\n"
            "sine          1234          2         20         0.25               -\n"
            "digits        1234          2         20            -            1.75");
}

TEST(Comparison, PageExplainsWhatItShows) {
  const std::string of_one_task = comparison_html("one", {run_of("sine", 0.25)}, {}, "");
  EXPECT_EQ(of_one_task.find("there are no such points"), std::string::npos);
  const std::string of_two = comparison_html("two", {run_of("sine", 0.25, {"train"}), run_of_images("digits")}, {}, "");
  EXPECT_EQ(of_two.find("<td>–</td>"), std::string::npos);
  expect_contains(of_two, "Empty: the deck has no such set, or its task no such figure.");
}

/// All that gnuplot says to a picture of these runs; nothing where it draws it.
std::string complaint_about(const std::vector<ComparedRun>& runs) {
  const TemporaryFolder folder;
  const Drawn drawn = draw(comparison_figure(runs), *find_program("gnuplot"), folder.path());
  if (drawn.complaint.empty()) expect_contains(drawn.svg, "</svg>");
  return drawn.complaint;
}

TEST(Comparison, PictureOfFewAndOfManyRuns) {
  if (!find_program("gnuplot")) GTEST_SKIP() << "gnuplot is not installed";
  std::vector<ComparedRun> runs;
  for (int number = 1; number <= 9; ++number) {
    runs.push_back(run_of("it's {a} run_" + std::to_string(number) + std::string(60, 'x'), 0.1 * number));
    EXPECT_EQ(complaint_about(runs), "") << number;
  }
  runs.resize(2);
  runs[0].history.rows.resize(1);
  runs[0].sets[0].trained = {{"mse", not_a_number}};
  runs[1].history.rows.clear();
  EXPECT_EQ(complaint_about(runs), "");
  runs[0].history.rows.clear();
  EXPECT_EQ(complaint_about(runs), "");
  for (ComparedRun& run : runs) run.sets.clear();
  EXPECT_EQ(comparison_figure(runs).script, "");
}

TEST(Comparison, LegendTellsLongNamesApart) {
  const std::string begin(40, 'a'), end(40, 'z');
  const std::string script = comparison_figure({run_of(begin + "1" + end, 1), run_of(begin + "2" + end, 2)}).script;
  expect_contains(script, "'1: aaa");
  expect_contains(script, "'2: aaa");
}

}  // namespace
}  // namespace ridgeline::report

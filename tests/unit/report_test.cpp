#include "report/report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include <gtest/gtest.h>
#include <unistd.h>

#include "io/history.hpp"
#include "io/results.hpp"
#include "report/curve.hpp"
#include "report/figures.hpp"
#include "report/gnuplot.hpp"
#include "report/html.hpp"
#include "report/kernel_section.hpp"
#include "report/time_summary.hpp"
#include "report/time_tree.hpp"
#include "unit/files_support.hpp"

namespace ridgeline {
namespace {

using test::content_of;
using test::expect_contains;
using test::file_error;
using test::put;
using test::TemporaryFolder;

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// Sets an environment variable while it lives.
class Environment {
 public:
  Environment(const char* name, const std::string& value) : name_(name) {
    const char* former = std::getenv(name);
    if (former != nullptr) {
      former_ = former;
    }
    ::setenv(name, value.c_str(), 1);
  }
  ~Environment() {
    if (former_) {
      ::setenv(name_, former_->c_str(), 1);
    } else {
      ::unsetenv(name_);
    }
  }
  Environment(const Environment&) = delete;
  Environment& operator=(const Environment&) = delete;

 private:
  const char* name_;
  std::optional<std::string> former_;
};

ResultSet<double> sine_set(const std::string& name, std::int64_t samples, std::int64_t tokens) {
  ResultSet<double> set;
  set.name = name;
  set.samples = samples;
  set.tokens = tokens;
  set.channels = 2;
  set.targets = 1;
  for (std::int64_t sample = 0; sample < samples; ++sample) {
    for (std::int64_t token = 0; token < tokens; ++token) {
      const double x = -6 + 0.1 * static_cast<double>(token);
      const double y = std::sin(x - static_cast<double>(sample));
      set.shown.push_back(token % 30 == 0 ? 1 : 0);
      set.inputs.insert(set.inputs.end(), {x, token % 30 == 0 ? y : 0});
      set.truth.push_back(y);
      set.predictions.push_back(0.9 * y);
      set.untrained_predictions.push_back(0.1);
    }
  }
  set.trained = {{"mse", 0.01}, {"mse_hidden", 0.011}, {"mse_shown", 0.009}, {"relative_l2", 0.1}};
  set.untrained = {{"mse", 0.5}, {"mse_hidden", 0.51}, {"mse_shown", 0.49}, {"relative_l2", 1}};
  return set;
}

Results<double> sine_results() {
  Results<double> results;
  results.sets = {sine_set("train", 8, 120), sine_set("ood <x> & 'y'", 2, 1)};
  results.time = {{"train", 10, 5}, {"train/forward", 4, 5}, {"evaluation", 1, 1}};
  results.facts = {{"task", "sine"}, {"host", "<script>alert(1)</script>"}};
  return results;
}

void write_run(const std::filesystem::path& folder) {
  History history;
  history.sets = {"train", "ood <x> & 'y'"};
  for (int epoch = 1; epoch <= 3; ++epoch) {
    const std::optional<double> mse = epoch == 2 ? std::nullopt : std::optional<double>(2.0 / epoch);
    history.rows.push_back({epoch, 10 * epoch, 1.0 / epoch, 1e-4, 1, 1000, {mse, mse}});
  }
  history.write(folder / "history.csv");
  write_results(folder / "results.h5", sine_results());
  put(folder / "deck.ini", "[run]\nseed = 1  # <b>&\n");
}

/// A folder to stand alone on PATH, with a program called gnuplot that runs these shell commands.
void write_gnuplot(const std::filesystem::path& folder, const std::string& commands) {
  put(folder / "gnuplot", "#!/bin/sh\n" + commands + "\n");
  std::filesystem::permissions(folder / "gnuplot", std::filesystem::perms::owner_all);
}

TEST(Report, DrawsEveryPicture) {
  if (!report::find_program("gnuplot")) {
    GTEST_SKIP() << "gnuplot is not installed";
  }
  const TemporaryFolder folder;
  write_run(folder.path());
  const Report report = draw_report(folder.path());
  EXPECT_EQ(report.without_pictures, "");
  EXPECT_EQ(report.html, folder / "report.html");
  EXPECT_EQ(report.figures.size(), 10U);
  for (const char* name : {"loss", "metrics", "time", "predictions_train", "predictions_ood__x_____y_"}) {
    const std::filesystem::path svg = folder / "figures" / (std::string(name) + ".svg");
    const std::filesystem::path png = folder / "figures" / (std::string(name) + ".png");
    expect_contains(content_of(svg), "</svg>");
    EXPECT_EQ(content_of(png).substr(0, 4), "\x89PNG") << png;
  }
  const std::string html = content_of(report.html);
  expect_contains(html, "data:image/svg+xml;base64,");
  expect_contains(html, "seed = 1  # &lt;b&gt;&amp;");
  expect_contains(html, "&lt;script&gt;");
  expect_contains(html, "ood &lt;x&gt; &amp; &#39;y&#39;");
  EXPECT_EQ(html.find("<script"), std::string::npos);
  EXPECT_EQ(html.find("http://"), std::string::npos);
  EXPECT_EQ(html.find("https://"), std::string::npos);
}

TEST(Report, TellsOfKernelsWhereTheRunWasProfiled) {
  KernelTimes times;
  times.seconds = 10;
  times.operations_per_second = 80e9;
  times.kernels = {{"ridgeline::gemm", "forward/<ffn>", 400, 4, 160e9}, {"small & rare", "loss", 2, 0.01, 0}};
  const std::string html = report::kernel_section(times);
  expect_contains(html, "<h2>Kernels</h2>");
  expect_contains(html,
                  "<td class=\"name\">ridgeline::gemm</td><td>forward/&lt;ffn&gt;</td><td>400</td><td>4.00 s</td>"
                  "<td>10.0 ms</td><td>40.0 %</td><td>40.0</td><td>50 %</td>");
  EXPECT_GT(html.find("small &amp; rare"), html.find("<details>"));
  expect_contains(html, "<td class=\"name\">1 other, below</td>");
  expect_contains(html, "<td class=\"name\">outside kernels</td><td></td><td></td><td>5.99 s</td>");
  EXPECT_EQ(report::kernel_section({}), "");
}

TEST(Report, IsTheSameWhenDrawnAgain) {
  const TemporaryFolder folder;
  write_run(folder.path());
  const std::string first = content_of(draw_report(folder.path()).html);
  EXPECT_EQ(content_of(draw_report(folder.path()).html), first);
}

TEST(Report, IsWrittenWithoutGnuplot) {
  const TemporaryFolder folder;
  write_run(folder.path());
  const Environment path("PATH", (folder / "none").string());
  const Report report = draw_report(folder.path());
  expect_contains(report.without_pictures, "pictures need gnuplot");
  EXPECT_TRUE(report.figures.empty());
  EXPECT_FALSE(std::filesystem::exists(folder / "figures"));
  const std::string html = content_of(report.html);
  expect_contains(html, "pictures need gnuplot");
  expect_contains(html, "0.0100");
  EXPECT_EQ(html.find("<img"), std::string::npos);
}

TEST(Report, IsWrittenWithoutATemporaryFolder) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "run");
  std::filesystem::create_directory(folder / "bin");
  write_run(folder / "run");
  write_gnuplot(folder / "bin", "exit 0");
  const Environment path("PATH", (folder / "bin").string());
  const Environment temporary("TMPDIR", "/proc");
  const Report report = draw_report(folder / "run");
  expect_contains(report.without_pictures, "pictures need a temporary folder");
  expect_contains(content_of(report.html), "cannot make a temporary folder /proc/");
}

TEST(Report, RemovesPicturesOfSetsThatAreGone) {
  const TemporaryFolder folder;
  const std::filesystem::path figures = folder / "run/figures";
  std::filesystem::create_directories(figures);
  std::filesystem::create_directory(folder / "bin");
  write_run(folder / "run");
  const std::vector<std::string> old{"predictions_old.svg", "predictions_old.png", "generated.svg",
                                     "generated.png",       "score_biases.svg",    "score_biases.png"};
  const std::vector<std::string> others{"predictions_old.txt", "notes.svg", "predictions_train.svg"};
  const auto put_all = [&] {
    for (const auto* names : {&old, &others}) {
      for (const std::string& name : *names) {
        put(figures / name, "x");
      }
    }
  };
  const auto expect_removed = [&] {
    for (const std::string& name : old) {
      EXPECT_FALSE(std::filesystem::exists(figures / name)) << name;
    }
    for (const std::string& name : others) {
      EXPECT_TRUE(std::filesystem::exists(figures / name)) << name;
    }
  };
  const Environment path("PATH", (folder / "bin").string());
  put_all();
  draw_report(folder / "run");  // without gnuplot
  expect_removed();
  EXPECT_EQ(content_of(figures / "predictions_train.svg"), "x");
  put_all();
  write_gnuplot(folder / "bin", "cd \"${2%/*}\"; echo new > figure.svg; echo new > figure.png");
  EXPECT_EQ(draw_report(folder / "run").without_pictures, "");
  expect_removed();
  EXPECT_EQ(content_of(figures / "predictions_train.svg"), "new\n");
}

/// results.h5 with a bias of two heads for each of so many blocks.
void write_biases(const std::filesystem::path& folder, int blocks) {
  hdf5::write_atomically(folder / "results.h5", [&](hdf5::File& file) {
    write_result_set(file, sine_set("train", 2, 3));
    write_time(file, {});
    write_facts(file, {}, {"train"});
    for (int block = 0; block < blocks; ++block)
      file.write<double>("score_biases/block " + std::to_string(block), {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, {2, 5});
  });
}

/// The script of the picture of biases: all that is drawn by a gnuplot that copies its script.
std::string script_of_biases(const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder / "bin");
  write_gnuplot(folder / "bin",
                "cd \"${2%/*}\"; while read -r line; do echo \"$line\"; done < \"$2\" > figure.svg; echo > figure.png");
  const Environment path("PATH", (folder / "bin").string());
  EXPECT_EQ(draw_report(folder).without_pictures, "");
  return content_of(folder / "figures/score_biases.svg");
}

TEST(Report, ShowsBiasesOfBlocksByTheirNumbers) {
  const TemporaryFolder folder;
  write_biases(folder.path(), 11);
  const std::string script = script_of_biases(folder.path());
  std::size_t last = 0;
  for (int block = 0; block < 11; ++block) {
    const std::size_t at = script.find("'block " + std::to_string(block) + "'");
    ASSERT_NE(at, std::string::npos) << block;
    EXPECT_GT(at, last) << block;
    last = at;
  }
}

TEST(Report, ShowsTheHeadsThatTheDeckAsksFor) {
  const TemporaryFolder folder;
  write_biases(folder.path(), 1);
  const auto shows = [&](int head) {
    return script_of_biases(folder.path()).find("'head " + std::to_string(head) + "'") != std::string::npos;
  };
  put(folder / "deck.ini", "[report]\ntisa_heads = 01\n");
  EXPECT_FALSE(shows(0));
  EXPECT_TRUE(shows(1));
  // All of them where no deck says.
  put(folder / "deck.ini", "");
  EXPECT_TRUE(shows(0) && shows(1));
  std::filesystem::remove(folder / "deck.ini");
  EXPECT_TRUE(shows(0) && shows(1));
}

TEST(Report, OfADeckThatCannotBeUnderstoodIsRefused) {
  const TemporaryFolder folder;
  write_biases(folder.path(), 1);
  for (const char* deck : {"no deck at all\n", "[report]\ntisa_heads = first\n", "[report]\ntisa_heads = 0 all\n"}) {
    put(folder / "deck.ini", deck);
    expect_contains(file_error([&] { draw_report(folder.path()); }), (folder / "deck.ini").string());
  }
}

TEST(Report, SaysWhyAFolderCannotBeRead) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink("history.csv", folder / "history.csv");  // to itself: root cannot read it either
  const std::string sentence = file_error([&] { draw_report(folder.path()); });
  expect_contains(sentence, "cannot read");
  expect_contains(sentence, "symbolic links");
  if (::geteuid() == 0) {
    GTEST_SKIP() << "root may read anything";
  }
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_read);
  expect_contains(file_error([&] { draw_report(folder.path()); }), "Permission denied");
  std::filesystem::permissions(folder.path(), std::filesystem::perms::owner_all);
}

TEST(Report, SaysWhatGnuplotSaid) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "run");
  std::filesystem::create_directory(folder / "bin");
  write_run(folder / "run");
  write_gnuplot(folder / "bin", "echo '\"script\", line 7: unknown terminal' >&2; exit 1");
  const Environment path("PATH", (folder / "bin").string());
  const Report report = draw_report(folder / "run");
  expect_contains(report.without_pictures, "could not draw");
  expect_contains(report.without_pictures, "line 7: unknown terminal");
  expect_contains(content_of(report.html), "line 7: unknown terminal");
}

TEST(Report, SurvivesAGnuplotThatDrawsNothingOrDies) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "run");
  std::filesystem::create_directory(folder / "bin");
  write_run(folder / "run");
  const Environment path("PATH", (folder / "bin").string());
  write_gnuplot(folder / "bin", "exit 0");
  expect_contains(draw_report(folder / "run").without_pictures, "drew nothing");
  write_gnuplot(folder / "bin", "kill -9 $$");
  expect_contains(draw_report(folder / "run").without_pictures, "signal 9");
}

TEST(Report, DrawsWhatIsThere) {
  const TemporaryFolder folder;
  write_run(folder.path());
  std::filesystem::remove(folder / "results.h5");
  std::filesystem::remove(folder / "deck.ini");
  EXPECT_NO_THROW(draw_report(folder.path()));
  write_run(folder.path());
  std::filesystem::remove(folder / "history.csv");
  EXPECT_NO_THROW(draw_report(folder.path()));
}

TEST(Report, RefusesWhatIsNoRun) {
  const TemporaryFolder folder;
  expect_contains(file_error([&] { draw_report(folder.path()); }), "holds no run");
  expect_contains(file_error([&] { draw_report(folder / "none"); }), "is not a folder");
  put(folder / "history.csv", "nonsense\n");
  expect_contains(file_error([&] { draw_report(folder.path()); }), "history.csv, line 1");
  std::filesystem::remove(folder / "history.csv");
  put(folder / "results.h5", "nonsense");
  expect_contains(file_error([&] { draw_report(folder.path()); }), "results.h5");
  EXPECT_FALSE(std::filesystem::exists(folder / "report.html"));
}

TEST(Report, HoldsStrangeData) {
  const TemporaryFolder folder;
  Results<double> results;
  results.sets = {sine_set("empty", 0, 10), sine_set("no tokens", 3, 0), sine_set("long", 1, 3000),
                  sine_set("not finite", 3, 20), sine_set("no channel", 2, 20)};
  ResultSet<double>& broken = results.sets[3];
  std::fill(broken.predictions.begin(), broken.predictions.begin() + 20, not_a_number);
  std::fill(broken.truth.begin() + 20, broken.truth.end(), not_a_number);
  broken.inputs[1] = std::numeric_limits<double>::infinity();
  broken.trained = {};
  ResultSet<double>& without = results.sets[4];
  without.channels = 0;
  without.inputs.clear();
  without.shown.clear();
  without.untrained_predictions.clear();
  without.target_names = {"'; system 'touch " + (folder / "run").string() + "'"};
  write_results(folder / "results.h5", results);
  const Report report = draw_report(folder.path());
  if (report::find_program("gnuplot")) {
    EXPECT_EQ(report.without_pictures, "");
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "run"));
}

TEST(ReportText, EscapesMarkup) {
  EXPECT_EQ(report::escaped("<a href=\"x\">'&'</a>\r\n"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt;\n");
  EXPECT_EQ(report::escaped("größe"), "größe");
  EXPECT_EQ(report::escaped("\xff\x01"), "\xEF\xBF\xBD\xEF\xBF\xBD");
}

TEST(ReportText, EncodesBase64) {
  EXPECT_EQ(report::base64(""), "");
  EXPECT_EQ(report::base64("M"), "TQ==");
  EXPECT_EQ(report::base64("Ma"), "TWE=");
  EXPECT_EQ(report::base64("Man"), "TWFu");
  EXPECT_EQ(report::base64("\xff\xff\xfe"), "///+");
}

TEST(ReportText, ShortensNumbers) {
  EXPECT_EQ(report::short_number(0.07812), "0.0781");
  EXPECT_EQ(report::short_number(1), "1.00");
  EXPECT_EQ(report::short_number(0), "0");
  EXPECT_EQ(report::short_number(123.4), "123");
  EXPECT_EQ(report::short_number(12345.6), "12346");
  EXPECT_EQ(report::short_number(1.2e-7), "1.20&thinsp;×&thinsp;10<sup>-7</sup>");
  EXPECT_EQ(report::short_number(not_a_number), "–");
  EXPECT_EQ(report::short_number(-std::numeric_limits<double>::infinity()), "−∞");
}

TEST(ReportText, TellsDurations) {
  EXPECT_EQ(report::duration(0.0123), "0.0123 s");
  EXPECT_EQ(report::duration(59.96), "60.0 s");
  EXPECT_EQ(report::duration(185), "3 min 05 s");
  EXPECT_EQ(report::duration(7620), "2 h 07 min");
  EXPECT_EQ(report::duration(not_a_number), "–");
}

TEST(ReportText, QuotesForGnuplot) {
  EXPECT_EQ(report::gnuplot_string("it's `ls` $(x)\n\"y\""), "'it’s `ls` $(x) \"y\"'");
}

TEST(ReportFigures, HaveDifferentNames) {
  EXPECT_EQ(report::prediction_names({"train", "a b", "a_b", "../x", "größe"}),
            (std::vector<std::string>{"predictions_train", "predictions_a_b", "predictions_a_b_2", "predictions_.._x",
                                      "predictions_gr____e"}));
  EXPECT_LT(report::prediction_names({std::string(300, 'x')})[0].size(), 150U);
}

TEST(ReportFigures, LeaveOutWhatALogarithmicAxisCannotShow) {
  History history;
  history.sets = {"train"};
  history.rows = {{1, 1, not_a_number, 0, 0, 0, {0.0}}, {2, 2, -1, 0, 0, 0, {std::nullopt}}};
  EXPECT_EQ(report::loss_figure(history).script, "");
  EXPECT_EQ(report::metrics_figure({{"train", {}, {}}}).script, "");
  EXPECT_EQ(report::time_figure({}).script, "");
  history.rows.push_back({3, 3, 0.5, 0, 0, 0, {std::nullopt}});
  EXPECT_EQ(report::loss_figure(history).data.size(), 1U);
}

TEST(ReportCurve, IsThinnedToItsExtremes) {
  std::vector<report::Point> curve;
  for (int index = 0; index < 10000; ++index) {
    curve.push_back({static_cast<double>(index), index == 5432 ? 9.0 : std::sin(index)});
  }
  const std::vector<report::Point> thin = report::thinned(curve, 800);
  EXPECT_LE(thin.size(), 800U);
  EXPECT_TRUE(std::any_of(thin.begin(), thin.end(), [](const report::Point& point) { return point.y == 9.0; }));
  EXPECT_TRUE(std::is_sorted(thin.begin(), thin.end(),
                             [](const report::Point& left, const report::Point& right) { return left.x < right.x; }));
  EXPECT_EQ(report::thinned(thin, 800).size(), thin.size());
}

TEST(ReportCurve, BreaksWhereItIsNotFinite) {
  EXPECT_EQ(report::columns({{0, 1}, {1, not_a_number}, {2, 3}}), "0 1\n\n2 3\n");
  EXPECT_FALSE(report::has_finite({{0, not_a_number}}));
}

TEST(ReportCurve, HasARangeThatCanBeDrawn) {
  report::Range range;
  EXPECT_GT(range.padded(0.1).length(), 0);
  range.include(not_a_number);
  EXPECT_TRUE(range.is_empty);
  range.include(1e12);
  EXPECT_GT(range.padded(0.1).length(), 1e6);
  range.include(2e12);
  EXPECT_DOUBLE_EQ(range.padded(0.1).low, 0.9e12);
}

TEST(TimeSummary, NamesLayersAndMergesWhatIsSpread) {
  const std::vector<report::TimeShare> shares = report::time_summary({{"run", 20, 1},
                                                                      {"run/evaluation", 2, 1},
                                                                      {"run/evaluation/encoder", 1, 1},
                                                                      {"run/epoch/step/data", 1, 1},
                                                                      {"run/epoch/step/forward", 5, 1},
                                                                      {"run/epoch/step/forward/encoder", 1, 1},
                                                                      {"run/epoch/step/forward/block 0/ffn/up", 3, 1},
                                                                      {"run/epoch/step/backward/block 0/ffn", 6, 1},
                                                                      {"run/epoch/evaluation", 4, 1}});
  std::vector<std::string> labels;
  double whole = 0;
  for (const report::TimeShare& share : shares) {
    labels.push_back(share.label);
    whole += share.seconds();
  }
  EXPECT_EQ(labels, (std::vector<std::string>{"evaluation", "data", "encoder", "block 0 ffn", "rest"}));
  EXPECT_DOUBLE_EQ(whole, 20);
  EXPECT_DOUBLE_EQ(shares[0].other, 6);
  EXPECT_DOUBLE_EQ(shares[3].forward, 3);
  EXPECT_DOUBLE_EQ(shares[3].backward, 6);
}

TEST(TimeTree, SharesOutTheWhole) {
  const std::vector<report::TimeNode> nodes = report::time_tree({{"train", 10, 2},
                                                                 {"train/forward/block 0/attention", 3, 4},
                                                                 {"data", 2, 1},
                                                                 {"train/forward/block 0/ffn", 1, 4},
                                                                 {"train/backward", 5, 2}});
  ASSERT_EQ(nodes.size(), 8U);
  const std::vector<std::string> paths{"train",
                                       "train/forward",
                                       "train/forward/block 0",
                                       "train/forward/block 0/attention",
                                       "train/forward/block 0/ffn",
                                       "train/backward",
                                       "train (rest)",
                                       "data"};
  const std::vector<double> seconds{10, 4, 4, 3, 1, 5, 1, 2};
  double leaves = 0;
  for (std::size_t index = 0; index < nodes.size(); ++index) {
    EXPECT_EQ(nodes[index].path, paths[index]);
    EXPECT_DOUBLE_EQ(nodes[index].seconds, seconds[index]);
    EXPECT_DOUBLE_EQ(nodes[index].share, seconds[index] / 12);
    leaves += nodes[index].is_leaf ? nodes[index].share : 0;
  }
  EXPECT_DOUBLE_EQ(leaves, 1);
  EXPECT_EQ(nodes[3].depth, 3);
  EXPECT_EQ(nodes[3].label, "attention");
}

TEST(TimeTree, TakesWhatClocksGive) {
  EXPECT_TRUE(report::time_tree({}).empty());
  const std::vector<report::TimeNode> nodes =
      report::time_tree({{"a", 1, 1}, {"a/b", 1.01, 1}, {"c", -1, 1}, {"/", 1, 1}});
  ASSERT_EQ(nodes.size(), 3U);
  EXPECT_DOUBLE_EQ(nodes[0].seconds, 1.01);
  EXPECT_DOUBLE_EQ(nodes[2].seconds, 0);
  EXPECT_EQ(report::time_tree({{"a", 0, 1}})[0].share, 0);
}

}  // namespace
}  // namespace ridgeline

// The commands that only look: help, version, layers, describe, check, report.
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_contains;

std::string output_of(const Arguments& arguments) {
  const Place place;
  const std::vector<std::string> before = place.files();
  const Ended ended = place.run(arguments);
  expect_success(ended);
  EXPECT_EQ(place.files(), before);
  return ended.out;
}

TEST(Look, HelpNamesEveryCommandAndStatus) {
  const std::string help = output_of({"--help"});
  for (const char* command :
       {"run DECK", "eval DECK", "check DECK", "layers", "describe", "conform KIND/NAME", "report DIR"})
    expect_contains(help, command);
  expect_contains(help, "inputs/sine.ini");
  EXPECT_EQ(output_of({"-h"}), help);
}

TEST(Look, HelpOfACommand) {
  for (const std::string command : {"run", "eval", "check", "layers", "describe", "conform", "report"}) {
    const std::string help = output_of({command, "--help"});
    expect_contains(help, "ridgeline " + command);
    EXPECT_EQ(output_of({"--help", command}), help);
  }
  for (const char* option : {"--set", "--overwrite", "--threads", "--quiet", "-o"})
    expect_contains(output_of({"run", "--help"}), option);
}

TEST(Look, VersionSaysWhatItIsBuiltOn) {
  const std::string version = output_of({"--version"});
  for (const char* part : {"Ridgeline ", "Kokkos ", "back end", "threads", "GEMM"}) expect_contains(version, part);
}

TEST(Look, Layers) {
  const std::string all = output_of({"layers"});
  for (const char* layer : {"attention/functional", "encoder/mlp", "ffn/mlp", "activation/gelu"})
    expect_contains(all, layer);
  const std::string some = output_of({"layers", "attention"});
  expect_contains(some, "attention/functional");
  EXPECT_EQ(some.find("ffn/mlp"), std::string::npos);
}

TEST(Look, DescribeALayer) {
  const std::string text = output_of({"describe", "attention/functional"});
  for (const char* part : {"heads", "basis", "ridge", "1e-4", "normalization", "joint", "per_head", "inner_product"})
    expect_contains(text, part);
  expect_contains(output_of({"describe", "activation/gelu"}), "no options");
}

TEST(Look, DescribeTheDeck) {
  const std::string text = output_of({"describe"});
  for (const char* part :
       {"[run]", "[data]", "[model]", "[train]", "[eval.NAME]", "resample", "gradient_clip", "width"})
    expect_contains(text, part);
  EXPECT_EQ(output_of({"describe", "deck"}), text);
}

TEST(Look, DescribeASection) {
  expect_contains(output_of({"describe", "train"}), "learning_rate");
  expect_contains(output_of({"describe", "data"}), "mask_channel");
  expect_contains(output_of({"describe", "eval"}), "amplitude");
  expect_contains(output_of({"describe", "attention.functional"}), "ridge");
}

TEST(Look, CheckSaysWhatARunWouldTake) {
  const std::string text = output_of({"check", "tiny.ini"});
  for (const char* part : {"encoder", "blocks.0.attention", "blocks.0.ffn", "head", "parameters", "GFLOP",
                           "peak memory", "6 steps", "2 epochs", "train (10 x 12)", "far (10 x 18)"})
    expect_contains(text, part);
  // 16+8 of the encoder, 4·(8·16)+3·16+8 and 2·(6·16)+2·6 of the attention, 2·(8·16)+16+8, norms 32, head 9
  expect_contains(text, "1117");
}

TEST(Look, CheckOfEveryDeckThatComesAlong) {
  int decks = 0;
  for (const auto& entry : fs::directory_iterator(fs::path(RIDGELINE_SOURCE_DIR) / "inputs")) {
    if (entry.path().extension() != ".ini") continue;
    ++decks;
    const Ended ended = run_program({"check", entry.path().string()});
    expect_success(ended);
    expect_contains(ended.out, "peak memory");
  }
  EXPECT_GE(decks, 1);
}

TEST(Look, CheckFindsWhatRunFinds) {
  const Place place;
  const Ended checked = place.run({"check", "tiny.ini", "--set", "train.batch=0"}),
              ran = place.run({"run", "tiny.ini", "--set", "train.batch=0"});
  EXPECT_EQ(expect_sentence(checked, 2), expect_sentence(ran, 2));
}

TEST(Look, ReportDrawsARunAgain) {
  const Place place;
  const fs::path run = place.train("out");
  const std::string page = content_of(run / "report.html");
  fs::remove(run / "report.html");
  const Ended ended = place.run({"report", "out"});
  expect_success(ended);
  expect_contains(ended.out, "out/report.html");
  EXPECT_EQ(content_of(run / "report.html"), page);
}

TEST(Look, ReportPageNeedsNothingElse) {
  const Place place;
  const std::string page = content_of(place.train("out") / "report.html");
  EXPECT_EQ(page.find("<script src"), std::string::npos);
  EXPECT_EQ(page.find("<link"), std::string::npos);
  for (const char* part : {"tiny", "relative", "far", "ridge = 1e-4", "attention"}) expect_contains(page, part);
}

}  // namespace
}  // namespace ridgeline::program

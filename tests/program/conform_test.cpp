// The conformance kit as a user runs it.
#include "program.hpp"

namespace ridgeline::program {
namespace {

using test::expect_contains;

TEST(Conform, ReportsEveryCheck) {
  const Place place;
  const std::vector<std::string> before = place.files();
  const Ended ended = place.run({"conform", "ffn/mlp", "--option", "hidden=3", "--option", "activation=tanh"});
  expect_success(ended);
  EXPECT_EQ(place.files(), before);
  for (const char* part : {"ffn/mlp", "built in", "gradients", "guard zones", "checkpoint", " passed, 0 failed, "})
    expect_contains(ended.out, part);
  EXPECT_EQ(ended.out.find("FAILED"), std::string::npos);
}

TEST(Conform, ReportsForMachines) {
  const Place place;
  const Ended ended = place.run({"conform", "activation/gelu", "--json"});
  expect_success(ended);
  for (const char* part : {R"("layer": "activation/gelu")", R"("conforms": true)", R"("checks": [)"})
    expect_contains(ended.out, part);
  EXPECT_EQ(ended.out.front(), '{');
}

std::string plugin(const std::string& name) {
  return (std::filesystem::path(RIDGELINE_BINARY_DIR) / "loaded" / ("loaded_" + name + ".so")).string();
}

TEST(Conform, TakesALayerOfAPlugin) {
  const Place place;
  const Ended ended = place.run({"conform", "activation/softsign", "--plugin", plugin("softsign")});
  expect_success(ended);
  expect_contains(ended.out, plugin("softsign"));
}

TEST(Conform, EndsWithStatusOneAndHowToSeeItAgain) {
  const Place place;
  const std::string command = "conform activation/wrong_slope --plugin " + plugin("wrong_slope");
  const Ended ended = place.run({"conform", "activation/wrong_slope", "--plugin", plugin("wrong_slope")});
  EXPECT_EQ(ended.status, 1);
  EXPECT_EQ(ended.err, "");
  for (const std::string& part : {std::string("gradients FAILED"), std::string("slope "),
                                  "  ridgeline " + command + "\n", std::string(" 1 failed, ")})
    expect_contains(ended.out, part);
  const Ended machine = place.run({"conform", "activation/wrong_slope", "--plugin", plugin("wrong_slope"), "--json"});
  EXPECT_EQ(machine.status, 1);
  for (const std::string& part : {std::string(R"("result": "failed")"), R"("command": "ridgeline )" + command + "\""})
    expect_contains(machine.out, part);
}

/// With all that was given, and with plugins that came by the environment.
TEST(Conform, TheCommandThatShowsAFailureAgainIsWhole) {
  const Place place;
  Surroundings surroundings;
  surroundings.environment = {{"RIDGELINE_PLUGIN_PATH", plugin("wrong_slope")}};
  const Ended ended = place.run({"conform", "activation/wrong_slope", "--plugin", plugin("softsign"), "--threads", "1",
                                 "--kokkos-disable-warnings"},
                                surroundings);
  EXPECT_EQ(ended.status, 1);
  expect_contains(ended.out, "  ridgeline conform activation/wrong_slope --plugin " + plugin("wrong_slope") +
                                 " --plugin " + plugin("softsign") + " --threads 1 --kokkos-disable-warnings\n");
}

/// ffn/perishing does to the process what its option says.
Ended perish(const Place& place, const std::string& how, const Arguments& more = {}) {
  Surroundings surroundings;
  surroundings.environment = {{"TMPDIR", (place / "").string()}};
  Arguments arguments = {"conform", "ffn/perishing", "--plugin", plugin("perishing"), "--option", "how=" + how};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return place.run(arguments, surroundings);
}

TEST(Conform, OfALayerThatDoesNothingOfTheKindFindsNothing) {
  const Place place;
  expect_contains(perish(place, "not").out, " passed, 0 failed, ");
}

/// The process that a layer ends is not the one that reports: each check that it ends has failed.
TEST(Conform, ALayerThatEndsItsProcessFails) {
  const Place place;
  const std::vector<std::string> before = place.files();
  for (const auto& [how, says] : std::vector<std::pair<std::string, std::string>>{
           {"exit", "it ended the process with status "}, {"abort", "ended its process"}, {"kernel", ""}}) {
    const Ended ended = perish(place, how);
    EXPECT_EQ(ended.status, 1) << how;
    for (const char* check : {"gradients", "single precision", "guard zones", "checkpoint"})
      expect_contains(ended.out, std::string("\n") + check + " FAILED\n  ");
    for (const std::string& part : {says, std::string("with 2 samples of 7 tokens, 5 to 3 channels\n"),
                                    "ridgeline conform ffn/perishing --option how=" + how + " --plugin "})
      expect_contains(ended.out, part);
    // What a kernel throws ends a process, but for a back end that runs kernels where they are called.
    const bool kernel_told = ended.out.find("ended its process") != std::string::npos ||
                             ended.out.find("thrown in a kernel") != std::string::npos;
    EXPECT_TRUE(how != "kernel" || kernel_told) << ended.out;
  }
  EXPECT_EQ(place.files(), before);
}

TEST(Conform, OneCheckThatEndsItsProcessLeavesTheOthers) {
  const Place place;
  const std::vector<std::string> before = place.files();
  const Ended dx = perish(place, "dx");
  EXPECT_EQ(dx.status, 1);
  expect_contains(dx.out, "\naccumulation FAILED\n  ");
  expect_contains(dx.out, " 1 failed, ");
  // Nor does what it had in the folder of temporary files stay there.
  const Ended checkpoint = perish(place, "checkpoint", {"--json"});
  EXPECT_EQ(checkpoint.status, 1);
  expect_contains(checkpoint.out, "\"failed\": 1,");
  EXPECT_EQ(checkpoint.out.front(), '{');
  EXPECT_EQ(place.files(), before);
}

TEST(Conform, ALayerThatEndsItsProcessWhereItIsMadeFails) {
  const Place place;
  if (!is_watched) expect_contains(perish(place, "recursion").out, "gradients FAILED\n  signal 11 ");
  const Ended made = perish(place, "made");
  EXPECT_EQ(made.status, 1);
  expect_contains(made.out, "gradients FAILED\n");
  const Ended variation = perish(place, "variation");
  EXPECT_EQ(variation.status, 1);
  expect_contains(variation.out,
                  "with 2 samples of 7 tokens, 5 to 3 channels\n  ridgeline conform ffn/perishing --option "
                  "how=variation --option width=2 ");
}

/// What is found stays found. Where nothing is, the layer is not said to conform.
TEST(Conform, AProcessThatEndsAfterTheChecksTakesNoFindingAlong) {
  const Place place;
  const Ended flawed = perish(place, "end_flawed");
  EXPECT_EQ(flawed.status, 1);
  for (const char* part : {"gradients FAILED\n", "magnitudes FAILED\n", " failed, "}) expect_contains(flawed.out, part);
  const std::string sentence = expect_sentence(perish(place, "end"), 3);
  for (const char* part : {"ffn/perishing could not be tried", "ended its process", "after the checks"})
    expect_contains(sentence, part);
}

TEST(Conform, WhatALayerThrowsIsAFinding) {
  const Place place;
  for (const auto& [how, says] : std::vector<std::pair<std::string, std::string>>{
           {"stopped", "Stopped, says the layer\n"},
           {"without_memory", "memory"},
           {"number", "no std::exception"},
           {"text", "one line?and ? anotherrr"},
           {"grow", "for 2 samples of 7 tokens it reserves more memory than it did before"}}) {
    const Ended ended = perish(place, how);
    EXPECT_EQ(ended.status, 1) << how;
    EXPECT_EQ(ended.err, "") << how;
    for (const char* part : {"gradients FAILED\n", "magnitudes FAILED\n"}) expect_contains(ended.out, part);
    expect_contains(ended.out, says);
    for (const std::string& line : lines_of(ended.out)) EXPECT_LT(line.size(), 1500U) << how;
  }
}

TEST(Conform, WhatALayerPrintsIsNotInTheReport) {
  const Place place;
  const Ended ended = perish(place, "print", {"--json"});
  EXPECT_EQ(ended.status, 0);
  EXPECT_EQ(ended.out.find("printed by"), std::string::npos);
  expect_contains(ended.err, "{ printed by the layer\n");
}

TEST(Conform, RefusesWhatDoesNotFitIntoMemory) {
  const Place place;
  for (const char* how : {"large", "large_memory"})
    expect_contains(expect_sentence(perish(place, how), 2), "GiB of memory (");
  expect_contains(expect_sentence(place.run({"conform", "attention/functional", "--option", "heads=65536"}), 2),
                  "GiB are free");
}

TEST(Conform, WhatCannotBeMadeIsSaidToMachinesToo) {
  const Place place;
  const Ended ended = place.run({"conform", "ffn/mpl", "--json"});
  expect_contains(expect_sentence(ended, 2), "did you mean ffn/mlp?");
  for (const char* part : {R"("layer": "ffn/mpl")", R"("conforms": false)", R"("error": ")", "did you mean"})
    expect_contains(ended.out, part);
  const std::string sentence = expect_sentence(perish(place, "made_without_memory"), 2);
  for (const char* part : {"ffn/perishing", " cannot be made: ", "memory"}) expect_contains(sentence, part);
}

TEST(Conform, SaysOnATerminalWhatItTries) {
  const Place place;
  Surroundings surroundings;
  surroundings.error_terminal = true;
  const Ended ended = place.run({"conform", "activation/relu"}, surroundings);
  EXPECT_EQ(ended.status, 0);
  expect_contains(ended.err, ", case ");
  EXPECT_EQ(ended.err.substr(ended.err.rfind('\r')), "\r\033[K");
}

TEST(Conform, MistakesAreOneSentence) {
  const Place place;
  expect_contains(expect_sentence(place.run({"conform", "ffn/mpl"}), 2), "did you mean ffn/mlp?");
  expect_contains(expect_sentence(place.run({"conform", "mlp"}), 2), "takes KIND/NAME");
  expect_contains(expect_sentence(place.run({"conform", "ffn/mlp", "--option", "hiden=3"}), 2), "did you mean hidden?");
  expect_contains(expect_sentence(place.run({"conform", "ffn/mlp", "--option", "hidden=none"}), 2), "whole number");
  expect_contains(expect_sentence(place.run({"conform", "ffn/mlp", "--option", "hidden=0"}), 2), "--option: [ffn.mlp]");
}

}  // namespace
}  // namespace ridgeline::program

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

TEST(Conform, MistakesAreOneSentence) {
  const Place place;
  expect_contains(expect_sentence(place.run({"conform", "ffn/mpl"}), 2), "did you mean ffn/mlp?");
  expect_contains(expect_sentence(place.run({"conform", "mlp"}), 2), "takes KIND/NAME");
  expect_contains(expect_sentence(place.run({"conform", "ffn/mlp", "--option", "hiden=3"}), 2), "did you mean hidden?");
  expect_contains(expect_sentence(place.run({"conform", "ffn/mlp", "--option", "hidden=none"}), 2), "whole number");
}

}  // namespace
}  // namespace ridgeline::program

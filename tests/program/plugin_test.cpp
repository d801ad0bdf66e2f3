// Plugins as a user meets them: named in a deck, on the command line or by the environment, good ones and bad ones.
#include "io/hdf5.hpp"
#include "outcome.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;
using test::content_of;
using test::expect_contains;

/// build/NAME/loaded/loaded_PLUGIN.so
std::string plugin(const std::string& name) {
  return (fs::path(RIDGELINE_BINARY_DIR) / "loaded" / ("loaded_" + name + ".so")).string();
}

std::string listed(const Place& place, const std::string& name) {
  const Ended ended = place.run({"layers", "--plugin", plugin(name)});
  expect_success(ended);
  return ended.out;
}

/// The one sentence with which a plugin is refused.
std::string refused(const std::string& file) {
  const Place place;
  const std::string sentence = expect_sentence(place.run({"layers", "--plugin", file}), 2);
  expect_contains(sentence, "the plugin ");
  return sentence;
}

TEST(Plugin, LayersSayWhereTheyCameFromAndTheirVersion) {
  const Place place;
  const std::string out = listed(place, "softsign");
  expect_contains(out, "activation/softsign");
  expect_contains(out, "2.5");
  expect_contains(out, "from " + plugin("softsign"));
  expect_contains(place.run({"describe", "activation/softsign", "--plugin", plugin("softsign")}).out, "z / (1 + |z|)");
}

TEST(Plugin, ServesEveryLayerThatTakesAnActivation) {
  const Place place;
  const fs::path run = place.train(
      "out", {"run.plugins=" + plugin("softsign"), "encoder.mlp.activation=softsign", "ffn.mlp.activation=softsign"});
  expect_contains(content_of(run / "deck.ini"), "plugins = " + plugin("softsign") + "\n");
  EXPECT_NE(read_set(run / "results.h5", "id").predictions.values,
            read_set(place.train("other") / "results.h5", "id").predictions.values);
  // The resolved deck is the same run, plugins included.
  expect_success(place.run({"run", "out/deck.ini", "-o", "again"}));
  expect_same_outcome(run, place / "again");
}

TEST(Plugin, IsFoundFromTheDecksFolder) {
  const Place place;
  fs::create_directory(place / "below");
  fs::copy_file(plugin("softsign"), place / "below/mine.so");
  place.put("below/deck.ini", std::string("[run]\nplugins = mine.so\n") + tiny_deck);
  expect_success(place.run({"run", "below/deck.ini", "-o", "out", "--set", "ffn.mlp.activation=softsign"}));
  expect_contains(content_of(place / "out/deck.ini"), "plugins = " + fs::canonical(place / "below/mine.so").string());
}

TEST(Plugin, IsFoundByTheEnvironmentInAFolderWithOtherFiles) {
  const Place place;
  fs::create_directory(place / "plugins");
  fs::copy_file(plugin("softsign"), place / "plugins/softsign.so");
  fs::copy_file(plugin("bare"), place / "plugins/library.so");
  place.put("plugins/notes.txt", "not a plugin\n");
  Surroundings surroundings;
  surroundings.environment = {{"RIDGELINE_PLUGIN_PATH", ":" + (place / "plugins").string() + ":"}};
  const Ended ended = place.run({"run", "tiny.ini", "-o", "out", "--set", "ffn.mlp.activation=softsign"}, surroundings);
  expect_success(ended);
  const std::string log = content_of(place / "out/log.txt");
  expect_contains(log, "holds notes.txt, which is no plugin");
  expect_contains(log, "holds library.so, which is no plugin");
  // What the deck resolves to needs no environment.
  expect_contains(content_of(place / "out/deck.ini"), "softsign.so\n");
}

TEST(Plugin, TheSameTwiceIsHarmless) {
  const Place place;
  fs::create_symlink(plugin("softsign"), place / "link.so");
  Surroundings surroundings;
  surroundings.environment = {{"RIDGELINE_PLUGIN_PATH", plugin("softsign")}};
  expect_success(place.run({"layers", "--plugin", plugin("softsign"), "--plugin", "link.so"}, surroundings));
}

TEST(Plugin, BuiltWithAssertionsAndWithoutOptimisationWorks) {
  const Place place;
  place.train("out", {"run.plugins=" + plugin("cautious"), "model.ffn=cautious"});
}

TEST(Plugin, MayBringAnFmtOfItsOwn) {
  const Place place;
  place.train("out", {"run.plugins=" + plugin("own_fmt"), "model.ffn=own_fmt"});
}

TEST(Plugin, TwoMayNeedEachOthersLayers) {
  const Place place;
  for (const auto& [one, other] : {std::pair{"first_of_two", "second_of_two"}, {"second_of_two", "first_of_two"}})
    place.train(one, {"run.plugins=" + plugin(one) + " " + plugin(other), "model.ffn=first_of_two"});
  const Ended alone = place.run(with_settings({"run", "tiny.ini", "-o", "out"},
                                              {"run.plugins=" + plugin("first_of_two"), "model.ffn=first_of_two"}));
  const std::string sentence = expect_sentence(alone, 2);
  expect_contains(sentence, "ffn/first_of_two of the plugin " + plugin("first_of_two") + " cannot be made");
  expect_contains(sentence, "there is no layer ffn/second_of_two");
  EXPECT_FALSE(fs::exists(place / "out"));
}

TEST(Plugin, IsRememberedByACheckpoint) {
  const Place place;
  place.train("out", {"run.plugins=" + plugin("softsign"), "ffn.mlp.activation=softsign"});
  const Arguments eval = {
      "eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5", "--set", "ffn.mlp.activation=softsign"};
  const std::string sentence = expect_sentence(place.run(eval), 2);
  expect_contains(sentence, "softsign is not a known activation layer");
  expect_contains(sentence, "out/checkpoint.h5 was trained with plugins: add --plugin " + plugin("softsign"));
  Arguments with_plugin = eval;
  with_plugin.insert(with_plugin.end(), {"--plugin", plugin("softsign")});
  expect_success(place.run(with_plugin));
}

// --- refused ------------------------------------------------------------------------------------------------------------

TEST(Plugin, ThatIsNotThere) { expect_contains(refused("nowhere.so"), "nowhere.so cannot be found"); }

TEST(Plugin, ThatIsNoLibrary) {
  const Place place;
  expect_contains(refused((place / "tiny.ini").string()), "is not a library");
  place.put("empty.so", "");
  expect_contains(refused((place / "empty.so").string()), "is not a library");
  const std::string whole = content_of(plugin("softsign"));
  for (const std::size_t length : {20, 64, 100, 500}) {
    place.put("cut.so", whole.substr(0, length));
    refused((place / "cut.so").string());
  }
}

TEST(Plugin, ThatIsCutShortBehindItsNote) {
  const Place place;
  const std::string whole = content_of(plugin("softsign"));
  place.put("cut.so", whole.substr(0, 4096));
  expect_contains(refused((place / "cut.so").string()), "is cut short");
}

TEST(Plugin, ThatIsNoneOfRidgeline) {
  expect_contains(refused(plugin("bare")), "is a library, but no plugin of Ridgeline");
}

TEST(Plugin, BuiltForAnotherProgramIsRefusedBeforeAnythingOfItRuns) {
  const Place place;
  Surroundings surroundings;
  surroundings.environment = {{"RIDGELINE_TEST_STALE_RAN", (place / "ran").string()}};
  const std::string sentence = expect_sentence(place.run({"layers", "--plugin", plugin("stale")}, surroundings), 2);
  expect_contains(sentence,
                  "was built for another program: it differs in Ridgeline's interface (0.0.1-0123456789ab, "
                  "this program's is ");
  expect_contains(sentence, "Kokkos (10203, this program's is ");
  EXPECT_FALSE(fs::exists(place / "ran"));
}

TEST(Plugin, WithALayerThatThereIsAlready) {
  expect_contains(refused(plugin("taken")), "has a layer ffn/mlp, and there is one already (built in)");
  const Place place;
  fs::copy_file(plugin("softsign"), place / "copy.so");
  const Ended ended = place.run({"layers", "--plugin", plugin("softsign"), "--plugin", "copy.so"});
  expect_contains(expect_sentence(ended, 2),
                  "has a layer activation/softsign, and there is one already (" + plugin("softsign") + ")");
}

TEST(Plugin, WithAnOptionDeclaredTwice) {
  expect_contains(refused(plugin("options_twice")),
                  "cannot declare the options of ffn/options_twice: an option is declared twice: bend");
}

TEST(Plugin, ThatRegistersNothing) { expect_contains(refused(plugin("silent")), "registers no layer"); }

TEST(Plugin, ThatMissesASymbol) {
  expect_contains(refused(plugin("missing_symbol")), "misses a symbol: elsewhere::forgotten_function(double)");
}

TEST(Plugin, ThatThrowsWhileItIsLoaded) {
  expect_contains(refused(plugin("bursting")), "threw while it was loaded: not today");
}

/// What a run with one of the throwing layers says.
std::string failing(const Place& place, const std::string& layer, int status) {
  return expect_sentence(place.run(with_settings({"run", "tiny.ini", "-o", layer},
                                                 {"run.plugins=" + plugin("throwing"), "model.ffn=" + layer})),
                         status);
}

TEST(Plugin, WhatALayerThrowsNamesLayerAndPlugin) {
  const Place place;
  const std::string from = " of the plugin " + plugin("throwing");
  expect_contains(failing(place, "throws_when_made", 2),
                  "ffn/throws_when_made" + from + " cannot be made: no width is good enough.");
  EXPECT_FALSE(fs::exists(place / "throws_when_made"));
  expect_contains(failing(place, "throws_forward", 3),
                  "ffn/throws_forward" + from + " failed in its forward pass: lost on the way?there.");
  const std::string backward = failing(place, "throws_backward", 3);
  expect_contains(backward, "ffn/throws_backward" + from + " failed in its backward pass");
  expect_contains(backward, "something that is no std::exception");
}

TEST(Plugin, AFolderThatMayNotBeReadIsSaid) {
  const Place place;
  EXPECT_EQ(place.run({"layers", "--plugin", "nowhere/"}).status, 2);
  fs::create_directory(place / "empty");
  expect_success(place.run({"layers", "--plugin", "empty"}));
}

}  // namespace
}  // namespace ridgeline::program

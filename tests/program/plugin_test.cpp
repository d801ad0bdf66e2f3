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

TEST(Plugin, WithALayerInThePlaceOfAPosition) {
  expect_contains(refused(plugin("misplaced")),
                  "registers position/misplaced by the call for another kind; it takes RIDGELINE_REGISTER_POSITION.");
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

// --- one flaw each ------------------------------------------------------------------------------------------------------

/// The program with the unruly plugin and one of its flaws.
Ended with_flaw(const Place& place, const std::string& flaw, Arguments arguments) {
  Surroundings surroundings;
  surroundings.environment = {{"RIDGELINE_TEST_FLAW", flaw}};
  arguments.insert(arguments.end(), {"--plugin", plugin("unruly")});
  return place.run(arguments, surroundings);
}

std::string refused_with(const std::string& flaw) {
  const Place place;
  const std::string sentence = expect_sentence(with_flaw(place, flaw, {"layers"}), 2);
  expect_contains(sentence, "--plugin: the plugin " + plugin("unruly") + " ");
  return sentence;
}

TEST(Plugin, WithANameOrKindThatNoDeckCanSay) {
  expect_contains(refused_with("kind"), "has a layer fnn/unruly, and there is no such kind; did you mean ffn?");
  expect_contains(refused_with("name"), "has a layer ffn/a b, which no deck can name");
  expect_contains(refused_with("empty name"), "has a layer ffn/, which no deck can name");
  for (const char* flaw : {"no kind", "no name", "no summary"})
    expect_contains(refused_with(flaw), "registers a layer without a kind, a name or a summary.");
}

TEST(Plugin, WithADefaultThatItsOptionDoesNotTake) {
  const auto says = [](const std::string& flaw, const std::string& complaint) {
    expect_contains(refused_with(flaw), "cannot declare the options of ffn/unruly: " + complaint);
  };
  says("default out of range", "the default of option width is out of range; it takes a whole number of at least 5.");
  says("bounds upside down", "the default of option width is out of range");
  says("default that is no number", "the default of option width is not finite");
  says("default that is no choice", "the default of option way is none of left, right");
  says("default with a comment", "the default of option words is none that a deck can hold: one # two.");
  says("default of another length", "the default of option three has 2 entries; it takes 3 numbers.");
  says("kind of an option", "the option inner is a layer of the kind nothing, and there is no such kind.");
  says("many options", "a section has at most 1000 options.");
  says("declare throws a number", "it threw something that is no std::exception.");
  says("declare stops", "stopped by my own wish.");
  says("declare gives no reason", "it gave no reason.");
}

TEST(Plugin, ALayerThatAnOptionNamesByDefaultMayBeMissing) {
  const Place place;
  const Ended ended =
      with_flaw(place, "missing default", {"run", "tiny.ini", "-o", "out", "--set", "model.ffn=unruly"});
  expect_contains(expect_sentence(ended, 2),
                  "[ffn.unruly] inner = nowhere (the default) is not a known activation layer");
  EXPECT_FALSE(fs::exists(place / "out"));
}

TEST(Plugin, WhatALayerThrowsCannotPoseAsTheProgramsOwn) {
  const Place place;
  const std::string title = "ffn/unruly of the plugin " + plugin("unruly") + " ";
  const auto says = [&](const std::string& flaw, int status, const std::string& complaint) {
    const Ended ended = with_flaw(place, flaw, {"run", "tiny.ini", "-o", flaw, "--set", "model.ffn=unruly"});
    expect_contains(expect_sentence(ended, status), title + complaint);
  };
  says("constructor stops", 2, "cannot be made: stopped by my own wish.");
  says("constructor has no memory", 2, "cannot be made: it asked for more memory than there is.");
  says("reserve stops", 3, "failed where it reserves memory: stopped by my own wish");
  says("forward stops", 3, "failed in its forward pass: stopped by my own wish");
  says("forward has no memory", 3, "failed in its forward pass: it asked for more memory than there is");
  says("forward gives no reason", 3, "failed in its forward pass: it gave no reason");
  says("negative extent", 2, "cannot be made: parameter blocks.0.ffn.shift has an extent of -3.");
  says("initial values", 2, "cannot be made: parameter blocks.0.ffn.shift has initial values that are not finite.");
  says("growth", 3, "failed where it reserves memory: for ");
}

TEST(Plugin, ExitInALayerIsNoSuccess) {
  const Place place;
  const std::string from = "the plugin " + plugin("unruly");
  const std::string says = " called exit() in the middle of the program's work.";
  expect_contains(expect_sentence(with_flaw(place, "loading exits", {"layers"}), 3), from + says);
  expect_contains(expect_sentence(with_flaw(place, "declare exits", {"layers"}), 3), from + says);
  for (const std::string where : {"constructor", "reserve", "forward"}) {
    const Ended ended =
        with_flaw(place, where + " exits", {"run", "tiny.ini", "--quiet", "-o", where, "--set", "model.ffn=unruly"});
    expect_contains(expect_sentence(ended, 3), "ffn/unruly of " + from + says);
  }
}

TEST(Plugin, CheckTellsOfLayersThatDoNotCount) {
  const Place place;
  const Arguments check = {"check", "tiny.ini", "--set", "model.ffn=unruly"};
  expect_contains(expect_sentence(with_flaw(place, "negative operations", check), 3),
                  "failed where it counts operations: it declares forward = -1, which is no count.");
  const Ended unknown = with_flaw(place, "no operations", check);
  expect_success(unknown);
  expect_contains(unknown.out, "GFLOP in products and solves, and those of layers that do not say\n");
  expect_contains(expect_sentence(with_flaw(place, "negative extent", check), 2), "has an extent of -3");
}

TEST(Plugin, WhatPropertiesThrowsNamesThePlugin) {
  const Place place;
  const Ended ended = with_flaw(place, "properties throws a number", {"conform", "ffn/unruly"});
  expect_contains(expect_sentence(ended, 2), "failed where it says its properties: it threw something");
}

// --- where they lie -----------------------------------------------------------------------------------------------------

TEST(Plugin, APathThatNoDeckCanNameIsRefusedAtOnce) {
  const Place place;
  for (const auto& [folder, what] : {std::pair{"pp space", "white space"}, {"h#a", "a #"}}) {
    fs::create_directory(place / folder);
    const fs::path file = place / folder / "softsign.so";
    fs::copy_file(plugin("softsign"), file);
    const std::string says = "has " + std::string(what) + " in its path, so that no deck can name it";
    Surroundings surroundings;
    surroundings.environment = {{"RIDGELINE_PLUGIN_PATH", (place / folder).string()}};
    expect_contains(expect_sentence(place.run({"layers"}, surroundings), 2), "RIDGELINE_PLUGIN_PATH: the plugin ");
    for (const Arguments& arguments : {Arguments{"layers", "--plugin", file.string()},
                                       {"run", "tiny.ini", "-o", "out", "--plugin", (place / folder).string()}})
      expect_contains(expect_sentence(place.run(arguments), 2), says);
  }
  EXPECT_FALSE(fs::exists(place / "out"));
}

TEST(Plugin, WhoNamedAMissingOneIsSaid) {
  const Place place;
  const std::string missing = "the plugin nosuch cannot be found";
  expect_contains(expect_sentence(place.run({"layers", "--plugin", "nosuch"}), 2), "--plugin: " + missing);
  Surroundings surroundings;
  surroundings.environment = {{"RIDGELINE_PLUGIN_PATH", "nosuch"}};
  expect_contains(expect_sentence(place.run({"layers"}, surroundings), 2), "RIDGELINE_PLUGIN_PATH: " + missing);
  place.put("deck.ini", std::string("[run]\nplugins = my own/mine.so\n") + tiny_deck);
  expect_contains(expect_sentence(place.run({"check", "deck.ini"}), 2),
                  "; white space separates the files of this list.");
  place.put("deck.ini", std::string("[run]\nplugins = nosuch\n") + tiny_deck);
  const std::string of_deck = expect_sentence(place.run({"run", "deck.ini", "-o", "out"}), 2);
  expect_contains(of_deck, "deck.ini:2: [run] plugins = nosuch cannot be had: the plugin ");
  expect_contains(of_deck, "nosuch cannot be found");
  expect_contains(expect_sentence(place.run({"layers", "--plugin", ""}), 2), "--plugin has no value; it takes a FILE.");
}

TEST(Plugin, ThatIsADeviceIsNoLibrary) { expect_contains(refused("/dev/zero"), "/dev/zero is not a library."); }

TEST(Plugin, WhichACheckpointsLayersCameFromIsSaidToAnyDeck) {
  const Place place;
  place.train("out", {"run.plugins=" + plugin("cautious"), "model.ffn=cautious"});
  const std::string add = " was trained with plugins: add --plugin " + plugin("cautious") + ".";
  expect_contains(expect_sentence(place.run({"eval", "tiny.ini", "--checkpoint", "out/checkpoint.h5"}), 2),
                  "out/checkpoint.h5" + add);
  expect_contains(expect_sentence(place.run({"run", "tiny.ini", "-o", "out", "--resume"}), 2),
                  "out/checkpoint.h5" + add);
}

}  // namespace
}  // namespace ridgeline::program

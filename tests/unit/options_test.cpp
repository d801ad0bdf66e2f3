#include "config/options.hpp"

#include <gtest/gtest.h>

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace ridgeline {
namespace {

using Texts = std::map<std::string, std::string>;

// One option of each type.
OptionSet example() {
  OptionSet options;
  options.integer("heads", 8, "attention heads").at_least(1);
  options.real("ridge", 1e-4, "added to the Gram matrix's diagonal").above(0);
  options.flag("resample", false, "new functions every epoch");
  options.text("file", "", "where the data is");
  options.choice("normalization", "joint", {"joint", "per_head"}, "what the softmax runs over");
  options.reals("x", {-6, 6, 0.1}, "first, past the last, step").count(3);
  options.texts("plugins", {}, "libraries to load");
  options.layer("attention", "attention", "functional", "how tokens meet");
  options.integer("steps", 0, "instead of epochs").at_least(1).optional();
  return options;
}

const LayerNames layers = [](const std::string& kind) {
  return kind == "attention" ? std::vector<std::string>{"functional", "softmax"} : std::vector<std::string>{};
};

std::string sentence(const OptionSet& options, const Texts& texts) {
  try {
    OptionValues::from(options, texts, "model", layers);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    return error.what();
  }
  return "no error";
}

std::string sentence(const Texts& texts) { return sentence(example(), texts); }

TEST(Options, HaveTheirDefaults) {
  const OptionValues values = OptionValues::defaults(example());
  EXPECT_EQ(values.integer("heads"), 8);
  EXPECT_EQ(values.real("ridge"), 1e-4);
  EXPECT_FALSE(values.flag("resample"));
  EXPECT_EQ(values.text("file"), "");
  EXPECT_EQ(values.text("normalization"), "joint");
  EXPECT_EQ(values.reals("x"), (std::vector<double>{-6, 6, 0.1}));
  EXPECT_TRUE(values.texts("plugins").empty());
  EXPECT_EQ(values.text("attention"), "functional");
  EXPECT_FALSE(values.given("heads"));
  EXPECT_TRUE(values.has("heads"));
  EXPECT_FALSE(values.has("steps"));
}

TEST(Options, TakeWhatIsGiven) {
  const OptionValues values = OptionValues::from(example(), {{"heads", "4"},
                                                             {"ridge", "+.5"},
                                                             {"resample", "yes"},
                                                             {"file", "a file.h5"},
                                                             {"normalization", "per_head"},
                                                             {"x", " -3\t15 0.1 "},
                                                             {"plugins", "a.so b.so"},
                                                             {"attention", "softmax"},
                                                             {"steps", "9223372036854775807"}});
  EXPECT_EQ(values.integer("heads"), 4);
  EXPECT_EQ(values.real("ridge"), 0.5);
  EXPECT_TRUE(values.flag("resample"));
  EXPECT_EQ(values.text("file"), "a file.h5");
  EXPECT_EQ(values.text("normalization"), "per_head");
  EXPECT_EQ(values.reals("x"), (std::vector<double>{-3, 15, 0.1}));
  EXPECT_EQ(values.texts("plugins"), (std::vector<std::string>{"a.so", "b.so"}));
  EXPECT_EQ(values.text("attention"), "softmax");
  EXPECT_EQ(values.integer("steps"), 9223372036854775807);
  EXPECT_TRUE(values.given("heads"));
}

TEST(Options, APathRunsToTheEndOfTheLine) {
  OptionSet options;
  options.path("file", "");
  options.paths("folders", "");
  const OptionValues values =
      OptionValues::read(options, {{"file", "my  data.h5 ", "", "/the deck's"}, {"folders", "a b", "", "/c"}}, "", "");
  EXPECT_EQ(values.text("file"), "/the deck's/my  data.h5");
  EXPECT_EQ(values.texts("folders"), (std::vector<std::string>{"/c/a", "/c/b"}));
  EXPECT_EQ(OptionValues::defaults(options).text("file"), "");
  EXPECT_EQ(sentence(options, {{"file", ""}}), "[model] file has no value; it takes a path.");
  // As the default of another section it is what it was.
  EXPECT_EQ(OptionValues::defaults(options.with_defaults(values)).text("file"), "/the deck's/my  data.h5");
}

TEST(Options, AListMayBeGivenEmpty) {
  OptionSet options;
  options.texts("plugins", {"a"}, "");
  const OptionValues values = OptionValues::from(options, {{"plugins", ""}});
  EXPECT_TRUE(values.texts("plugins").empty());
  EXPECT_TRUE(values.given("plugins"));
}

TEST(Options, DeclaredTwiceAreRefused) {
  OptionSet options;
  options.integer("heads", 8, "");
  try {
    options.real("heads", 1, "");
    FAIL();
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("heads"), std::string::npos);
  }
  OptionSet other = options;
  EXPECT_THROW(options.include(other), std::logic_error);
  EXPECT_THROW(options.include(options), std::logic_error);
}

TEST(Options, NamesAreThoseOfKeys) {
  OptionSet options;
  for (const char* name : {"", "a.b", "a b", "a,b", "A", "a=b", "a-b", "#"}) {
    EXPECT_THROW(options.flag(name, true, ""), std::logic_error) << name;
  }
}

TEST(Options, AWrongDefaultIsAMistakeOfTheDeclaration) {
  OptionSet range, type, choice;
  range.integer("heads", 0, "").at_least(1);
  EXPECT_THROW(OptionValues::defaults(range), std::logic_error);
  choice.choice("mode", "c", {"a", "b"}, "");
  EXPECT_THROW(OptionValues::defaults(choice), std::logic_error);
  type.reals("x", {1, 2}, "").count(3);
  EXPECT_THROW(OptionValues::from(type, {}), std::logic_error);
}

TEST(Options, ReadingThemWronglyIsAProgrammingMistake) {
  const OptionValues values = OptionValues::defaults(example());
  EXPECT_THROW(values.integer("head"), std::logic_error);
  EXPECT_THROW(values.integer("ridge"), std::logic_error);
  EXPECT_THROW(values.real("heads"), std::logic_error);
  EXPECT_THROW(values.text("x"), std::logic_error);
  EXPECT_THROW(values.integer("steps"), std::logic_error);
  EXPECT_THROW(values.given("head"), std::logic_error);
  EXPECT_THROW(values.has("head"), std::logic_error);
  EXPECT_THROW(OptionValues().integer("heads"), std::logic_error);
}

TEST(OptionMistakes, UnknownKey) {
  EXPECT_EQ(sentence({{"haeds", "4"}}), "[model] haeds is not a known key; did you mean heads?");
  EXPECT_EQ(sentence({{"temperature", "4"}}),
            "[model] temperature is not a known key; known are heads, ridge, resample, file, normalization, x, "
            "plugins, attention, steps.");
  EXPECT_EQ(sentence(OptionSet(), {{"a", "4"}}), "[model] a is not a known key; there are none in this section.");
}

TEST(OptionMistakes, WholeNumbers) {
  const std::string allowed = "; it takes a whole number of at least 1.";
  for (const char* text : {"8x", "8.0", "1e3", "0x10", "8 9", "nan", "inf", "yes", "--8"}) {
    EXPECT_EQ(sentence({{"heads", text}}), "[model] heads = " + std::string(text) + " is not a whole number" + allowed);
  }
  for (const char* text : {"0", "-1", "-9223372036854775808"}) {
    EXPECT_EQ(sentence({{"heads", text}}), "[model] heads = " + std::string(text) + " is out of range" + allowed);
  }
  for (const char* text : {"9223372036854775808", "-9223372036854775809", "100000000000000000000000000"}) {
    EXPECT_EQ(sentence({{"heads", text}}),
              "[model] heads = " + std::string(text) + " is more than 64 bits can hold" + allowed);
  }
}

TEST(OptionMistakes, Reals) {
  const std::string allowed = "; it takes a number above 0.";
  for (const char* text : {"8x", "1e-4 3", "0x1p3", "1,5", "low"}) {
    EXPECT_EQ(sentence({{"ridge", text}}), "[model] ridge = " + std::string(text) + " is not a number" + allowed);
  }
  for (const char* text : {"nan", "inf", "-inf", "-nan", "infinity", "NaN"}) {
    EXPECT_EQ(sentence({{"ridge", text}}), "[model] ridge = " + std::string(text) + " is not finite" + allowed);
  }
  for (const char* text : {"1e400", "-1e400", "1e-400"}) {
    EXPECT_EQ(sentence({{"ridge", text}}),
              "[model] ridge = " + std::string(text) + " is beyond what double precision can hold" + allowed);
  }
  for (const char* text : {"0", "-1e-4", "-0"}) {
    EXPECT_EQ(sentence({{"ridge", text}}), "[model] ridge = " + std::string(text) + " is out of range" + allowed);
  }
}

TEST(OptionMistakes, EmptyValues) {
  EXPECT_EQ(sentence({{"heads", ""}}), "[model] heads has no value; it takes a whole number of at least 1.");
  EXPECT_EQ(sentence({{"ridge", " "}}), "[model] ridge has no value; it takes a number above 0.");
  EXPECT_EQ(sentence({{"resample", ""}}), "[model] resample has no value; it takes yes or no.");
  EXPECT_EQ(sentence({{"file", ""}}), "[model] file has no value; it takes text.");
  EXPECT_EQ(sentence({{"normalization", ""}}), "[model] normalization has no value; it takes one of joint, per_head.");
  EXPECT_EQ(sentence({{"x", ""}}), "[model] x has no value; it takes 3 numbers.");
  EXPECT_EQ(sentence({{"attention", ""}}),
            "[model] attention has no value; it takes the name of a registered attention layer.");
}

TEST(OptionMistakes, Flags) {
  for (const char* text : {"true", "1", "Yes", "yes no", "on"}) {
    EXPECT_EQ(sentence({{"resample", text}}),
              "[model] resample = " + std::string(text) + " is neither yes nor no; it takes yes or no.");
  }
}

TEST(OptionMistakes, Choices) {
  EXPECT_EQ(sentence({{"normalization", "jiont"}}),
            "[model] normalization = jiont is none of joint, per_head; did you mean joint?");
  EXPECT_EQ(sentence({{"normalization", "softly"}}), "[model] normalization = softly is none of joint, per_head.");
}

TEST(OptionMistakes, Layers) {
  EXPECT_EQ(sentence({{"attention", "functionl"}}),
            "[model] attention = functionl is not a known attention layer; did you mean functional?");
  EXPECT_EQ(sentence({{"attention", "magic"}}),
            "[model] attention = magic is not a known attention layer; known are functional, softmax.");
}

TEST(OptionMistakes, Lists) {
  EXPECT_EQ(sentence({{"x", "-6 6"}}), "[model] x = -6 6 has 2 entries; it takes 3 numbers.");
  EXPECT_EQ(sentence({{"x", "-6"}}), "[model] x = -6 has 1 entry; it takes 3 numbers.");
  EXPECT_EQ(sentence({{"x", "-6 6 0.1 7"}}), "[model] x = -6 6 0.1 7 has 4 entries; it takes 3 numbers.");
  EXPECT_EQ(sentence({{"x", "-6 6 0.1x"}}),
            "[model] x = -6 6 0.1x holds 0.1x, which is not a number; it takes 3 numbers.");
  EXPECT_EQ(sentence({{"x", "-6 inf 1"}}), "[model] x = -6 inf 1 holds inf, which is not finite; it takes 3 numbers.");

  OptionSet options;
  options.reals("amplitude", {0.1, 5}, "").count(2).at_least(0);
  options.texts("sets", {"id"}, "").count(1, 2).one_of({"id", "ood"});
  EXPECT_EQ(sentence(options, {{"amplitude", "-1 5"}}),
            "[model] amplitude = -1 5 holds -1, which is out of range; it takes 2 numbers of at least 0.");
  EXPECT_EQ(sentence(options, {{"sets", "id odd"}}),
            "[model] sets = id odd holds odd, which is none of id, ood; did you mean ood?");
  EXPECT_EQ(sentence(options, {{"sets", "id ood id"}}),
            "[model] sets = id ood id has 3 entries; it takes 1 to 2 words out of id, ood.");
}

TEST(OptionMistakes, OnlySomeNumbersAllowed) {
  OptionSet options;
  options.integer("bits", 4, "").one_of({"2", "4"});
  EXPECT_EQ(sentence(options, {{"bits", "3"}}), "[model] bits = 3 is none of 2, 4.");
  EXPECT_EQ(OptionValues::from(options, {{"bits", "+2"}}).integer("bits"), 2);
}

TEST(OptionMistakes, Bounds) {
  OptionSet options;
  options.real("momentum", 0.9, "").at_least(0).below(1);
  EXPECT_EQ(OptionValues::from(options, {{"momentum", "0"}}).real("momentum"), 0);
  EXPECT_EQ(sentence(options, {{"momentum", "1"}}),
            "[model] momentum = 1 is out of range; it takes a number of at least 0, below 1.");
}

TEST(OptionMistakes, RequiredOptions) {
  OptionSet options;
  options.text("task", "", "").required();
  EXPECT_EQ(sentence(options, {}), "[model] task must be given; it takes text.");
  EXPECT_FALSE(OptionValues::defaults(options).has("task"));
}

TEST(OptionMistakes, CharactersThatNoDeckHolds) {
  EXPECT_EQ(sentence({{"file", "a#b"}}), "[model] file = a#b holds a #; a value holds none, as it begins a comment.");
  EXPECT_EQ(sentence({{"file", "a\nb"}}), "[model] file = a?b holds a control character; a value is one line of text.");
  EXPECT_EQ(sentence({{"file", "a\xff"}}), "[model] file = a? is not valid UTF-8; a value is text.");
}

TEST(OptionMistakes, EchoLittle) {
  const std::string text = sentence({{"heads", std::string(1000000, '9')}});
  EXPECT_LT(text.size(), 200U);
  EXPECT_LT(sentence({{std::string(1000000, 'k'), "1"}}).size(), 300U);
  EXPECT_LT(sentence({{"x", std::string(1000000, 'k')}}).size(), 300U);
}

TEST(OptionMistakes, ThatOnlyTheUserOfAValueSees) {
  const OptionValues values = OptionValues::read(example(), {{"x", "6 -6 0.1", "a.ini:9"}}, "data", "a.ini:3");
  EXPECT_STREQ(values.mistake("x", "is empty.").what(), "a.ini:9: [data] x = 6 -6 0.1 is empty.");
  EXPECT_STREQ(values.mistake("heads", "is odd.").what(), "a.ini:3: [data] heads = 8 (the default) is odd.");
  EXPECT_STREQ(values.mistake("steps", "is needed.").what(), "a.ini:3: [data] steps is needed.");
  EXPECT_THROW(values.mistake("nothing", ""), std::logic_error);
}

TEST(OptionValues, TheFirstTextOfAKeyCounts) {
  const OptionValues values =
      OptionValues::read(example(), {{"heads", "2", "--set"}, {"heads", "wrong", "a.ini:9"}}, "model", "a.ini");
  EXPECT_EQ(values.integer("heads"), 2);
}

TEST(OptionValues, ResolveInOrderToTextThatReadsBack) {
  const OptionValues values =
      OptionValues::from(example(), {{"ridge", "0.30000000000000004"}, {"x", "-3 15 1e-1"}, {"resample", "yes"}});
  const std::vector<std::pair<std::string, std::string>> expected = {{"heads", "8"},
                                                                     {"ridge", "0.30000000000000004"},
                                                                     {"resample", "yes"},
                                                                     {"normalization", "joint"},
                                                                     {"x", "-3 15 0.1"},
                                                                     {"plugins", ""},
                                                                     {"attention", "functional"}};
  EXPECT_EQ(values.resolved(), expected);
  const Texts texts(expected.begin(), expected.end());
  EXPECT_EQ(OptionValues::from(example(), texts).resolved(), expected);
}

TEST(OptionValues, MayBeTheDefaultsOfOthers) {
  const OptionValues data = OptionValues::from(example(), {{"heads", "3"}, {"steps", "5"}});
  const OptionSet options = example().with_defaults(data);
  const OptionValues set = OptionValues::from(options, {{"x", "-3 15 0.1"}});
  EXPECT_EQ(set.integer("heads"), 3);
  EXPECT_EQ(set.integer("steps"), 5);
  EXPECT_EQ(set.reals("x"), (std::vector<double>{-3, 15, 0.1}));
  EXPECT_FALSE(set.given("heads"));
  EXPECT_TRUE(set.given("x"));
}

TEST(OptionValues, MayBeAListOfLayers) {
  OptionSet options;
  options.layers("attention", "attention", {"functional"}, "one a block");
  EXPECT_EQ(OptionValues::defaults(options).texts("attention"), std::vector<std::string>{"functional"});
  EXPECT_EQ(OptionValues::from(options, {{"attention", "softmax  functional"}}, "model", layers).texts("attention"),
            (std::vector<std::string>{"softmax", "functional"}));
  EXPECT_EQ(options.find("attention")->type_text(), "1 or more attention layers");
  EXPECT_EQ(sentence(options, {{"attention", "sotfmax"}}),
            "[model] attention = sotfmax is not a known attention layer; did you mean softmax?");
  EXPECT_EQ(sentence(options, {{"attention", "softmax sotfmax"}}),
            "[model] attention = softmax sotfmax holds sotfmax, which is not a known attention layer; did you mean "
            "softmax?");
  EXPECT_EQ(sentence(options, {{"attention", ""}}),
            "[model] attention has no value; it takes names of registered attention layers.");
  OptionSet missing;
  missing.layers("attention", "attention", {"gone"}, "");
  EXPECT_NE(sentence(missing, {}).find("attention = gone (the default) is not a known attention layer"),
            std::string::npos);
}

TEST(OptionValues, LayersMayAllowOtherWords) {
  OptionSet options;
  options.layer("position", "position", "none", "").one_of({"none"});
  EXPECT_EQ(OptionValues::from(options, {{"position", "none"}}, "model", layers).text("position"), "none");
  EXPECT_EQ(sentence(options, {{"position", "nine"}}),
            "[model] position = nine is not a known position layer; did you mean none?");
}

}  // namespace
}  // namespace ridgeline

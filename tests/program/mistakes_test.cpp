// Mistakes in the command and the deck: one sentence, status 2, nothing written.
#include <sys/stat.h>
#include <unistd.h>

#include <sstream>

#include "config/text.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

using test::expect_contains;

/// What a mistake must say, and that nothing was written.
void expect_mistake(const Place& place, const Arguments& arguments, const std::vector<std::string>& parts) {
  const std::vector<std::string> before = place.files();
  const Ended ended = place.run(arguments);
  const std::string sentence = expect_sentence(ended, 2);
  EXPECT_EQ(ended.out, "");
  for (const std::string& part : parts) expect_contains(sentence, part);
  EXPECT_EQ(place.files(), before);
}

void expect_mistaken_command(const Arguments& arguments, const std::vector<std::string>& parts) {
  expect_mistake(Place(), arguments, parts);
}

/// A deck of this content.
void expect_mistaken_deck(const std::string& content, const std::vector<std::string>& parts) {
  const Place place;
  place.put("deck.ini", content);
  expect_mistake(place, {"run", "deck.ini", "-o", "out"}, parts);
  EXPECT_FALSE(std::filesystem::exists(place / "out"));
}

/// The tiny deck with `from` in it replaced.
void expect_mistaken_line(const std::string& from, const std::string& to, const std::vector<std::string>& parts) {
  std::string deck = tiny_deck;
  const std::size_t at = deck.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  const auto line = std::count(deck.begin(), deck.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
  deck.replace(at, from.size(), to);
  std::vector<std::string> all = parts;
  all.push_back("deck.ini:" + std::to_string(line) + ": ");
  expect_mistaken_deck(deck, all);
}

void expect_mistaken_setting(const std::vector<std::string>& settings, const std::vector<std::string>& parts) {
  const Place place;
  expect_mistake(place, with_settings({"run", "tiny.ini", "-o", "out"}, settings), parts);
  EXPECT_FALSE(std::filesystem::exists(place / "out"));
}

TEST(Mistakes, InTheCommand) {
  expect_mistaken_command({}, {"--help"});
  expect_mistaken_command({"rum", "tiny.ini"}, {"rum", "run"});
  expect_mistaken_command({"run"}, {"DECK"});
  expect_mistaken_command({"run", ""}, {"empty"});
  expect_mistaken_command({"run", "tiny.ini", "other.ini"}, {"other.ini"});
  expect_mistaken_command({"run", "tiny.ini", "--overwrit"}, {"--overwrit", "--overwrite"});
  expect_mistaken_command({"run", "tiny.ini", "-o"}, {"-o"});
  expect_mistaken_command({"run", "tiny.ini", "-o", ""}, {"--output"});
  expect_mistaken_command({"eval", "tiny.ini"}, {"--checkpoint"});
  expect_mistaken_command({"--verbose"}, {"--verbose"});
}

TEST(Mistakes, AreSaidAsTheyAreSpoken) {
  expect_mistaken_command({"run", "tiny.ini", "--threads"}, {"it takes an N."});
  expect_mistaken_command({"run", "tiny.ini", "--time-limit"}, {"it takes an HH:MM:SS."});
  expect_mistaken_command({"run", "tiny.ini", "-o"}, {"it takes a DIR."});
  expect_mistaken_setting({"data.x=0 1 1", "data.context=3"}, {"context = 3 is more than a function has: 1 point."});
  const Place place;
  const Ended ended = place.run(
      with_settings({"run", "tiny.ini", "-o", "out"}, {"data.functions=1", "train.steps=1", "data.context=0"}));
  expect_success(ended);
  expect_contains(ended.out, " parameters, 1 step of 1 sample, 1 thread\n");
  expect_contains(ended.out, "  nan");
  EXPECT_EQ(ended.out.find("-nan"), std::string::npos) << ended.out;
}

/// The layer complains of its heads, and the command line has made the width.
TEST(Mistakes, OfAWidthThatWasSetAreSaidToBe) {
  std::string deck = tiny_deck;
  deck.replace(deck.find("blocks = 1"), 10, "blocks = 1\nattention = softmax\n[attention.softmax]\nheads = 4");
  const Place place;
  place.put("deck.ini", deck);
  for (const std::string command : {"run", "check"}) {
    const std::string sentence = expect_sentence(place.run({command, "deck.ini", "--set", "model.width=9"}), 2);
    expect_contains(sentence, "deck.ini:10: [attention.softmax] heads = 4 does not divide both `embed`, 9, and `out`");
    expect_contains(sentence, "; --set makes the width 9.");
  }
  expect_contains(expect_sentence(place.run({"check", "deck.ini", "--set", "attention.softmax.heads=3"}), 2),
                  "8; 1, 2");
  EXPECT_EQ(place.run({"check", "deck.ini", "--set", "attention.softmax.heads=3"}).err.find("makes the width"),
            std::string::npos);
}

TEST(Mistakes, OptionsWithoutAValueOrTwice) {
  for (const std::string option : {"--set", "--threads", "--output", "--time-limit", "--log-level", "--checkpoint"}) {
    const std::string command = option == "--checkpoint" ? "eval" : "run";
    expect_mistaken_command({command, "tiny.ini", option}, {option, "value"});
    expect_mistaken_command({command, "tiny.ini", option + "="}, {option});
    if (option != "--set") expect_mistaken_command({command, "tiny.ini", option, "1", option, "1"}, {option, "twice"});
  }
  for (const std::string option : {"--quiet", "--overwrite", "--resume"}) {
    expect_mistaken_command({"run", "tiny.ini", option + "=yes"}, {option, "no value"});
    expect_mistaken_command({"run", "tiny.ini", option, option}, {option, "twice"});
  }
}

/// Whether a terminal shows it as it is: UTF-8 on one line, without a character that controls it.
bool is_harmless(const std::string& line) { return excerpt(line, std::string::npos) == line; }

TEST(Mistakes, WhatIsRepeatedOfTheUsersWordsIsHarmless) {
  const std::string controls =
      "\033[31m\xc2\x9b"
      "31m\xff\xe2\x80\xae\nred";
  for (const std::string& word : {controls, std::string(100000, 'a')})
    for (const Arguments& arguments : std::vector<Arguments>{{word},
                                                             {"run", word},
                                                             {"run", "tiny.ini", word},
                                                             {"run", "tiny.ini", "--" + word},
                                                             {"run", "tiny.ini", "--threads", word},
                                                             {"run", "tiny.ini", "--time-limit", word},
                                                             {"run", "tiny.ini", "--set", word},
                                                             {"run", "tiny.ini", "--set", word + ".batch=1"},
                                                             {"run", "tiny.ini", "--set", "train." + word + "=1"},
                                                             {"run", "tiny.ini", "--set", "train.batch=" + word},
                                                             {"run", "tiny.ini", "--set", "model.attention=" + word},
                                                             {"describe", word},
                                                             {"describe", "attention/" + word},
                                                             {"layers", word}}) {
      const Place place;
      const Ended ended = place.run(arguments);
      EXPECT_TRUE(is_harmless(lines_of(expect_sentence(ended, 2)).at(0))) << ended.err;
      EXPECT_LT(ended.err.size(), 1000U) << ended.err.substr(0, 1000);
      EXPECT_EQ(place.files(), (std::vector<std::string>{"tiny.ini"}));
    }
}

TEST(Mistakes, InThreads) {
  for (const std::string threads : {"0", "-1", "two", "1.5", "", "9223372036854775808", "513"})
    expect_mistaken_command({"run", "tiny.ini", "-o", "out", "--threads", threads}, {"--threads"});
}

TEST(Mistakes, InKokkosOptions) {
  expect_mistaken_command({"run", "tiny.ini", "-o", "out", "--kokkos-threads=many"}, {"--kokkos-threads=many"});
  expect_mistaken_command({"check", "tiny.ini", "--kokkos-treads=2"}, {"--kokkos-treads=2"});
}

TEST(Mistakes, InOverrides) {
  expect_mistaken_setting({"epochs=2"}, {"epochs=2"});
  expect_mistaken_setting({"train.epochs"}, {"train.epochs"});
  expect_mistaken_setting({"train.epochs="}, {"epochs"});
  expect_mistaken_setting({"train.epoch=2"}, {"--set", "epoch", "epochs"});
  expect_mistaken_setting({"trian.epochs=2"}, {"--set", "trian", "train"});
  expect_mistaken_setting({""}, {"--set"});
  expect_mistaken_setting({".=1"}, {"section"});
  expect_mistaken_setting({"train.=1"}, {"key"});
  expect_mistaken_setting({"train.batch==2"}, {"batch = =2"});
  expect_mistaken_setting({"eval." + std::string(70000, 'a') + ".context=1"}, {"--set", "bytes long"});
}

TEST(Mistakes, NoDeck) {
  expect_mistaken_command({"run", "missing.ini"}, {"missing.ini"});
  expect_mistaken_command({"run", "."}, {"folder"});
  expect_mistaken_command({"run", "tiny.ini/below"}, {"tiny.ini/below"});
  expect_mistaken_command({"run", std::string(5000, 'd')}, {"long"});
  expect_mistaken_command({"check", "missing.ini"}, {"missing.ini"});
  expect_mistaken_command({"eval", "missing.ini", "--checkpoint", "x.h5"}, {"missing.ini"});
}

TEST(Mistakes, ADeckThatIsNoFileIsNotWaitedFor) {
  const Place place;
  ASSERT_EQ(::mkfifo((place / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(::symlink("other", (place / "circle").c_str()), 0);
  ASSERT_EQ(::symlink("circle", (place / "other").c_str()), 0);
  for (const std::string command : {"run", "check"}) {
    for (const std::string deck : {"pipe", "/dev/zero", "/dev/null"})
      expect_contains(expect_sentence(place.run({command, deck}), 2), deck + ": this is a pipe or a device");
    expect_contains(expect_sentence(place.run({command, "circle"}), 2), "circle");
  }
}

TEST(Mistakes, NamesThatAreNotKnown) {
  expect_mistaken_line("[train]", "[trian]", {"[trian]", "[train]"});
  expect_mistaken_line("width = 8", "widht = 8", {"widht", "width"});
  expect_mistaken_line("blocks = 1", "attention = functionl", {"functionl", "functional"});
  expect_mistaken_line("hidden = 16", "activation = glu", {"glu", "gelu"});
  expect_mistaken_line("functions = 10", "task = cosine", {"cosine", "sine"});
  expect_mistaken_line("learning_rate = 1e-3", "schedule = onecycle", {"onecycle", "one_cycle"});
  expect_mistaken_line("[ffn.mlp]", "[ffn.mpl]", {"ffn.mpl", "ffn.mlp"});
}

TEST(Mistakes, Twice) {
  expect_mistaken_line("epochs = 2", "batch = 4", {"batch", "twice"});
  expect_mistaken_line("[eval.far]", "[eval.id]", {"eval.id"});
}

TEST(Mistakes, ValuesThatAreNoNumbers) {
  for (const std::string value : {"many", "8.5", "8.", ".5", "1e3", "0x10", "1_000", "1,000", "+-8", "'8'", "8 8",
                                  "9223372036854775808", "1e400"})
    expect_mistaken_line("width = 8", "width = " + value, {"width", "whole number"});
  for (const std::string value :
       {"nan", "-nan", "inf", "-inf", "1e400", "1e-400", "fast", "1,5", "0x1p3", "1_000", "1e", ".", "5f", "1e-3 1e-3"})
    expect_mistaken_line("learning_rate = 1e-3", "learning_rate = " + value, {"learning_rate", "number"});
  expect_mistaken_line("width = 8", "width =", {"width"});
  expect_mistaken_setting({"data.resample=maybe"}, {"resample", "yes"});
}

TEST(Mistakes, OtherWaysToWriteANumberAreNone) {
  const Place place;
  for (const std::string value : {"+5", ".5", "5.", "1e3", "1E3", "1e+3", "005", "1e-300"})
    expect_success(place.run(with_settings({"check", "tiny.ini"}, {"train.learning_rate=" + value})));
  for (const std::string value : {"+5", "005"})
    expect_success(place.run(with_settings({"check", "tiny.ini"}, {"model.width=" + value})));
}

TEST(Mistakes, ValuesThatAreOutOfRange) {
  for (const std::string value : {"0", "-8", "2000000000", "9223372036854775807"})
    expect_mistaken_line("width = 8", "width = " + value, {"width", value});
  for (const std::string setting : {"model.blocks=0",
                                    "model.blocks=1000000",
                                    "encoder.mlp.layers=0",
                                    "encoder.mlp.layers=2000000000",
                                    "encoder.mlp.layers=4294967297",
                                    "attention.functional.heads=-2",
                                    "attention.functional.heads=4294967297",
                                    "attention.functional.basis=4294967297",
                                    "attention.functional.basis=0",
                                    "ffn.mlp.hidden=4294967297",
                                    "ffn.mlp.hidden=0",
                                    "train.batch=0",
                                    "train.batch=-1",
                                    "train.epochs=-1",
                                    "train.steps=-5",
                                    "train.eval_every=-1",
                                    "train.learning_rate=0",
                                    "train.learning_rate=-1",
                                    "train.gradient_clip=-1",
                                    "attention.functional.ridge=0",
                                    "attention.functional.ridge=-1e-4",
                                    "data.functions=0",
                                    "data.functions=-10",
                                    "data.context=-1",
                                    "data.context=2147483648",
                                    "data.context=4294967297",
                                    "eval.far.context=4294967297",
                                    "attention.functional.ridge=1e300",
                                    "run.seed=-1",
                                    "eval.far.functions=0"}) {
    const std::string key = setting.substr(0, setting.find('='));
    expect_mistaken_setting({setting},
                            {"--set", key.substr(key.rfind('.') + 1), setting.substr(setting.find('=') + 1)});
  }
}

TEST(Mistakes, Grids) {
  expect_mistaken_line("x = -3 3 0.5", "x = 3 -3 0.5", {"x = 3 -3 0.5"});
  expect_mistaken_line("x = -3 3 0.5", "x = -3 -3 0.5", {"x = -3 -3 0.5"});
  expect_mistaken_line("x = -3 3 0.5", "x = -3 3 0", {"step"});
  expect_mistaken_line("x = -3 3 0.5", "x = -3 3 -0.5", {"step"});
  expect_mistaken_line("x = -3 3 0.5", "x = -3 3", {"3 numbers"});
  expect_mistaken_line("x = -3 3 0.5", "x = -3 nan 0.5", {"nan"});
  expect_mistaken_line("x = -3 6 0.5", "x = -3 6 1e-300", {"points"});
  expect_mistaken_setting({"data.x=-1e308 1e308 0.1"}, {"x = -1e308 1e308 0.1", "points"});
  expect_mistaken_line("context = 3", "context = 13", {"context = 13", "12"});
  expect_mistaken_setting({"eval.id.amplitude=5 1"}, {"amplitude = 5 1"});
  expect_mistaken_setting({"data.phase=-1e308 1e308"}, {"phase = -1e308 1e308", "double precision"});
  expect_mistaken_setting({"data.context=12", "train.loss=hidden"}, {"loss = hidden"});
}

TEST(Mistakes, NumbersBeyondThePrecision) {
  for (const std::string set : {"data", "eval.far"}) {
    for (const std::string value : {"1e40 1e40", "-1e300 1", "1e38 4e38"})
      expect_mistaken_setting({set + ".amplitude=" + value},
                              {"[" + set + "] amplitude = " + value, "single precision", "3.4e+38"});
    expect_mistaken_setting({set + ".x=0 1e40 1e39"}, {"[" + set + "] x = 0 1e40 1e39", "9e39", "single precision"});
    expect_mistaken_setting({set + ".amplitude=0 1e200", "run.precision=double"},
                            {"[" + set + "] amplitude = 0 1e200", "double precision"});
  }
  const Place place;
  expect_success(place.run(with_settings({"check", "tiny.ini"}, {"data.amplitude=1e40 1e40", "run.precision=double"})));
  expect_success(place.run(with_settings({"check", "tiny.ini"}, {"data.amplitude=-3.4e38 3.4e38"})));
}

TEST(Mistakes, MoreThanCanBeIndexed) {
  const std::vector<std::string> many = {"model.width=4", "data.functions=1000000", "data.context=0",
                                         "data.x=0 1000 1"};
  const auto expect = [&](std::vector<std::string> settings, const std::vector<std::string>& parts) {
    settings.insert(settings.end(), many.begin(), many.end());
    expect_mistaken_setting(settings, parts);
  };
  expect({"train.batch=1000000"}, {"[train] batch", "1e+09 tokens of 4 channels", "indexed"});
  expect({"train.batch=100000", "attention.functional.heads=60000"},
         {"[attention.functional] basis", "3.6e+10 coefficients", "100000 samples", "indexed"});
  expect_mistaken_setting({"attention.functional.heads=65536", "attention.functional.basis=16384"},
                          {"[attention.functional] heads", "indexed"});
}

/// What `check` says of the memory of a step, in bytes.
double activations_of(const std::vector<std::string>& settings) {
  const Place place;
  const Ended ended = place.run(with_settings({"check", "tiny.ini"}, settings));
  expect_success(ended);
  const std::size_t end = ended.out.find(" of activations and scratch");
  if (end == std::string::npos) return 0;
  std::istringstream words(ended.out.substr(ended.out.rfind('\n', end)));
  double number = 0;
  std::string unit;
  words >> number >> unit;
  const std::map<std::string, double> units = {{"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  return number * units.at(unit);
}

TEST(Mistakes, ArraysOfMoreThanAnIntHoldsAreCountedRight) {
  // 100,000 tokens a step; three arrays of tokens by hidden channels, nine of tokens by all heads' channels.
  const std::vector<std::string> many = {"model.width=4", "data.functions=1000", "train.batch=100", "data.x=0 1000 1"};
  const auto with = [&](const std::vector<std::string>& settings) {
    std::vector<std::string> all = many;
    all.insert(all.end(), settings.begin(), settings.end());
    return all;
  };
  EXPECT_NEAR(activations_of(with({"ffn.mlp.hidden=16777216"})) / (3 * 1e5 * 16777216 * 4), 1, 0.01);
  EXPECT_GT(activations_of(with({"attention.functional.heads=65536", "attention.functional.order=direct"})),
            7 * 1e5 * 65536 * 4 * 4);
  // So many that even 64 bits would wrap round.
  EXPECT_GT(activations_of({"model.width=1", "ffn.mlp.hidden=16777216", "model.blocks=1000", "data.functions=1000000",
                            "train.batch=1000000", "data.x=0 1000 1"}),
            1e18);
}

TEST(Mistakes, MoreThanMemory) {
  expect_mistaken_setting({"data.x=-6 6 1e-7"}, {});
  expect_mistaken_setting({"data.functions=100000000", "data.x=0 1e4 0.1"}, {"GiB", "free"});
  expect_mistaken_setting({"model.width=200000"}, {"GiB", "free"});
  expect_mistaken_setting({"attention.functional.heads=60000", "attention.functional.basis=60000"}, {});
  // To look is no mistake: check says how much it would be.
  const Place place;
  expect_contains(place.run(with_settings({"check", "tiny.ini"}, {"model.width=200000"})).out, "TiB");
}

TEST(Mistakes, MoreThanTheProcessMayHave) {
  if (is_watched) GTEST_SKIP() << "a sanitizer takes more address space than any limit";
  const Place place;
  Surroundings surroundings;
  surroundings.address_space = std::size_t{3} << 30;
  const std::string sentence =
      expect_sentence(place.run(with_settings({"run", "tiny.ini"}, {"eval.far.x=0 3e7 1"}), surroundings), 2);
  for (const char* part : {"this run needs", "GiB of memory", "2.", "GiB are free"}) expect_contains(sentence, part);
}

TEST(Mistakes, TestSetsWithANameThatCannotBe) {
  for (const std::string name : {"eval.train", "eval.time"})
    expect_mistaken_line("[eval.id]", "[" + name + "]", {name});
  expect_mistaken_line("[eval.id]", "[eval]", {"[eval]"});
  expect_mistaken_line("[eval.id]", "[eval.a/b]", {});
}

TEST(Mistakes, MoreTestSetsThanThereMayBe) {
  std::string deck = "[data]\n";
  for (int i = 1; i <= 200000; ++i) deck += "[eval." + std::to_string(i) + "]\n";
  expect_mistaken_deck(deck, {"deck.ini:1002", "[eval.1001]", "1000"});
}

TEST(Mistakes, DecksThatAreNone) {
  const auto repeated = [](char letter, std::size_t times) { return std::string().append(times, letter); };
  expect_mistaken_deck("width = 8\n", {"deck.ini:1"});
  expect_mistaken_deck("[model\nwidth = 8\n", {"deck.ini:1"});
  expect_mistaken_deck("[model]\nwidth\n", {"deck.ini:2"});
  expect_mistaken_deck("[model]\n= 8\n", {"deck.ini:2"});
  expect_mistaken_deck("[model]\nwidth = a#b\n", {"deck.ini:2", "#"});
  expect_mistaken_deck(repeated('x', 10'000'000), {"deck.ini:1"});
  expect_mistaken_deck("[model]\nwidth = " + repeated('1', 10'000'000) + "\n", {"deck.ini:2"});
  expect_mistaken_deck(repeated('\n', 20'000'000), {"deck.ini"});
  std::string bytes;
  for (int i = 0; i < 5000; ++i) bytes += static_cast<char>((i * 7919) % 256);
  expect_mistaken_deck(bytes, {"deck.ini:1"});
  expect_mistaken_deck(std::string("[model]\nwidth = 8\0\n", 19), {"deck.ini:2"});
}

TEST(Mistakes, SubjectsThatAreNotThere) {
  expect_mistaken_command({"describe", "attention/functionl"}, {"functionl", "functional"});
  expect_mistaken_command({"describe", "atention/functional"}, {"atention"});
  expect_mistaken_command({"describe", "trian"}, {"trian", "train"});
  expect_mistaken_command({"describe", "data.cosine"}, {"cosine"});
  expect_mistaken_command({"describe", "/"}, {});
  expect_mistaken_command({"layers", "atention"}, {"atention", "attention"});
}

}  // namespace
}  // namespace ridgeline::program

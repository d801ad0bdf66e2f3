// Mistakes in the command and the deck: one sentence, status 2, nothing written.
#include "program.hpp"

namespace ridgeline::program {
namespace {

using test::expect_contains;

/// What a mistake must say, and that nothing was written.
void expect_mistake(const Place& place, const Arguments& arguments, const std::vector<std::string>& parts) {
  const std::vector<std::string> before = place.files();
  Surroundings surroundings;
  surroundings.seconds = 20;
  const Ended ended = place.run(arguments, surroundings);
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
}

TEST(Mistakes, NoDeck) {
  expect_mistaken_command({"run", "missing.ini"}, {"missing.ini"});
  expect_mistaken_command({"run", "."}, {"folder"});
  expect_mistaken_command({"check", "missing.ini"}, {"missing.ini"});
  expect_mistaken_command({"eval", "missing.ini", "--checkpoint", "x.h5"}, {"missing.ini"});
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
  for (const std::string value : {"many", "8.5", "1e3", "0x10", "8 8", "9223372036854775808", "1e400"})
    expect_mistaken_line("width = 8", "width = " + value, {"width", "whole number"});
  for (const std::string value : {"nan", "inf", "-inf", "1e400", "fast", "1,5", "0x1p3", "1e-3 1e-3"})
    expect_mistaken_line("learning_rate = 1e-3", "learning_rate = " + value, {"learning_rate", "number"});
  expect_mistaken_line("width = 8", "width =", {"width"});
  expect_mistaken_setting({"data.resample=maybe"}, {"resample", "yes"});
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
  expect_mistaken_setting({"data.context=12", "train.loss=hidden"}, {"loss = hidden"});
}

TEST(Mistakes, MoreThanMemory) {
  expect_mistaken_setting({"data.x=-6 6 1e-7"}, {});
  expect_mistaken_setting({"data.functions=100000000", "data.x=0 1e4 0.1"}, {"GiB", "free"});
  expect_mistaken_setting({"model.width=200000"}, {"GiB", "free"});
  expect_mistaken_setting({"attention.functional.heads=60000", "attention.functional.basis=60000"}, {});
  const Place place;
  Surroundings surroundings;
  surroundings.seconds = 20;
  // To look is no mistake: check says how much it would be.
  expect_contains(place.run(with_settings({"check", "tiny.ini"}, {"model.width=200000"}), surroundings).out, "TiB");
}

TEST(Mistakes, TestSetsWithANameThatCannotBe) {
  for (const std::string name : {"eval.train", "eval.time"})
    expect_mistaken_line("[eval.id]", "[" + name + "]", {name});
  expect_mistaken_line("[eval.id]", "[eval]", {"[eval]"});
  expect_mistaken_line("[eval.id]", "[eval.a/b]", {});
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

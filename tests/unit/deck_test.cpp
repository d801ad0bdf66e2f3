#include "config/deck.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline {
namespace {

std::string sentence(std::string_view text) {
  try {
    Deck::parse(text, "a.ini");
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    return error.what();
  }
  return "no error";
}

// A file in a folder of its own, gone with the test.
class DeckFile : public ::testing::Test {
 protected:
  void SetUp() override {
    // The same test may run twice at once, with one and with two threads.
    const std::string test = ::testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = std::filesystem::temp_directory_path() / ("ridgeline_" + test + "_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& text) const {
    const std::string path = (folder_ / "a.ini").string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  // What reading the file complains of, without the path in front.
  static std::string sentence_of_file(const std::string& path, Exit status = Exit::mistake) {
    try {
      Deck::read(path);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), status);
      const std::string text = error.what();
      EXPECT_EQ(text.compare(0, path.size(), path), 0) << text;
      return text.substr(path.size());
    }
    return "no error";
  }

  std::filesystem::path folder_;
};

TEST(Deck, KeepsSectionsKeysAndLines) {
  const Deck deck = Deck::parse(
      "# what this is\n"
      "[data]\n"
      "task = sine\n"
      "\n"
      "x = -6 6 0.1   # first, past the last, step\n"
      "[eval.id]   # nothing changed\n"
      "[eval.ood_x]\n"
      "  x=-3 15 0.1\t# wider\n",
      "a.ini");
  EXPECT_EQ(deck.path, "a.ini");
  ASSERT_EQ(deck.sections.size(), 3U);
  EXPECT_EQ(deck.sections[0].name, "data");
  EXPECT_EQ(deck.sections[0].line, 2U);
  ASSERT_EQ(deck.sections[0].entries.size(), 2U);
  EXPECT_EQ(deck.sections[0].entries[1].key, "x");
  EXPECT_EQ(deck.sections[0].entries[1].value, "-6 6 0.1");
  EXPECT_EQ(deck.sections[0].entries[1].line, 5U);
  EXPECT_TRUE(deck.sections[1].entries.empty());
  EXPECT_EQ(deck.sections[2].entries[0].value, "-3 15 0.1");
  EXPECT_EQ(deck.find("eval.id")->line, 6U);
  EXPECT_EQ(deck.find("eval"), nullptr);
}

TEST(Deck, ReadsEveryKindOfLineEnd) {
  for (const char* text :
       {"[a]\nb = 1\nc = 2\n", "[a]\r\nb = 1\r\nc = 2\r\n", "[a]\nb = 1\nc = 2", "[a]\r\nb = 1\nc = 2\r",
        "\xef\xbb\xbf[a]\nb = 1\nc = 2\n", "\xef\xbb\xbf[a]\r\nb = 1\r\nc = 2"}) {
    const Deck deck = Deck::parse(text, "a.ini");
    ASSERT_EQ(deck.sections.size(), 1U);
    ASSERT_EQ(deck.sections[0].entries.size(), 2U);
    EXPECT_EQ(deck.sections[0].entries[0].value, "1");
    EXPECT_EQ(deck.sections[0].entries[1].value, "2");
    EXPECT_EQ(deck.sections[0].entries[1].line, 3U);
  }
}

TEST(Deck, KeepsWhatAValueHolds) {
  const Deck deck = Deck::parse("[a]\nb = x = [y]; größe \"q\"  \nc =\nd = # nothing\ne\t=\tf  g\n[ b ]\n", "a.ini");
  EXPECT_EQ(deck.sections[0].entries[0].value, "x = [y]; größe \"q\"");
  EXPECT_EQ(deck.sections[0].entries[1].value, "");
  EXPECT_EQ(deck.sections[0].entries[2].value, "");
  EXPECT_EQ(deck.sections[0].entries[3].key, "e");
  EXPECT_EQ(deck.sections[0].entries[3].value, "f  g");
  EXPECT_EQ(deck.sections[1].name, "b");
}

TEST(Deck, CommentsBeginALineOrFollowWhiteSpace) {
  const Deck deck = Deck::parse("#c\n  # c\n[a] # c\nb = 1 # c # d\nc = 2 #d\n#", "a.ini");
  EXPECT_EQ(deck.sections[0].entries[0].value, "1");
  EXPECT_EQ(deck.sections[0].entries[1].value, "2");
  const std::string rule = "; a value holds no #, and a comment begins a line or follows white space.";
  EXPECT_EQ(sentence("[a]\nb = a#b\n"), "a.ini:2: a # stands without white space before it in b = a#b" + rule);
  EXPECT_EQ(sentence("[a]#c\n"), "a.ini:1: a # stands without white space before it in [a]#c" + rule);
  EXPECT_EQ(sentence("[a]\nb =#c\n"), "a.ini:2: a # stands without white space before it in b =#c" + rule);
}

TEST(DeckMistakes, WhatIsNoLine) {
  EXPECT_EQ(sentence("[a]\n\nwidth 8\n"), "a.ini:3: width 8 is neither a [section] nor a key = value nor a # comment.");
  EXPECT_EQ(sentence("[a]\n= 8\n"), "a.ini:2: = 8 has no key before its =; a line is key = value.");
  EXPECT_EQ(sentence("seed = 1\n[run]\n"), "a.ini:1: seed stands before any section; a deck begins with a [section].");
  EXPECT_EQ(sentence("; comment\n"), "a.ini:1: ; comment is neither a [section] nor a key = value nor a # comment.");
}

TEST(DeckMistakes, Headers) {
  const std::string form = "; it is [section] or [section.name].";
  EXPECT_EQ(sentence("[a\n"), "a.ini:1: the section header [a has no closing ]" + form);
  EXPECT_EQ(sentence("[a] b = 1\n"), "a.ini:1: the section header [a] b = 1 has something after its ]" + form);
  EXPECT_EQ(sentence("[a]]\n"), "a.ini:1: the section header [a]] has something after its ]" + form);
  for (const char* name : {"", "a.", ".a", ".", "a.b.c", "a b", "a/b", "größe", "[a", "a=b"}) {
    EXPECT_EQ(sentence("[" + std::string(name) + "]\n"),
              "a.ini:1: [" + std::string(name) +
                  "] is no name of a section; it is made of letters, digits, _ and -, in two parts joined by a dot or "
                  "in one.");
  }
}

TEST(DeckMistakes, Repeats) {
  EXPECT_EQ(sentence("[a]\nb = 1\n# c\nb = 1\n"), "a.ini:4: [a] b is given twice; the first is on line 2.");
  EXPECT_EQ(sentence("[a]\n[b]\n[a]\n"), "a.ini:3: [a] appears twice; the first is on line 1.");
  EXPECT_EQ(sentence("[a]\nc = 1\n[b]\nc = 1\n"), "no error");
}

TEST(DeckMistakes, NothingInIt) {
  for (const char* text : {"", "\n\n", "# only a comment\n", "\xef\xbb\xbf"}) {
    EXPECT_EQ(sentence(text), "a.ini: the deck has no [section].");
  }
}

TEST(DeckMistakes, BytesThatAreNotText) {
  const std::string rule = "; a deck is text in UTF-8 without control characters.";
  EXPECT_EQ(sentence(std::string_view("[a]\nb = \0c\n", 11)), "a.ini:2: byte 5 of the line is 0x00" + rule);
  EXPECT_EQ(sentence("[a]\nb = \x1b[31m\n"), "a.ini:2: byte 5 of the line is 0x1b" + rule);
  EXPECT_EQ(sentence("[a]\nb = \xff\n"), "a.ini:2: byte 5 of the line is 0xff" + rule);
  EXPECT_EQ(sentence("[a] # \xc3(\n"), "a.ini:1: byte 7 of the line is 0xc3" + rule);
  EXPECT_EQ(sentence("[a]\rb = 1\r"), "a.ini:1: byte 4 of the line is 0x0d" + rule);
  EXPECT_EQ(sentence("\xff\xfe[\0a"), "a.ini:1: byte 1 of the line is 0xff" + rule);
  EXPECT_EQ(sentence("\x89HDF\r\n\x1a\n"), "a.ini:1: byte 1 of the line is 0x89" + rule);
}

TEST(DeckMistakes, LongLines) {
  EXPECT_EQ(sentence("[a]\nb = " + std::string(10000000, '1')),
            "a.ini:2: the line is 10000004 bytes long; a deck's line is at most 65536.");
  EXPECT_EQ(sentence("[a]\nb = " + std::string(Deck::longest_line - 4, '1')), "no error");
  EXPECT_LT(sentence(std::string(60000, 'k')).size(), 200U);
  EXPECT_LT(sentence("[" + std::string(60000, 'k')).size(), 200U);
  EXPECT_LT(sentence(std::string(60000, 'k') + "= 1").size(), 200U);
}

TEST(DeckMistakes, AreQuickToFindInALargeDeck) {
  std::string text = "[a]\n";
  for (int i = 0; i < 200000; ++i) text += "k" + std::to_string(i) + " = 1\n";
  EXPECT_EQ(sentence(text + "k7 = 1\n"), "a.ini:200002: [a] k7 is given twice; the first is on line 9.");
}

TEST_F(DeckFile, IsRead) {
  const std::string path = write("[a]\nb = 1\n");
  const Deck deck = Deck::read(path);
  EXPECT_EQ(deck.path, path);
  EXPECT_EQ(deck.sections[0].entries[0].value, "1");
}

TEST_F(DeckFile, ThatIsMissing) {
  EXPECT_EQ(sentence_of_file((folder_ / "b.ini").string()), ": there is no such deck.");
  EXPECT_EQ(sentence_of_file(write("[a]\n") + "/b.ini"), ": there is no such deck.");
  EXPECT_THROW(Deck::read(""), Error);
  EXPECT_THROW(Deck::read(std::string(100000, 'd')), Error);
}

TEST_F(DeckFile, ThatIsAFolder) {
  EXPECT_EQ(sentence_of_file(folder_.string()), ": this is a folder; a deck is a file.");
}

TEST_F(DeckFile, ThatCannotBeRead) {
  // Linux lets anyone open it and nobody read from its start, root included.
  if (!std::filesystem::exists("/proc/self/mem")) GTEST_SKIP() << "needs Linux";
  EXPECT_EQ(sentence_of_file("/proc/self/mem", Exit::file), ": the deck cannot be read; Input/output error.");
}

TEST_F(DeckFile, ThatIsAPipeOrADevice) {
  const std::string pipe = (folder_ / "pipe").string();
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(sentence_of_file(pipe), ": this is a pipe or a device; a deck is a file on disk.");
  EXPECT_EQ(sentence_of_file("/dev/null"), ": this is a pipe or a device; a deck is a file on disk.");
}

TEST_F(DeckFile, ThatIsTooLarge) {
  EXPECT_EQ(sentence_of_file(write(std::string((std::size_t{16} << 20) + 1, '\n'))),
            ": the file is larger than 16 MiB, which is the most that a deck may hold.");
}

TEST_F(DeckFile, WhoseLinksLeadInACircle) {
  std::filesystem::create_symlink("there", folder_ / "here");
  std::filesystem::create_symlink("here", folder_ / "there");
  EXPECT_EQ(sentence_of_file((folder_ / "here").string()),
            ": there is no such deck; its symbolic links lead in a circle.");
}

TEST_F(DeckFile, OfTenMegabytesInOneLine) {
  EXPECT_EQ(sentence_of_file(write(std::string(10000000, 'a'))),
            ":1: the line is 10000000 bytes long; a deck's line is at most 65536.");
}

OptionSet example() {
  OptionSet options;
  options.reals("x", {-6, 6, 0.1}, "");
  options.real("third", 1.0 / 3.0, "");
  options.text("file", "", "");
  options.texts("plugins", {}, "");
  return options;
}

TEST(DeckWriting, ReadsBackToTheSameValues) {
  const OptionValues data =
      OptionValues::from(example(), {{"x", "0.1 1e-300 123456789.12345679"}, {"file", "größe = [1]  ; x"}}, "data");
  const OptionValues set = OptionValues::from(example(), {}, "eval.id");
  const OptionValues none = OptionValues::from(OptionSet(), {}, "run");
  std::ostringstream stream;
  write_deck(stream, {data, none, set});
  EXPECT_EQ(stream.str(),
            "[data]\nx = 0.1 1e-300 123456789.12345679\nthird = 0.3333333333333333\nfile = größe = [1]  ; x\n"
            "plugins =\n\n[run]\n\n[eval.id]\nx = -6 6 0.1\nthird = 0.3333333333333333\nplugins =\n");

  const Deck deck = Deck::parse(stream.str(), "resolved");
  std::vector<OptionText> texts;
  for (const Deck::Entry& entry : deck.find("data")->entries) texts.push_back({entry.key, entry.value, ""});
  const OptionValues again = OptionValues::read(example(), texts, "data", "");
  EXPECT_EQ(again.reals("x"), data.reals("x"));
  EXPECT_EQ(again.real("third"), data.real("third"));
  EXPECT_EQ(again.resolved(), data.resolved());
}

TEST(DeckWriting, RefusesWhatADeckCannotHold) {
  for (const char* text : {"a # b", "a#b", "a\nb", " a", "a\xff"}) {
    OptionSet options;
    options.text("file", text, "");  // a default, as a value from outside would be refused before
    std::ostringstream stream;
    EXPECT_THROW(write_deck(stream, {OptionValues::from(options, {}, "data")}), Error) << text;
    EXPECT_EQ(stream.str(), "");
  }
  std::ostringstream stream;
  EXPECT_THROW(write_deck(stream, {OptionValues::defaults(OptionSet())}), std::logic_error);
}

TEST(DeckWriting, OfNoSectionsIsEmpty) {
  std::ostringstream stream;
  write_deck(stream, {});
  EXPECT_EQ(stream.str(), "");
}

}  // namespace
}  // namespace ridgeline

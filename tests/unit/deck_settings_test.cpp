#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "config/settings.hpp"

namespace ridgeline {
namespace {

// The sections of a small program: [model], [data], [attention.functional], [attention.softmax], any [eval.NAME].
class ExampleSchema : public Schema {
 public:
  ExampleSchema() {
    sections_["model"].integer("width", 128, "").at_least(1);
    sections_["model"].layer("attention", "attention", "functional", "");
    sections_["data"].choice("task", "sine", {"sine", "images"}, "");
    sections_["data"].reals("x", {-6, 6, 0.1}, "").count(3);
    sections_["attention.functional"].integer("heads", 8, "").at_least(1);
    sections_["attention.functional"].integer("basis", 8, "").at_least(1);
    sections_["attention.softmax"].integer("heads", 8, "").at_least(1);
    set_.reals("x", {-6, 6, 0.1}, "").count(3);
  }

  const OptionSet* find(const std::string& section) const override {
    if (section.rfind("eval.", 0) == 0) return &set_;
    const auto found = sections_.find(section);
    return found == sections_.end() ? nullptr : &found->second;
  }

  std::vector<std::string> sections() const override {
    std::vector<std::string> names;
    for (const auto& section : sections_) names.push_back(section.first);
    return names;
  }

  std::vector<std::string> families() const override { return {"eval"}; }

 private:
  std::map<std::string, OptionSet> sections_;
  OptionSet set_;
};

const LayerNames layers = [](const std::string& kind) {
  return kind == "attention" ? std::vector<std::string>{"functional", "softmax"} : std::vector<std::string>{};
};

Settings settings(const std::string& deck, const std::vector<std::string>& overrides = {}) {
  std::vector<Override> list;
  for (const std::string& text : overrides) list.push_back(Override::parse(text));
  return Settings(Deck::parse(deck, "a.ini"), list, layers);
}

std::string sentence(const std::string& deck, const std::vector<std::string>& overrides = {}) {
  try {
    settings(deck, overrides).bind(ExampleSchema());
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    return error.what();
  }
  return "no error";
}

TEST(Override, TheLastDotSeparatesTheKey) {
  const Override set = Override::parse("eval.ood_x.x=-3 15 0.1");
  EXPECT_EQ(set.section, "eval.ood_x");
  EXPECT_EQ(set.key, "x");
  EXPECT_EQ(set.value, "-3 15 0.1");
  const Override model = Override::parse(" model.width = 4 ");
  EXPECT_EQ(model.section, "model");
  EXPECT_EQ(model.key, "width");
  EXPECT_EQ(model.value, "4");
  EXPECT_EQ(Override::parse("data.file=a.b=c.d").value, "a.b=c.d");
}

TEST(Override, OfAnotherFormIsRefused) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"model.width", "--set model.width has no =; write --set section.key=value."},
      {"", "--set  has no =; write --set section.key=value."},
      {"width=4", "--set width=4 names no section; write --set section.key=value."},
      {".width=4", "--set .width=4 names no section; write --set section.key=value."},
      {"model.=4", "--set model.=4 names no key; write --set section.key=value."},
      {"=4", "--set =4 names no section; write --set section.key=value."},
      {"a.b.c.d=4",
       "--set: [a.b.c] is no name of a section; it is made of letters, digits, _ and -, in two parts joined by a dot "
       "or in one."}};
  for (const auto& [text, expected] : cases) {
    try {
      Override::parse(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), Exit::mistake);
      EXPECT_EQ(error.what(), expected);
    }
  }
}

TEST(Settings, OverridesBeatTheDeckAndLaterOnesEarlierOnes) {
  const Settings all = settings("[model]\nwidth = 8\n", {"model.width=4", "model.width=5"});
  EXPECT_EQ(all.bind("model", *ExampleSchema().find("model")).integer("width"), 5);
  EXPECT_EQ(sentence("[model]\nwidth = wrong\n", {"model.width=4"}), "no error");
}

TEST(Settings, OverridesMayNameSectionsThatTheDeckHasNot) {
  const Settings all = settings("[model]\n[eval.id]\n", {"attention.functional.heads=4", "eval.ood_x.x=-3 15 0.1"});
  EXPECT_EQ(all.sections(), (std::vector<std::string>{"model", "eval.id", "attention.functional", "eval.ood_x"}));
  EXPECT_EQ(all.members("eval"), (std::vector<std::string>{"eval.id", "eval.ood_x"}));
  EXPECT_TRUE(all.has("eval.ood_x"));
  EXPECT_FALSE(all.has("eval"));
  const std::vector<OptionValues> values = all.bind(ExampleSchema());
  ASSERT_EQ(values.size(), 4U);
  EXPECT_EQ(values[2].section(), "attention.functional");
  EXPECT_EQ(values[2].integer("heads"), 4);
  EXPECT_EQ(values[2].integer("basis"), 8);
  EXPECT_EQ(values[3].reals("x"), (std::vector<double>{-3, 15, 0.1}));
}

TEST(Settings, AnAbsentSectionHasItsDefaults) {
  const OptionValues values = settings("[data]\n").bind("model", *ExampleSchema().find("model"));
  EXPECT_EQ(values.integer("width"), 128);
  EXPECT_EQ(values.section(), "model");
}

TEST(Settings, PeekingLooksAtNothingElse) {
  OptionSet task;
  task.choice("task", "sine", {"sine", "images"}, "");
  const Settings all = settings("[data]\nsize = 28 28\ntask = images\n");
  EXPECT_EQ(all.peek("data", task).text("task"), "images");
  EXPECT_EQ(settings("[data]\ntask = images\n", {"data.task=sine"}).peek("data", task).text("task"), "sine");
  EXPECT_EQ(settings("[model]\n").peek("data", task).text("task"), "sine");
  EXPECT_THROW(settings("[data]\ntask = imges\n").peek("data", task), Error);
}

TEST(Settings, UnusedLayersAreCheckedAllTheSame) {
  EXPECT_EQ(sentence("[model]\nattention = functional\n[attention.softmax]\nheads = 0\n"),
            "a.ini:4: [attention.softmax] heads = 0 is out of range; it takes a whole number of at least 1.");
}

TEST(SettingsMistakes, SayWhere) {
  EXPECT_EQ(sentence("[model]\n\nwidht = 4\n"), "a.ini:3: [model] widht is not a known key; did you mean width?");
  EXPECT_EQ(sentence("[attention.functional]\nbasis = 0\n"),
            "a.ini:2: [attention.functional] basis = 0 is out of range; it takes a whole number of at least 1.");
  EXPECT_EQ(sentence("[model]\nattention = functionl\n"),
            "a.ini:2: [model] attention = functionl is not a known attention layer; did you mean functional?");
  EXPECT_EQ(sentence("[model]\nwidth =  # of what?\n"),
            "a.ini:2: [model] width has no value; it takes a whole number of at least 1.");
}

TEST(SettingsMistakes, NameTheCommandLineForOverrides) {
  EXPECT_EQ(sentence("[model]\n", {"model.widht=4"}), "--set: [model] widht is not a known key; did you mean width?");
  EXPECT_EQ(sentence("[model]\nwidth = 4\n", {"model.width=0"}),
            "--set: [model] width = 0 is out of range; it takes a whole number of at least 1.");
  EXPECT_EQ(sentence("[model]\n", {"modle.width=4"}), "--set: [modle] is not a known section; did you mean [model]?");
  EXPECT_EQ(sentence("[model]\n", {"model.width="}),
            "--set: [model] width has no value; it takes a whole number of at least 1.");
}

TEST(SettingsMistakes, UnknownSections) {
  EXPECT_EQ(sentence("[model]\n[modle]\n"), "a.ini:2: [modle] is not a known section; did you mean [model]?");
  EXPECT_EQ(sentence("[attention.functionl]\n"),
            "a.ini:1: [attention.functionl] is not a known section; did you mean [attention.functional]?");
  EXPECT_EQ(sentence("[atention.softmax]\n"),
            "a.ini:1: [atention.softmax] is not a known section; did you mean [attention.softmax]?");
  EXPECT_EQ(sentence("[evla.ood_amplitude]\n"),
            "a.ini:1: [evla.ood_amplitude] is not a known section; did you mean [eval.ood_amplitude]?");
  EXPECT_EQ(sentence("[eval]\n"), "a.ini:1: [eval] has no name; it is [eval.NAME], with a name of your own.");
  EXPECT_EQ(sentence("[weather]\n"),
            "a.ini:1: [weather] is not a known section; known are [attention.functional], [attention.softmax], "
            "[data], [model], [eval.NAME].");
}

TEST(SettingsMistakes, OfAWholeSection) {
  const Settings all = settings("[model]\n[data]\n", {"eval.a.x=1"});
  EXPECT_STREQ(all.mistake("data", "is odd.").what(), "a.ini:2: [data] is odd.");
  EXPECT_STREQ(all.mistake("eval.a", "is odd.").what(), "--set: [eval.a] is odd.");
  EXPECT_STREQ(all.mistake("train", "is missing.").what(), "a.ini: [train] is missing.");
}

TEST(SettingsMistakes, AreOneShortSentence) {
  const std::string text = sentence("[model]\nwidth = " + std::string(60000, '9') + "\n");
  EXPECT_LT(text.size(), 200U);
  EXPECT_EQ(text.find('\n'), std::string::npos);
}

}  // namespace
}  // namespace ridgeline

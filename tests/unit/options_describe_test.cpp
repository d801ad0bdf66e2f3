#include <gtest/gtest.h>

#include <string>

#include "config/describe.hpp"

namespace ridgeline {
namespace {

TEST(Describe, AlignsColumnsAndWraps) {
  OptionSet options;
  options.integer("heads", 8, "attention heads").at_least(1);
  options.real("learning_rate", 1e-4, "the step of the optimiser, which a schedule may change").above(0).unit("1/step");
  EXPECT_EQ(describe_options(options, 90),
            "key            type          default  allowed     unit    meaning\n"
            "heads          whole number  8        at least 1          attention heads\n"
            "learning_rate  number        1e-4     above 0     1/step  the step of the optimiser, which\n"
            "                                                          a schedule may change\n");
  EXPECT_EQ(describe_options(OptionSet()), "no options\n");
}

TEST(Describe, LeavesEmptyColumnsOut) {
  OptionSet options;
  options.text("task", "", "what is learnt").required();
  options.flag("resample", true, "new functions every epoch");
  options.text("file", "", "the data").optional();
  EXPECT_EQ(describe_options(options),
            "key       type       default   meaning\n"
            "task      text       required  what is learnt\n"
            "resample  yes or no  yes       new functions every epoch\n"
            "file      text       none      the data\n");
}

TEST(Describe, WritesMarkdown) {
  OptionSet options;
  options.choice("normalization", "joint", {"joint", "per_head"}, "over all | each");
  options.reals("x", {-6, 6, 0.1}, "the grid").count(3).unit("m");
  EXPECT_EQ(markdown_table(options),
            "| key | type | default | allowed | unit | meaning |\n"
            "| --- | --- | --- | --- | --- | --- |\n"
            "| `normalization` | choice | `joint` | `joint`, `per_head` |  | over all \\| each |\n"
            "| `x` | 3 numbers | `-6 6 0.1` |  | m | the grid |\n");
}

TEST(Describe, FillsMarkedTables) {
  const SectionOptions options_of = [](const std::string& section) {
    OptionSet options;
    options.integer(section == "model" ? "width" : "epochs", 1, "");
    return options;
  };
  const std::string stale =
      "# A\n<!-- options: model -->\nold\n<!-- end -->\nprose\n<!-- options: train -->\n<!-- end -->";
  const std::string fresh = fill_tables(stale, options_of);
  EXPECT_EQ(fresh.find("old"), std::string::npos);
  EXPECT_NE(fresh.find("# A\n<!-- options: model -->\n\n| key"), std::string::npos);
  EXPECT_NE(fresh.find("| `width` |"), std::string::npos);
  EXPECT_NE(fresh.find("|\n\n<!-- end -->\nprose\n"), std::string::npos);
  EXPECT_NE(fresh.find("| `epochs` |"), std::string::npos);
  EXPECT_EQ(fill_tables(fresh, options_of), fresh);
  EXPECT_EQ(fill_tables("no markers\n", options_of), "no markers\n");
}

TEST(Describe, RefusesAMarkerWithoutItsEnd) {
  const SectionOptions none = [](const std::string&) { return OptionSet(); };
  EXPECT_THROW(fill_tables("<!-- options: model -->\n", none), Error);
  EXPECT_THROW(fill_tables("<!-- options: a -->\n<!-- options: b -->\n<!-- end -->\n", none), Error);
}

}  // namespace
}  // namespace ridgeline

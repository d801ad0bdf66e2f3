// The manual's tables of options are those that the program declares. RIDGELINE_UPDATE_MANUAL=1 rewrites them.
#include <cstdlib>

#include "config/describe.hpp"
#include "driver/commands.hpp"
#include "program.hpp"

namespace ridgeline::program {
namespace {

namespace fs = std::filesystem;

TEST(Manual, TablesAreThoseOfTheProgram) {
  const char* update = std::getenv("RIDGELINE_UPDATE_MANUAL");
  const bool rewrite = update != nullptr && std::string(update) == "1";
  int tables = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(RIDGELINE_SOURCE_DIR) / "docs")) {
    if (entry.path().extension() != ".md") continue;
    const std::string text = test::content_of(entry.path());
    const std::string filled = fill_tables(text, [&](const std::string& section) {
      ++tables;
      return section_options(section);
    });
    if (rewrite && text != filled) test::put(entry.path(), filled);
    EXPECT_TRUE(rewrite || text == filled)
        << entry.path() << " is stale: run this test with RIDGELINE_UPDATE_MANUAL=1 to rewrite its tables";
  }
  EXPECT_GE(tables, 5);
}

}  // namespace
}  // namespace ridgeline::program

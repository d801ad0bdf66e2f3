#include "report/report_options.hpp"

#include <algorithm>

#include "config/text.hpp"

namespace ridgeline {

OptionSet report_options() {
  OptionSet options;
  options.integer("samples", 24, "images that the trained model makes for the report; 0: none")
      .at_least(0)
      .at_most(400);
  options.texts("tisa_heads", {"all"}, "heads whose bias by distance is drawn, or all").count(1, 1000);
  options.integer("tisa_distance", 0, "largest distance that it is drawn for; 0: as far as a sample reaches")
      .at_least(0)
      .at_most(1e9);
  return options;
}

std::vector<std::int64_t> asked_heads(const OptionValues& report) {
  const std::vector<std::string>& words = report.texts("tisa_heads");
  if (words == std::vector<std::string>{"all"}) return {};
  std::vector<std::int64_t> heads;
  for (const std::string& word : words) {
    if (word == "all")
      throw report.mistake("tisa_heads", "has all beside others; it takes all, or heads' numbers, not both.");
    std::int64_t number = 0;
    if (read_number(word, number) != NumberError::none || number < 0)
      throw report.mistake("tisa_heads",
                           "has " + excerpt(word) + "; it takes all, or heads' numbers: whole numbers from 0 up.");
    if (std::find(heads.begin(), heads.end(), number) != heads.end())
      throw report.mistake("tisa_heads", "has " + number_text(number) + " twice; once is enough.");
    heads.push_back(number);
  }
  return heads;
}

void check_report_options(const OptionValues& report, int heads) {
  if (heads == 0 && report.integer("tisa_distance") > 0)
    throw report.mistake("tisa_distance", "is of a bias by distance, and no attention of this model has one.");
  const std::vector<std::int64_t> asked = asked_heads(report);
  if (asked.empty()) return;
  if (heads == 0)
    throw report.mistake("tisa_heads", "names heads, and no attention of this model has a bias by distance.");
  for (const std::int64_t head : asked)
    if (head >= heads)
      throw report.mistake("tisa_heads", "has " + std::to_string(head) +
                                             "; it takes all, or heads' numbers, from 0 to " +
                                             std::to_string(heads - 1) + ".");
}

}  // namespace ridgeline

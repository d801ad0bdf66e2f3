#include "report/report_options.hpp"

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

void check_report_options(const OptionValues& report, int heads) {
  const std::vector<std::string>& asked = report.texts("tisa_heads");
  if (asked == std::vector<std::string>{"all"}) return;
  if (heads == 0)
    throw report.mistake("tisa_heads", "names heads, and no attention of this model has a bias by distance.");
  for (const std::string& head : asked) {
    std::int64_t number = 0;
    if (read_number(head, number) != NumberError::none || number < 0 || number >= heads)
      throw report.mistake("tisa_heads", "has " + excerpt(head) + "; it takes all, or heads' numbers, from 0 to " +
                                             std::to_string(heads - 1) + ".");
  }
}

}  // namespace ridgeline

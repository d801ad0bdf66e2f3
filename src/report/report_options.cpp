#include "report/report_options.hpp"

namespace ridgeline {

OptionSet report_options() {
  OptionSet options;
  options.integer("samples", 24, "images that the trained model makes for the report; 0: none")
      .at_least(0)
      .at_most(400);
  options.texts("tisa_heads", {"all"}, "heads whose bias by distance is drawn, or all");
  options.integer("tisa_distance", 0, "largest distance that it is drawn for; 0: as far as a sample reaches")
      .at_least(0)
      .at_most(1e9);
  return options;
}

}  // namespace ridgeline

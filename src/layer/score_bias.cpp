#include "layer/score_bias.hpp"

#include <algorithm>

#include "config/text.hpp"

namespace ridgeline {

Option& declare_score_bias(OptionSet& options) {
  return options.layer("position", "position", "none", "bias of the scores by the distance from query to key")
      .one_of({"none"});
}

std::vector<std::string> positions_for(PositionUse use, const Registry& registry) {
  std::vector<std::string> names = registry.names("position");
  const auto of_other_use = [&](const std::string& name) { return registry.get("position", name).position_use != use; };
  names.erase(std::remove_if(names.begin(), names.end(), of_other_use), names.end());
  return names;
}

template <class Scalar>
std::unique_ptr<Position<Scalar>> make_score_bias(Setup<Scalar>& setup, int heads) {
  const std::string& name = setup.options.text("position");
  if (name == "none") return nullptr;
  const LayerEntry& entry = setup.registry.get("position", name);
  if (entry.position_use != PositionUse::bias) {
    std::vector<std::string> allowed = positions_for(PositionUse::bias, setup.registry);
    allowed.insert(allowed.begin(), "none");
    throw setup.options.mistake(
        "position", "gives channels to tokens, and no bias to scores; it takes " + phrase(allowed, "or") + ".");
  }
  const std::string section = "position." + name;
  const bool is_set = setup.sections != nullptr && setup.sections->count(section) > 0;
  const OptionValues options = is_set ? setup.sections->at(section) : OptionValues::defaults(entry.options);
  Setup<Scalar> own{
      0, heads, options, setup.parameters.inside(name), setup.signal, setup.registry, setup.tokens, setup.grid};
  return entry.make_position<Scalar>(own);
}

template std::unique_ptr<Position<float>> make_score_bias(Setup<float>&, int);
template std::unique_ptr<Position<double>> make_score_bias(Setup<double>&, int);

}  // namespace ridgeline

#include "cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "layer/plugin.hpp"

namespace ridgeline::support {
namespace {

/// Loads the plugins before the first test.
class LoadedPlugins final : public ::testing::Environment {
 public:
  void SetUp() override {
    load_plugins({RIDGELINE_PLUGIN_FOLDER}, [](const std::string& note) { ADD_FAILURE() << note; });
  }
};
[[maybe_unused]] const ::testing::Environment* const environment =
    ::testing::AddGlobalTestEnvironment(new LoadedPlugins);

LayerName fourier(OptionTexts options = {}) { return {"encoder", "fourier", std::move(options)}; }
LayerName galerkin(OptionTexts options = {}) { return {"attention", "galerkin", std::move(options)}; }
LayerName physics(OptionTexts options = {}) { return {"attention", "physics", std::move(options)}; }

}  // namespace

const std::vector<Case> every_case = {
    {fourier(), {{2, 37}, 5, 3}},
    {fourier({{"features", "3"}}), {{1, 300}, 1, 2}},
    {fourier({{"coordinates", "3"}, {"features", "17"}, {"scale", "0.1"}}), {{3, 1}, 3, 6}},
    {fourier({{"coordinates", "2"}, {"features", "1"}, {"scale", "3"}}), {{1, 1}, 11, 4}},
    {fourier({{"coordinates", "2"}, {"seed", "7"}}), {{5, 19}, 3, 12}},
    {galerkin(), {{2, 7}, 16, 16}},
    {galerkin({{"heads", "1"}}), {{1, 300}, 3, 2}},
    {galerkin({{"heads", "1"}}), {{1, 1}, 7, 4}},
    {galerkin({{"heads", "2"}}), {{3, 1}, 10, 7}},
    {galerkin({{"heads", "3"}}), {{5, 19}, 9, 12}},
    {galerkin({{"heads", "11"}}), {{2, 37}, 11, 5}},
    {physics(), {{2, 7}, 16, 16}},
    {physics({{"heads", "1"}, {"slices", "5"}}), {{1, 300}, 3, 2}},
    {physics({{"heads", "1"}, {"slices", "1"}}), {{2, 5}, 7, 3}},
    {physics({{"heads", "3"}, {"slices", "3"}}), {{1, 1}, 9, 4}},
    {physics({{"heads", "2"}, {"slices", "3"}}), {{3, 1}, 10, 7}},
    {physics({{"heads", "3"}, {"slices", "5"}}), {{5, 19}, 9, 12}},
    {physics({{"heads", "11"}, {"slices", "4"}}), {{2, 37}, 11, 5}},
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const Case& one = info.param;
  std::string name = one.layer.kind + "_" + one.layer.name;
  for (const auto& [key, value] : one.layer.options) name += "_" + key + "_" + value;
  name += fmt::format("_{}x{}", one.sizes.shape.batch, one.sizes.shape.tokens);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

}  // namespace ridgeline::support

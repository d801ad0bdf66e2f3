#include "cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "layer/plugin.hpp"
#include "support/gradient_check.hpp"

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

LayerName swiglu(OptionTexts options = {}) { return {"ffn", "swiglu", std::move(options)}; }
LayerName fourier(OptionTexts options = {}) { return {"encoder", "fourier", std::move(options)}; }
LayerName galerkin(OptionTexts options = {}) { return {"attention", "galerkin", std::move(options)}; }
LayerName physics(OptionTexts options = {}) { return {"attention", "physics", std::move(options)}; }

}  // namespace

const std::vector<Case> every_case = {
    {swiglu({{"hidden", "7"}}), {2, 37}, 5, 3},
    {swiglu(), {1, 1}, 3, 2},
    {fourier(), {2, 37}, 5, 3},
    {fourier({{"features", "3"}}), {1, 300}, 1, 2},
    {fourier({{"coordinates", "3"}, {"features", "17"}, {"scale", "0.1"}}), {3, 1}, 3, 6},
    {fourier({{"coordinates", "2"}, {"features", "1"}, {"scale", "3"}}), {1, 1}, 11, 4},
    {fourier({{"coordinates", "2"}, {"seed", "7"}}), {5, 19}, 3, 12},
    {galerkin(), {2, 7}, 16, 16},
    {galerkin({{"heads", "1"}}), {1, 300}, 3, 2},
    {galerkin({{"heads", "1"}}), {1, 1}, 7, 4},
    {galerkin({{"heads", "2"}}), {3, 1}, 10, 7},
    {galerkin({{"heads", "3"}}), {5, 19}, 9, 12},
    {galerkin({{"heads", "11"}}), {2, 37}, 11, 5},
    {physics(), {2, 7}, 16, 16},
    {physics({{"heads", "1"}, {"slices", "5"}}), {1, 300}, 3, 2},
    {physics({{"heads", "1"}, {"slices", "1"}}), {2, 5}, 7, 3},
    {physics({{"heads", "3"}, {"slices", "3"}}), {1, 1}, 9, 4},
    {physics({{"heads", "2"}, {"slices", "3"}}), {3, 1}, 10, 7},
    {physics({{"heads", "3"}, {"slices", "5"}}), {5, 19}, 9, 12},
    {physics({{"heads", "11"}, {"slices", "4"}}), {2, 37}, 11, 5},
};

std::string case_name(const ::testing::TestParamInfo<Case>& info) {
  const Case& one = info.param;
  std::string name = one.layer.kind + "_" + one.layer.name;
  for (const auto& [key, value] : one.layer.options) name += "_" + key + "_" + value;
  name += fmt::format("_{}x{}", one.shape.batch, one.shape.tokens);
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

void PrintTo(const Case& one, std::ostream* out) {
  *out << one.layer.kind << "/" << one.layer.name;
  for (const auto& [key, value] : one.layer.options) *out << " " << key << "=" << value;
  *out << fmt::format(", {} samples of {} tokens, {} to {} channels", one.shape.batch, one.shape.tokens, one.inputs,
                      one.outputs);
}

template <class Scalar>
std::unique_ptr<Subject<Scalar>> prepared(const Case& one, const std::vector<Shape>& others) {
  auto subject = make_layer<Scalar>(one.layer, one.inputs, one.outputs);
  std::vector<Shape> shapes = others;
  shapes.push_back(one.shape);
  subject->prepare(shapes);
  randomise(subject->parameters(), 1);
  return subject;
}

template std::unique_ptr<Subject<float>> prepared(const Case&, const std::vector<Shape>&);
template std::unique_ptr<Subject<double>> prepared(const Case&, const std::vector<Shape>&);

double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double difference = 0, largest = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    const double here = std::abs(a.at(i) - b[i]);
    difference = here <= difference ? difference : here;  // NaN stays
    largest = std::max(largest, std::abs(b[i]));
  }
  return largest > 0 ? difference / largest : difference;
}

}  // namespace ridgeline::support

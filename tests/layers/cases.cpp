#include "cases.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "layer/registry.hpp"
#include "support/gradient_check.hpp"

namespace ridgeline::support {
namespace {

/// Values of an option to try besides its default.
std::vector<std::string> values_to_try(const Option& option) {
  std::vector<std::string> values = option.trials();
  const auto add = [&](const std::vector<std::string>& more) { values.insert(values.end(), more.begin(), more.end()); };
  if (!option.is_list()) add(option.choices());
  if (option.type() == Option::Type::flag) add({"yes", "no"});
  if (option.type() == Option::Type::layer) add(Registry::instance().names(option.kind()));
  const auto is_default = [&](const std::string& value) { return value == option.standard(); };
  values.erase(std::remove_if(values.begin(), values.end(), is_default), values.end());
  return values;
}

}  // namespace

std::vector<LayerName> every_layer() {
  const Registry& registry = Registry::instance();
  std::vector<LayerName> layers;
  for (const std::string& kind : token_layer_kinds)
    for (const std::string& name : registry.names(kind)) {
      layers.push_back({kind, name});
    }
  return layers;
}

std::vector<LayerName> every_variation() {
  std::vector<LayerName> variations;
  for (const LayerName& layer : every_layer()) {
    variations.push_back(layer);
    for (const Option& option : Registry::instance().get(layer.kind, layer.name).options.options())
      for (const std::string& value : values_to_try(option)) {
        variations.push_back(layer);
        variations.back().options[option.name()] = value;
      }
  }
  return variations;
}

std::string test_name(const ::testing::TestParamInfo<LayerName>& info) {
  std::string name = info.param.kind + "_" + info.param.name;
  for (const auto& [key, value] : info.param.options) name += "_" + key + "_" + value;
  std::replace_if(
      name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
  return name;
}

void PrintTo(const LayerName& layer, std::ostream* out) {
  *out << layer.kind << "/" << layer.name;
  for (const auto& [key, value] : layer.options) *out << " " << key << "=" << value;
}

std::string text(const LayerName& layer, const Sizes& sizes) {
  return fmt::format("{}, {} samples of {} tokens, {} to {} channels", ::testing::PrintToString(layer),
                     sizes.shape.batch, sizes.shape.tokens, sizes.inputs, sizes.outputs);
}

template <class Scalar>
std::unique_ptr<Subject<Scalar>> prepared_layer(const LayerName& layer, const Sizes& sizes, std::uint64_t seed) {
  auto subject = make_layer<Scalar>(layer, sizes.inputs, sizes.outputs);
  subject->prepare({sizes.shape});
  randomise(subject->parameters(), seed);
  return subject;
}

template std::unique_ptr<Subject<float>> prepared_layer(const LayerName&, const Sizes&, std::uint64_t);
template std::unique_ptr<Subject<double>> prepared_layer(const LayerName&, const Sizes&, std::uint64_t);

template <class Scalar>
BareLayer<Scalar>::BareLayer(const LayerName& name, int inputs, int outputs) {
  const Registry& registry = Registry::instance();
  const OptionValues options = option_values(name);
  Setup<Scalar> setup{inputs, outputs, options, ParameterScope<Scalar>(parameters, ""), Signal(), registry};
  layer = registry.get(name.kind, name.name).template make<Scalar>(setup);
}

template struct BareLayer<float>;
template struct BareLayer<double>;

}  // namespace ridgeline::support

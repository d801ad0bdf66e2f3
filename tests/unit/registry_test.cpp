// The registry: what is in it, and what it says of what is not.
#include "layer/registry.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <stdexcept>

#include "core/error.hpp"

namespace ridgeline {
namespace {

bool has(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

TEST(Registry, HasTheBuiltInLayers) {
  const Registry& registry = Registry::instance();
  for (const char* kind : {"activation", "attention", "encoder", "ffn"}) EXPECT_TRUE(has(registry.kinds(), kind));
  EXPECT_TRUE(has(registry.names("attention"), "functional"));
  EXPECT_TRUE(has(registry.names("encoder"), "mlp"));
  EXPECT_TRUE(has(registry.names("ffn"), "mlp"));
  for (const char* name : {"gelu", "relu", "silu", "tanh"}) EXPECT_TRUE(has(registry.names("activation"), name));
  EXPECT_TRUE(registry.names("nothing").empty());
}

TEST(Registry, EveryLayerSaysWhatItIs) {
  const Registry& registry = Registry::instance();
  for (const std::string& kind : registry.kinds())
    for (const std::string& name : registry.names(kind)) {
      const LayerEntry& entry = registry.get(kind, name);
      EXPECT_FALSE(entry.summary.empty()) << name;
      EXPECT_EQ(entry.summary.find('\n'), std::string::npos) << name;
      EXPECT_EQ(entry.origin, "built in");
      EXPECT_TRUE((entry.make_float && entry.make_double) ||
                  (entry.make_activation_float && entry.make_activation_double) ||
                  (entry.make_position_float && entry.make_position_double))
          << name;
      for (const Option& option : entry.options.options()) EXPECT_FALSE(option.summary().empty()) << option.name();
    }
}

LayerEntry entry_named(const char* kind, const char* name) {
  LayerEntry entry;
  entry.kind = kind;
  entry.name = name;
  return entry;
}

TEST(Registry, RefusesATakenNameAndSaysFromWhere) {
  Registry registry;
  LayerEntry first = entry_named("ffn", "gated");
  first.origin = "plugins/gated.so";
  registry.add(first);
  try {
    registry.add(entry_named("ffn", "gated"));
    FAIL() << "taken twice";
  } catch (const std::logic_error& error) {
    EXPECT_NE(std::string(error.what()).find("ffn/gated"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("plugins/gated.so"), std::string::npos);
  }
  registry.add(entry_named("encoder", "gated"));  // another kind is another name
}

/// Answers nothing that it is asked before it is run.
class Silent final : public Layer<double> {
 public:
  void reserve(const Shape&, Arena&) override {}
  void forward(Tensor<const double>, Tensor<const double>, Tensor<double>) override {}
  void backward(Tensor<const double>, Tensor<const double>, Tensor<double>) override {}
  Operations operations(const Shape&) const override { return Operations::unknown(); }
  int extra_channels() const override { throw std::runtime_error("no channels"); }
  void set_extra(Tensor<const double>, Tensor<double>) override { throw std::runtime_error("no extra"); }
  bool continues() const override { throw std::runtime_error("no answer"); }
};

TEST(Registry, PluginsLayerIsNamedWhateverItFailsAt) {
  LayerEntry entry = entry_named("ffn", "silent");
  entry.origin = "silent.so";
  entry.make_double = [](ridgeline::Setup<double>&) { return std::make_unique<Silent>(); };
  const OptionValues options = OptionValues::defaults(entry.options);
  Parameters<double> parameters;
  ridgeline::Setup<double> setup{1, 1, options, ParameterScope<double>(parameters, ""), Signal(), Registry::instance()};
  const std::unique_ptr<Layer<double>> layer = entry.make(setup);
  const auto expect = [](const auto& call, const char* end) {
    try {
      call();
      ADD_FAILURE() << end;
    } catch (const Error& error) {
      EXPECT_EQ(std::string(error.what()), std::string("ffn/silent of the plugin silent.so failed where it ") + end);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
  };
  expect([&] { layer->continues(); }, "says what it is: no answer.");
  expect([&] { layer->extra_channels(); }, "says what it is: no channels.");
  expect([&] { layer->set_extra({}, {}); }, "is given extra channels: no extra.");
}

std::string complaint(const Registry& registry, const char* kind, const char* name) {
  try {
    registry.get(kind, name);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), Exit::mistake);
    return error.what();
  }
  return "";
}

TEST(Registry, UnknownLayerIsOneSentenceWithTheNearestName) {
  Registry registry;
  registry.add(entry_named("attention", "functional"));
  registry.add(entry_named("ffn", "mlp"));
  const std::string near = complaint(registry, "attention", "functionl");
  EXPECT_NE(near.find("attention/functionl"), std::string::npos) << near;
  EXPECT_NE(near.find("did you mean attention/functional?"), std::string::npos) << near;
  EXPECT_NE(complaint(registry, "atention", "functional").find("attention/functional?"), std::string::npos);
  EXPECT_NE(complaint(registry, "ffn", "zzzzzz").find("ridgeline layers"), std::string::npos);
  EXPECT_EQ(registry.find("ffn", "zzzzzz"), nullptr);
}

}  // namespace
}  // namespace ridgeline

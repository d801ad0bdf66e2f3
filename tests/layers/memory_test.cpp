// What the layers ask of the arena.
#include <gtest/gtest.h>

#include "cases.hpp"

namespace ridgeline::support {
namespace {

TEST(LayerMemory, SmallerShapesFitWhereTheLargestDid) {
  const Registry& registry = Registry::instance();
  for (const std::string kind : {"encoder", "attention", "ffn"})
    for (const std::string& name : registry.names(kind)) {
      std::vector<LayerName> layers = variations({kind, name});
      layers.push_back({kind, name});
      for (const LayerName& layer : layers) {
        LayerAlone<double> alone(layer, 9, 5);
        const auto bytes_for = [&](const Shape& shape) {
          Arena arena;
          alone.layer().reserve(shape, arena);
          return arena.bytes();
        };
        SCOPED_TRACE(text(layer, {{4, 300}, 9, 5}));
        EXPECT_LE(bytes_for({2, 300}), bytes_for({4, 300}));
        EXPECT_LE(bytes_for({4, 150}), bytes_for({4, 300}));
        EXPECT_GT(bytes_for({1, 1}), 0U);
      }
    }
}

}  // namespace
}  // namespace ridgeline::support

// What the layers ask of the arena.
#include <gtest/gtest.h>

#include "cases.hpp"

namespace ridgeline::support {
namespace {

TEST(LayerMemory, SmallerShapesFitWhereTheLargestDid) {
  const Registry& registry = Registry::instance();
  for (const std::string kind : {"encoder", "attention", "ffn"})
    for (const std::string& name : registry.names(kind)) {
      for (const conform::Case& tried : conform::cases_of({kind, name}).cases) {
        LayerAlone<double> alone(tried.layer, tried.sizes.inputs, tried.sizes.outputs);
        const auto bytes_for = [&](const Shape& shape) {
          Arena arena;
          alone.layer().reserve(shape, arena);
          return arena.bytes();
        };
        SCOPED_TRACE(text(tried.layer, {{4, 300}, tried.sizes.inputs, tried.sizes.outputs}));
        EXPECT_LE(bytes_for({2, 300}), bytes_for({4, 300}));
        EXPECT_LE(bytes_for({4, 150}), bytes_for({4, 300}));
        EXPECT_GT(bytes_for({1, 1}), 0U);
      }
    }
}

}  // namespace
}  // namespace ridgeline::support

#include "cases.hpp"

namespace ridgeline::support {

std::string text(const LayerName& layer, const Sizes& sizes) {
  return layer.kind + "/" + layer.name + " " + options_text(layer) + ", " + conform::text({layer, sizes});
}

}  // namespace ridgeline::support

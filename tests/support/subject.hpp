// What tests and the reference check examine besides a layer: a block or a model, as the conformance kit has a layer.
#pragma once

#include <memory>

#include "conform/subject.hpp"
#include "model/model.hpp"

namespace ridgeline::support {

using namespace conform;

/// All three throw Error(Exit::mistake) where a layer or an option is unknown.
template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_layer(const LayerName& layer, int inputs, int outputs) {
  return std::make_unique<LayerAlone<Scalar>>(layer, inputs, outputs);
}
template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_block(Residual residual, const LayerName& attention, const LayerName& ffn,
                                            int width);
template <class Scalar>
std::unique_ptr<Subject<Scalar>> make_model(const ModelPlan& plan);

}  // namespace ridgeline::support

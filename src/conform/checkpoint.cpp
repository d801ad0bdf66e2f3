// The check that a checkpoint holds all there is of a layer.
#include <filesystem>

#include "conform/check.hpp"
#include "conform/gradient_check.hpp"
#include "io/temporary_folder.hpp"
#include "train/checkpoint.hpp"

namespace ridgeline::conform {
namespace {

template <class Scalar>
Finding checkpoint_in(const Case& tried) {
  const auto layer = prepared_layer<Scalar>(tried.layer, tried.sizes, 1);
  if (layer->parameters().entries().empty()) return not_applicable("it has no parameters");
  const Tokens x = some_x(tried.sizes), dy = some_dy(tried.sizes);
  differentiate(*layer, x, dy);
  const Tokens before = evaluate(*layer, x);
  const TemporaryFolder folder;
  const std::filesystem::path file = folder.path() / "checkpoint.h5";
  write_checkpoint<Scalar>(file, layer->parameters(), Adam<Scalar>(layer->parameters().length()), TrainingState());

  // As a run that goes on: another layer, which has been used with other parameters.
  const auto later = prepared_layer<Scalar>(tried.layer, tried.sizes, 2);
  evaluate(*later, x);
  read_parameters(file, later->parameters());
  for (const auto& entry : layer->parameters().entries()) {
    const auto* same = later->parameters().find(entry.name);
    if (same == nullptr || later->parameters().get(*same) != layer->parameters().get(entry))
      return failed("the parameter " + entry.name + " comes back changed");
  }
  if (evaluate(*later, x).values != before.values)
    return failed("all parameters come back, and the output does not: the layer keeps something else");
  return passed();
}

}  // namespace

Finding checkpoint(const Case& tried) {
  const Finding single = checkpoint_in<float>(tried);
  return single.result == Finding::Result::passed ? checkpoint_in<double>(tried) : single;
}

}  // namespace ridgeline::conform

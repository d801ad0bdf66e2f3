// A position alone, given and asked for plain numbers on the host.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "subject.hpp"

namespace ridgeline::support {

/// A position with what it needs, given and asked for plain numbers.
template <class Scalar>
class PositionAlone {
 public:
  /// For so many channels, or heads, and tokens; `tokens` is also what a training sample has.
  PositionAlone(const LayerName& name, const std::string& scope, int outputs, int tokens, Grid grid) {
    const Registry& registry = Registry::instance();
    const OptionValues options = option_values(name);
    Setup<Scalar> setup{0,        outputs,  options, ParameterScope<Scalar>(parameters_, scope),
                        Signal(), registry, tokens,  grid};
    position_ = registry.get(name.kind, name.name).template make_position<Scalar>(setup);
    parameters_.allocate();
    prepare(tokens);
  }

  /// Makes room for another number of tokens.
  void prepare(int tokens) {
    arena_.restart();
    position_->reserve(tokens, arena_);
    arena_.allocate();
    arena_.restart();
    position_->reserve(tokens, arena_);
  }

  Position<Scalar>& position() { return *position_; }
  Parameters<Scalar>& parameters() { return parameters_; }

  /// The numbers [rows, columns].
  std::vector<double> forward(int rows, int columns) {
    const Kokkos::View<Scalar*, Memory> values("ridgeline::test/values", static_cast<std::size_t>(rows) * columns);
    position_->forward(Matrix<Scalar>(values.data(), rows, columns));
    return to_host<Scalar>(values);
  }
  /// Adds to the parameters' gradients.
  void backward(int rows, int columns, const std::vector<double>& gradient) {
    const auto values = to_device<Scalar>(gradient);
    position_->backward(Matrix<const Scalar>(values.data(), rows, columns));
  }

 private:
  Parameters<Scalar> parameters_;
  Arena arena_;
  std::unique_ptr<Position<Scalar>> position_;
};

}  // namespace ridgeline::support

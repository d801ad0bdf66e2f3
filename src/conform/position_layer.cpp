#include "conform/position_layer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "conform/cases.hpp"
#include "conform/gradient_check.hpp"
#include "math/rows.hpp"

namespace ridgeline::conform {
namespace {

/// Row and column of `values` where the number c of token n in sample b stands.
struct Place {
  int row, column;

  KOKKOS_INLINE_FUNCTION static Place of(bool bias, int tokens, int b, int n, int c) {
    if (!bias) return {n, c};
    return {c, tokens - 1 + (b % 2 == 0 ? n : -n)};
  }
};

template <class Scalar>
void hand_out(Matrix<const Scalar> values, bool bias, Tensor<Scalar> y) {
  const int tokens = extent(y, 1), channels = extent(y, 2);
  Kokkos::parallel_for(
      "ridgeline::conform/hand_out", RangePolicy(0, static_cast<int>(y.size())), KOKKOS_LAMBDA(int i) {
        const int b = i / (tokens * channels), n = i / channels % tokens, c = i % channels;
        const Place place = Place::of(bias, tokens, b, n, c);
        y(b, n, c) = values(place.row, place.column);
      });
}

template <class Scalar>
void fill_with_zeros(Scalar* numbers, std::size_t count) {
  Kokkos::parallel_for(
      "ridgeline::conform/zero", RangePolicy(0, static_cast<int>(count)), KOKKOS_LAMBDA(int i) { numbers[i] = 0; });
}

/// dvalues += what came of it; one thread for each channel, whose tokens share no entry with another's.
template <class Scalar>
void collect(Tensor<const Scalar> dy, bool bias, Matrix<Scalar> dvalues) {
  const int batch = extent(dy, 0), tokens = extent(dy, 1);
  Kokkos::parallel_for(
      "ridgeline::conform/collect", RangePolicy(0, extent(dy, 2)), KOKKOS_LAMBDA(int c) {
        for (int b = 0; b < batch; ++b)
          for (int n = 0; n < tokens; ++n) {
            const Place place = Place::of(bias, tokens, b, n, c);
            dvalues(place.row, place.column) += dy(b, n, c);
          }
      });
}

template <class Scalar>
class PositionLayer final : public Layer<Scalar> {
 public:
  PositionLayer(std::unique_ptr<Position<Scalar>> position, bool bias, int channels)
      : position_(std::move(position)), bias_(bias), channels_(channels) {}

  void reserve(const Shape& shape, Arena& arena) override {
    const int rows = bias_ ? channels_ : shape.tokens, columns = bias_ ? 2 * shape.tokens - 1 : channels_;
    values_ = arena.kept<Scalar>(rows, columns);
    gradient_ = arena.passing<Scalar>(rows, columns);
    position_->reserve(shape.tokens, arena);
  }

  void forward(Tensor<const Scalar>, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    position_->forward(values_);
    hand_out<Scalar>(values_, bias_, y);
    add_bias<Scalar>(rows_of(y), {}, rows_of(residual));
  }

  void backward(Tensor<const Scalar>, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    fill_with_zeros(gradient_.data(), gradient_.size());
    collect<Scalar>(dy, bias_, gradient_);
    position_->backward(gradient_);
    if (dx.data() != nullptr) fill_with_zeros(dx.data(), dx.size());
  }

  Operations operations(const Shape&) const override { return Operations::unknown(); }

 private:
  std::unique_ptr<Position<Scalar>> position_;
  bool bias_;
  int channels_;
  Matrix<Scalar> values_;    // [tokens, channels], or [heads, 2 tokens - 1]
  Matrix<Scalar> gradient_;  // of values
};

template <class Scalar>
Setup<Scalar> position_setup(const Setup<Scalar>& setup) {
  return {
      0,     setup.outputs, setup.options, setup.parameters, setup.signal, setup.registry, pixels.rows * pixels.columns,
      pixels};
}

}  // namespace

template <class Scalar>
std::unique_ptr<Layer<Scalar>> make_position_layer(const LayerEntry& entry, const Setup<Scalar>& setup) {
  Setup<Scalar> own = position_setup(setup);
  auto position = entry.make_position<Scalar>(own);
  return std::make_unique<PositionLayer<Scalar>>(std::move(position), entry.position_use == PositionUse::bias,
                                                 setup.outputs);
}

template std::unique_ptr<Layer<float>> make_position_layer(const LayerEntry&, const Setup<float>&);
template std::unique_ptr<Layer<double>> make_position_layer(const LayerEntry&, const Setup<double>&);

Sizes fitting(const LayerName& layer, const Sizes& sizes) {
  if (!is_position(layer)) return sizes;
  const LayerEntry& entry = Registry::instance().get(layer.kind, layer.name);
  Sizes fit = sizes;
  try {
    const OptionValues options = option_values(layer);
    Parameters<double> parameters;
    Setup<double> setup = position_setup<double>(
        {0, sizes.outputs, options, ParameterScope<double>(parameters, ""), Signal(nullptr), Registry::instance()});
    const auto position = entry.make_position<double>(setup);
    fit.shape.tokens = std::max(fit.shape.tokens, position->shortest());
    if (position->longest() > 0) fit.shape.tokens = std::min(fit.shape.tokens, position->longest());
    if (position->channels() > 0) fit.outputs = position->channels();
  } catch (const std::exception&) {  // whoever makes it to try it reports that
  }
  return fit;
}

Finding position_lengths(const Case& tried) {
  const Sizes& sizes = tried.sizes;
  const Sizes longer = fitting(tried.layer, {{2, 2 * sizes.shape.tokens + 3}, sizes.inputs, sizes.outputs});
  const Sizes shorter = fitting(tried.layer, {{2, sizes.shape.tokens}, sizes.inputs, sizes.outputs});
  if (shorter.shape == longer.shape) return not_applicable("it has numbers for one length only");
  LayerAlone<double> position(tried.layer, sizes.inputs, sizes.outputs);
  position.prepare({shorter.shape, longer.shape});
  randomise(position.parameters(), 1);
  const Tokens all = evaluate(position, some_x(longer)), first = evaluate(position, some_x(shorter));
  Tokens same = zeros(shorter.shape, sizes.outputs);
  for (int b = 0; b < 2; ++b)
    for (int n = 0; n < shorter.shape.tokens; ++n)
      for (int c = 0; c < sizes.outputs; ++c) same.at(b, n, c) = all.at(b, n, c);
  const double error = difference(same.values, first.values);
  if (!(error <= rounding))
    return failed(fmt::format("of {} tokens and of {}, the numbers differ by {:.2g}", shorter.shape.tokens,
                              longer.shape.tokens, error),
                  error);
  return passed();
}

}  // namespace ridgeline::conform

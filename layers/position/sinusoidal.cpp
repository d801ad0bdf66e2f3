// position/sinusoidal: waves of the token's number, from one of length 2π to one of nearly 10000 · 2π (Vaswani and
// others 2017).
//
//   value[p, 2i] = sin(p 10000^(-2i/d)),  value[p, 2i+1] = cos of the same, over d channels, an odd number too
#include <cmath>

#include "channels.hpp"
#include "layer/registry.hpp"

namespace ridgeline {
namespace {

template <class Scalar>
class SinusoidalPosition final : public Position<Scalar> {
 public:
  static constexpr PositionUse use = PositionUse::channels;

  static void declare(OptionSet& options) { declare_channels(options); }

  explicit SinusoidalPosition(Setup<Scalar>& setup) : channels_(static_cast<int>(setup.options.integer("channels"))) {}

  int channels() const override { return channels_; }
  void reserve(int, Arena&) override {}

  void forward(Matrix<Scalar> values) override { launch(values); }

  /// In double: in single precision the angle of token 65,536 would be off by thousandths.
  static void launch(Matrix<Scalar> values) {
    const int channels = extent(values, 1);
    Kokkos::parallel_for(
        "ridgeline::sinusoidal", RangePolicy(0, extent(values, 0)), KOKKOS_LAMBDA(int p) {
          for (int pair = 0; 2 * pair < channels; ++pair) {
            const double angle = p * std::pow(10000., -2. * pair / channels);
            values(p, 2 * pair) = static_cast<Scalar>(std::sin(angle));
            if (2 * pair + 1 < channels) values(p, 2 * pair + 1) = static_cast<Scalar>(std::cos(angle));
          }
        });
  }

 private:
  int channels_;
};

RIDGELINE_REGISTER_POSITION("sinusoidal", SinusoidalPosition, "sines and cosines of the token's number");

}  // namespace
}  // namespace ridgeline

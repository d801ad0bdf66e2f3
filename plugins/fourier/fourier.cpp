// encoder/fourier: random Fourier features of a point's coordinates, the first channels of a token, and all of its
// channels as they are, through a linear map (Tancik and others 2020, arXiv 2006.10739).
//
//   u = x_coordinates Bᵀ,   y = [cos 2πu, sin 2πu, x] Wᵀ + b      B [features, coordinates] normal, never trained
#include <cmath>
#include <cstdint>
#include <string>

#include "core/random.hpp"
#include "layer/registry.hpp"
#include "math/linear.hpp"

namespace {

using namespace ridgeline;

template <class Scalar>
inline constexpr Scalar two_pi = Scalar(6.283185307179586476925);

/// features [rows, 2F]: what stands in the first F columns, u, becomes cos 2πu there and sin 2πu in the others.
template <class Scalar>
void make_features(Matrix<Scalar> features) {
  const int count = extent(features, 1) / 2;
  const Chunks chunks(extent(features, 0));
  Kokkos::parallel_for(
      "fourier::features", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          Scalar* cosine = &features(row, 0);
          Scalar* sine = cosine + count;
          for_lanes(team, count, [=](int j) {
            // Whole turns are taken off before 2π rounds, which is exact.
            const Scalar turns = cosine[j] - std::floor(cosine[j] + Scalar(0.5));
            cosine[j] = std::cos(two_pi<Scalar> * turns);
            sine[j] = std::sin(two_pi<Scalar> * turns);
          });
        }
      });
}

/// gradient [rows, 2F]: from the features' gradient to that of u, in the first F columns.
template <class Scalar>
void features_backward(Matrix<const Scalar> features, Matrix<Scalar> gradient) {
  const int count = extent(features, 1) / 2;
  const Chunks chunks(extent(features, 0));
  Kokkos::parallel_for(
      "fourier::features_backward", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        for (int row = chunks.begin(team.league_rank()); row < chunks.end(team.league_rank()); ++row) {
          const Scalar* cosine = &features(row, 0);
          const Scalar* sine = cosine + count;
          Scalar* d = &gradient(row, 0);
          const Scalar* d_sine = d + count;
          for_lanes(team, count, [=](int j) { d[j] = two_pi<Scalar> * (cosine[j] * d_sine[j] - sine[j] * d[j]); });
        }
      });
}

template <class Scalar>
class FourierEncoder final : public Layer<Scalar> {
 public:
  static void declare(OptionSet& options) {
    options.integer("coordinates", 1, "channels, from the first on, that are a point's coordinates")
        .at_least(1)
        .at_most(65536)
        .trials({"2", "3"});
    options.integer("features", 64, "frequencies, each with a cosine and a sine")
        .at_least(1)
        .at_most(65536)
        .trials({"1", "17"});
    options.real("scale", 1, "standard deviation of the frequencies, in periods over a coordinate's unit")
        .above(0)
        .trials({"0.1", "3"});
    options.integer("seed", 1, "of the frequencies' random numbers").at_least(0).trials({"7"});
  }

  /// Each token by itself.
  static Properties properties(const OptionValues&) { return {true, true, true, true}; }

  explicit FourierEncoder(Setup<Scalar>& setup)
      : inputs_(setup.inputs),
        coordinates_(static_cast<int>(setup.options.integer("coordinates"))),
        frequency_count_(static_cast<int>(setup.options.integer("features"))),
        map_(setup.parameters, "", 2 * frequency_count_ + inputs_, setup.outputs) {
    if (coordinates_ > inputs_)
      throw setup.options.mistake(
          "coordinates", "is more than the channels of a token; it takes at most " + std::to_string(inputs_) + ".");
    draw_frequencies(setup.options.real("scale"), static_cast<std::uint64_t>(setup.options.integer("seed")));
  }

  void reserve(const Shape& shape, Arena& arena) override {
    features_ = arena.kept<Scalar>(shape.rows(), 2 * frequency_count_);
    gradient_ = arena.passing<Scalar>(shape.rows(), 2 * frequency_count_);
    output_sums_.reserve(shape.rows(), map_.outputs(), arena);
  }

  void forward(Tensor<const Scalar> x, Tensor<const Scalar> residual, Tensor<Scalar> y) override {
    const int rows = shape_of(x).rows(), f = frequency_count_, o = map_.outputs(), all = map_.inputs();
    gemm<Scalar>({rows, f, coordinates_}, {x.data(), inputs_}, {frequencies_.data(), coordinates_, Op::transpose},
                 {features_.data(), 2 * f});
    make_features<Scalar>(features_);
    // The features and x are never put side by side: each has its columns of the weight.
    const Scalar* weight = map_.weight.value.data();
    gemm<Scalar>({rows, o, 2 * f}, {features_.data(), 2 * f}, {weight, all, Op::transpose}, {y.data(), o});
    gemm<Scalar>({rows, o, inputs_}, {x.data(), inputs_}, {weight + 2 * f, all, Op::transpose}, {y.data(), o}, {1, 1});
    add_bias<Scalar>(rows_of(y), map_.bias.value, rows_of(residual));
  }

  void backward(Tensor<const Scalar> x, Tensor<const Scalar> dy, Tensor<Scalar> dx) override {
    const int rows = shape_of(x).rows(), f = frequency_count_, o = map_.outputs(), all = map_.inputs();
    const Scalar* weight = map_.weight.value.data();
    Scalar* weight_gradient = map_.weight.gradient.data();
    output_sums_.add(rows_of(dy), map_.bias.gradient);
    gemm<Scalar>({o, 2 * f, rows}, {dy.data(), o, Op::transpose}, {features_.data(), 2 * f}, {weight_gradient, all},
                 {1, 1});
    gemm<Scalar>({o, inputs_, rows}, {dy.data(), o, Op::transpose}, {x.data(), inputs_}, {weight_gradient + 2 * f, all},
                 {1, 1});
    if (dx.data() == nullptr) return;
    gemm<Scalar>({rows, 2 * f, o}, {dy.data(), o}, {weight, all}, {gradient_.data(), 2 * f});
    features_backward<Scalar>(features_, gradient_);
    gemm<Scalar>({rows, inputs_, o}, {dy.data(), o}, {weight + 2 * f, all}, {dx.data(), inputs_});
    gemm<Scalar>({rows, coordinates_, f}, {gradient_.data(), 2 * f}, {frequencies_.data(), coordinates_},
                 {dx.data(), inputs_}, {1, 1});
  }

  Operations operations(const Shape& shape) const override {
    const double phases = 2.0 * shape.rows() * frequency_count_ * coordinates_;
    const double outputs = map_.operations(shape.rows());
    return {phases + outputs, phases + 2 * outputs};
  }

 private:
  /// The frequencies are not trained, and so are no parameter: one whose gradient is zero would still be moved by a
  /// weight decay and counted as trainable, and could not pass a check of gradients. They are drawn as parameters are,
  /// from a counter-based stream, but of options alone. A deck says them to the bit, and a checkpoint holds its deck.
  void draw_frequencies(double scale, std::uint64_t seed) {
    frequencies_ = Frequencies("fourier::frequencies", frequency_count_, coordinates_);
    const auto host = Kokkos::create_mirror_view(frequencies_);
    Scalar* entries = host_pointer(host);
    const RandomStream stream(seed, "encoder/fourier/frequencies");
    for (std::size_t i = 0; i < host.size(); ++i) entries[i] = static_cast<Scalar>(scale * stream.normal(i));
    Kokkos::deep_copy(frequencies_, host);
  }

  using Frequencies = Kokkos::View<Scalar**, Kokkos::LayoutRight, Memory>;

  int inputs_, coordinates_, frequency_count_;
  Linear<Scalar> map_;                  // features' columns first, then those of x
  Frequencies frequencies_;             // [F, coordinates]
  Matrix<Scalar> features_, gradient_;  // [B·N, 2F]: cosines, then sines
  ColumnSums<Scalar> output_sums_;
};

RIDGELINE_REGISTER_LAYER("encoder", "fourier", FourierEncoder,
                         "random Fourier features of coordinates, then linear (Tancik et al. 2020)");

}  // namespace

#include "math/layer_norm.hpp"

#include <cmath>

namespace ridgeline {
namespace {

constexpr double epsilon = 1e-5;  // as PyTorch's

}  // namespace

template <class Scalar>
LayerNorm<Scalar>::LayerNorm(ParameterScope<Scalar> parameters, int channels) : channels_(channels) {
  parameters.declare(weight_, "weight", {channels}, Initial::constant(1));
  parameters.declare(bias_, "bias", {channels}, Initial::constant(0));
}

template <class Scalar>
void LayerNorm<Scalar>::reserve(int rows, Arena& arena) {
  statistics_ = arena.kept<Scalar>(rows, 2);
  sums_.reserve(rows, 2 * channels_, arena);
}

template <class Scalar>
void LayerNorm<Scalar>::forward(Matrix<const Scalar> x, Matrix<Scalar> y) {
  const int channels = channels_;
  const Chunks chunks(extent(x, 0));
  const Vector<const Scalar> weight = weight_.value;
  const Vector<const Scalar> bias = bias_.value;
  const Matrix<Scalar> statistics = statistics_;
  Kokkos::parallel_for(
      "ridgeline::layer_norm/forward", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const int chunk = team.league_rank();
        const Scalar* w = weight.data();
        const Scalar* b = bias.data();
        for (int row = chunks.begin(chunk); row < chunks.end(chunk); ++row) {
          const Scalar* in = &x(row, 0);
          Scalar* out = &y(row, 0);
          const Scalar mean = sum_lanes(team, channels, [=](int j) { return in[j]; }) / Scalar(channels);
          const Scalar variance =
              sum_lanes(team, channels, [=](int j) { return (in[j] - mean) * (in[j] - mean); }) / Scalar(channels);
          const Scalar scale = Scalar(1) / std::sqrt(variance + Scalar(epsilon));
          for_lanes(team, channels, [=](int j) { out[j] = (in[j] - mean) * scale * w[j] + b[j]; });
          Kokkos::single(Kokkos::PerTeam(team), [=]() {
            statistics(row, 0) = mean;
            statistics(row, 1) = scale;
          });
        }
      });
}

// With x̂ = (x - mean) / deviation and g = dy·weight: dx = (g - mean(g) - x̂ mean(g x̂)) / deviation.
template <class Scalar>
void LayerNorm<Scalar>::backward(Matrix<const Scalar> x, Matrix<const Scalar> first, Matrix<const Scalar> second,
                                 Matrix<const Scalar> addend, Matrix<Scalar> dx) {
  const int channels = channels_;
  const Chunks chunks(extent(x, 0));
  const Vector<const Scalar> weight = weight_.value;
  const Matrix<const Scalar> statistics = statistics_;
  const Matrix<Scalar> partial = sums_.partial();
  const bool two = second.data() != nullptr;
  const bool added = addend.data() != nullptr;
  Kokkos::parallel_for(
      "ridgeline::layer_norm/backward", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const int chunk = team.league_rank();
        const Scalar* w = weight.data();
        Scalar* weight_sum = &partial(chunk, 0);
        Scalar* bias_sum = weight_sum + channels;
        for_lanes(team, 2 * channels, [=](int j) { weight_sum[j] = 0; });
        team.team_barrier();
        for (int row = chunks.begin(chunk); row < chunks.end(chunk); ++row) {
          const Scalar* in = &x(row, 0);
          const Scalar* d1 = &first(row, 0);
          const Scalar* d2 = two ? &second(row, 0) : nullptr;
          const Scalar* plus = added ? &addend(row, 0) : nullptr;
          Scalar* out = &dx(row, 0);
          const Scalar mean = statistics(row, 0);
          const Scalar scale = statistics(row, 1);
          const auto gradient = [=](int j) { return two ? d1[j] + d2[j] : d1[j]; };
          for_lanes(team, channels, [=](int j) {
            const Scalar dy = gradient(j);
            weight_sum[j] += dy * (in[j] - mean) * scale;
            bias_sum[j] += dy;
          });
          const Scalar mean_g = sum_lanes(team, channels, [=](int j) { return gradient(j) * w[j]; }) / Scalar(channels);
          const Scalar mean_gx =
              sum_lanes(team, channels, [=](int j) { return gradient(j) * w[j] * (in[j] - mean) * scale; }) /
              Scalar(channels);
          for_lanes(team, channels, [=](int j) {
            const Scalar part = (gradient(j) * w[j] - mean_g - (in[j] - mean) * scale * mean_gx) * scale;
            out[j] = added ? plus[j] + part : part;
          });
        }
      });
  sums_.add_to(weight_.gradient, 0);
  sums_.add_to(bias_.gradient, channels);
}

template class LayerNorm<float>;
template class LayerNorm<double>;

}  // namespace ridgeline

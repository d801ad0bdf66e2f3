#include "math/layer_norm.hpp"

#include <cmath>
#include <type_traits>

namespace ridgeline {
namespace {

constexpr double epsilon = 1e-5;  // as PyTorch's

/// Four rows at a time, as each addition of a sum waits for the one before it.
template <class Scalar>
struct Forward {
  Chunks chunks;
  int channels;
  Vector<const Scalar> weight, bias;
  Matrix<const Scalar> x;
  Matrix<Scalar> y, statistics;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const int end = chunks.end(team.league_rank());
    for (int row = chunks.begin(team.league_rank()); row < end; row += 4) {
      // Past the last row, that is normalised again.
      const int r1 = row + 1 < end ? row + 1 : end - 1, r2 = row + 2 < end ? row + 2 : end - 1,
                r3 = row + 3 < end ? row + 3 : end - 1;
      const Scalar *x0 = &x(row, 0), *x1 = &x(r1, 0), *x2 = &x(r2, 0), *x3 = &x(r3, 0);
      const FourSums<Scalar> sums = sum_lanes(
          team, channels, [=](int j) { return x0[j]; }, [=](int j) { return x1[j]; }, [=](int j) { return x2[j]; },
          [=](int j) { return x3[j]; });
      const Scalar m0 = sums.first / Scalar(channels), m1 = sums.second / Scalar(channels),
                   m2 = sums.third / Scalar(channels), m3 = sums.fourth / Scalar(channels);
      const FourSums<Scalar> squares = sum_lanes(
          team, channels, [=](int j) { return (x0[j] - m0) * (x0[j] - m0); },
          [=](int j) { return (x1[j] - m1) * (x1[j] - m1); }, [=](int j) { return (x2[j] - m2) * (x2[j] - m2); },
          [=](int j) { return (x3[j] - m3) * (x3[j] - m3); });
      write(team, row, x0, m0, squares.first);
      write(team, r1, x1, m1, squares.second);
      write(team, r2, x2, m2, squares.third);
      write(team, r3, x3, m3, squares.fourth);
    }
  }

  KOKKOS_INLINE_FUNCTION void write(const Team& team, int row, const Scalar* in, Scalar mean, Scalar squares) const {
    const Scalar *w = weight.data(), *b = bias.data();
    Scalar *out = &y(row, 0), *both = &statistics(row, 0);
    const Scalar scale = Scalar(1) / std::sqrt(squares / Scalar(channels) + Scalar(epsilon));
    for_lanes(team, channels, [=](int j) { out[j] = (in[j] - mean) * scale * w[j] + b[j]; });
    Kokkos::single(Kokkos::PerTeam(team), [=]() {
      both[0] = mean;
      both[1] = scale;
    });
  }
};

/// A row of what backward reads and writes. With x̂ = (x - mean) / deviation and g = dy·weight:
/// dx = (g - mean(g) - x̂ mean(g x̂)) / deviation.
/// dy is `first`, or with `two` first + second; with `added` an addend is added to dx.
template <class Scalar, bool two, bool added>
struct BackwardRow {
  const Scalar *in, *first, *second, *addend, *weight;
  Scalar* out;
  Scalar mean, scale;

  KOKKOS_INLINE_FUNCTION Scalar dy(int j) const {
    if constexpr (two) return first[j] + second[j];
    return first[j];
  }
  KOKKOS_INLINE_FUNCTION Scalar normalised(int j) const { return (in[j] - mean) * scale; }
  KOKKOS_INLINE_FUNCTION Scalar g(int j) const { return dy(j) * weight[j]; }
  KOKKOS_INLINE_FUNCTION void write(int j, Scalar mean_g, Scalar mean_gx) const {
    const Scalar part = (g(j) - mean_g - normalised(j) * mean_gx) * scale;
    if constexpr (added)
      out[j] = addend[j] + part;
    else
      out[j] = part;
  }
};

/// Two rows at a time, and the sums over a chunk's rows for the gradients of weight and bias.
template <class Scalar, bool two, bool added>
struct Backward {
  using Row = BackwardRow<Scalar, two, added>;
  Chunks chunks;
  int channels;
  Vector<const Scalar> weight;
  Matrix<const Scalar> x, first, second, addend, statistics;
  Matrix<Scalar> dx, partial;

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    Scalar *weight_sum = &partial(team.league_rank(), 0), *bias_sum = weight_sum + channels;
    for_lanes(team, 2 * channels, [=](int j) { weight_sum[j] = 0; });
    team.team_barrier();
    const int end = chunks.end(team.league_rank());
    int row = chunks.begin(team.league_rank());
    for (; row + 1 < end; row += 2) {
      const Row a = row_at(row), b = row_at(row + 1);
      add(team, a, weight_sum, bias_sum);
      add(team, b, weight_sum, bias_sum);
      const FourSums<Scalar> sums = sum_lanes(
          team, channels, [=](int j) { return a.g(j); }, [=](int j) { return a.g(j) * a.normalised(j); },
          [=](int j) { return b.g(j); }, [=](int j) { return b.g(j) * b.normalised(j); });
      write(team, a, sums.first, sums.second);
      write(team, b, sums.third, sums.fourth);
    }
    if (row == end) return;
    const Row last = row_at(row);
    add(team, last, weight_sum, bias_sum);
    write(team, last, sum_lanes(team, channels, [=](int j) { return last.g(j); }),
          sum_lanes(team, channels, [=](int j) { return last.g(j) * last.normalised(j); }));
  }

  KOKKOS_INLINE_FUNCTION Row row_at(int row) const {
    return {&x(row, 0),
            &first(row, 0),
            two ? &second(row, 0) : nullptr,
            added ? &addend(row, 0) : nullptr,
            weight.data(),
            &dx(row, 0),
            statistics(row, 0),
            statistics(row, 1)};
  }
  KOKKOS_INLINE_FUNCTION void add(const Team& team, const Row& row, Scalar* weight_sum, Scalar* bias_sum) const {
    for_lanes(team, channels, [=](int j) {
      weight_sum[j] += row.dy(j) * row.normalised(j);
      bias_sum[j] += row.dy(j);
    });
  }
  KOKKOS_INLINE_FUNCTION void write(const Team& team, const Row& row, Scalar sum_g, Scalar sum_gx) const {
    const Scalar mean_g = sum_g / Scalar(channels), mean_gx = sum_gx / Scalar(channels);
    for_lanes(team, channels, [=](int j) { row.write(j, mean_g, mean_gx); });
  }
};

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
  const Chunks chunks(extent(x, 0));
  Kokkos::parallel_for("ridgeline::layer_norm/forward", one_team_each(chunks.count),
                       Forward<Scalar>{chunks, channels_, weight_.value, bias_.value, x, y, statistics_});
}

template <class Scalar>
void LayerNorm<Scalar>::backward(Matrix<const Scalar> x, Matrix<const Scalar> first, Matrix<const Scalar> second,
                                 Matrix<const Scalar> addend, Matrix<Scalar> dx) {
  const bool two = second.data() != nullptr, added = addend.data() != nullptr;
  const auto run = [&](auto is_two, auto is_added) {
    const Chunks chunks(extent(x, 0));
    Kokkos::parallel_for(
        "ridgeline::layer_norm/backward", one_team_each(chunks.count),
        Backward<Scalar, decltype(is_two)::value, decltype(is_added)::value>{
            chunks, channels_, weight_.value, x, first, second, addend, statistics_, dx, sums_.partial()});
  };
  const auto choose = [&](auto is_two) { added ? run(is_two, std::true_type()) : run(is_two, std::false_type()); };
  two ? choose(std::true_type()) : choose(std::false_type());
  sums_.add_to(weight_.gradient, 0);
  sums_.add_to(bias_.gradient, channels_);
}

template class LayerNorm<float>;
template class LayerNorm<double>;

}  // namespace ridgeline

#include "train/loss.hpp"

#include "math/rows.hpp"

namespace ridgeline {

template <class Scalar>
SquaredError<Scalar>::SquaredError(int rows) : partial_("ridgeline::squared_error/partial", Chunks(rows).count) {}

template <class Scalar>
void SquaredError<Scalar>::operator()(Tensor<const Scalar> prediction, Tensor<const Scalar> target,
                                      Matrix<const std::uint8_t> shown, double divisor, Tensor<Scalar> gradient,
                                      Kokkos::View<double, Memory> loss) const {
  const Matrix<const Scalar> p = rows_of(prediction), t = rows_of(target);
  const Matrix<Scalar> g = rows_of(gradient);
  const std::uint8_t* skip = shown.data();
  const auto partial = partial_;
  const int targets = extent(p, 1);
  const Scalar slope = static_cast<Scalar>(2 / divisor);
  const Chunks chunks(extent(p, 0));
  Kokkos::parallel_for(
      "ridgeline::squared_error", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const int begin = chunks.begin(team.league_rank());
        const int size = (chunks.end(team.league_rank()) - begin) * targets;
        const Scalar* prediction_of = &p(begin, 0);
        const Scalar* target_of = &t(begin, 0);
        Scalar* gradient_of = &g(begin, 0);
        const double sum = sum_lanes(team, size, [=](int i) {
          const bool left_out = skip != nullptr && skip[begin + i / targets] != 0;
          const Scalar error = left_out ? Scalar(0) : prediction_of[i] - target_of[i];
          gradient_of[i] = slope * error;
          return double(error) * double(error);
        });
        Kokkos::single(Kokkos::PerTeam(team), [=]() { partial(team.league_rank()) = sum; });
      });
  const int count = chunks.count;
  Kokkos::parallel_for(
      "ridgeline::squared_error/total", RangePolicy(0, 1), KOKKOS_LAMBDA(int) {
        double sum = 0;
        for (int i = 0; i < count; ++i) sum += partial(i);
        loss() = sum / divisor;
      });
}

template <class Scalar>
void sum_errors(Tensor<const Scalar> prediction, Tensor<const Scalar> target, Matrix<const std::uint8_t> shown,
                ErrorSums sums, int first) {
  const int tokens = extent(prediction, 1), targets = extent(prediction, 2);
  Kokkos::parallel_for(
      "ridgeline::sum_errors", one_team_each(extent(prediction, 0)), KOKKOS_LAMBDA(const Team& team) {
        const int b = team.league_rank();
        const Scalar* p = &prediction(b, 0, 0);
        const Scalar* t = &target(b, 0, 0);
        const std::uint8_t* is_shown = &shown(b, 0);
        const auto square = [=](int i) {
          const double error = double(p[i]) - double(t[i]);
          return error * error;
        };
        const int size = tokens * targets;
        const double hidden =
            sum_lanes(team, size, [=](int i) { return is_shown[i / targets] == 0 ? square(i) : 0.0; });
        const double over_shown =
            sum_lanes(team, size, [=](int i) { return is_shown[i / targets] != 0 ? square(i) : 0.0; });
        const double truth = sum_lanes(team, size, [=](int i) { return double(t[i]) * double(t[i]); });
        Kokkos::single(Kokkos::PerTeam(team), [=]() {
          sums(first + b, error_hidden) = hidden;
          sums(first + b, error_shown) = over_shown;
          sums(first + b, truth_square) = truth;
        });
      });
}

template class SquaredError<float>;
template class SquaredError<double>;
template void sum_errors(Tensor<const float>, Tensor<const float>, Matrix<const std::uint8_t>, ErrorSums, int);
template void sum_errors(Tensor<const double>, Tensor<const double>, Matrix<const std::uint8_t>, ErrorSums, int);

}  // namespace ridgeline

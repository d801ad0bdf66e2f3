#include "train/loss.hpp"

#include <cmath>
#include <limits>
#include <stdexcept>

#include "math/rows.hpp"

namespace ridgeline {
namespace {

/// Mean of a sum over a number of values, NaN where there are none.
double mean(double sum, double count) { return count > 0 ? sum / count : std::numeric_limits<double>::quiet_NaN(); }

/// The chunks of so many rows, of which `partial` holds a sum each. Throws std::logic_error where it has no room for them.
Chunks chunks_for(int rows, const Kokkos::View<double*, Memory>& partial) {
  const Chunks chunks(rows);
  if (chunks.count > extent(partial, 0)) throw std::logic_error("a loss is given more tokens than it was made for");
  return chunks;
}

/// loss = Σ partial / divisor, always in the same order.
void add_up(const char* name, Kokkos::View<const double*, Memory> partial, int count, double divisor,
            Kokkos::View<double, Memory> loss) {
  Kokkos::parallel_for(
      name, RangePolicy(0, 1), KOKKOS_LAMBDA(int) {
        double sum = 0;
        for (int i = 0; i < count; ++i) sum += partial(i);
        loss() = sum / divisor;
      });
}

/// What the logits of one target say, in double. Differences to the largest are taken before anything is added to them:
/// logits may be of any size.
struct Softmax {
  double largest;
  double sum;  // of exp(logit - largest): 1 at least

  KOKKOS_INLINE_FUNCTION double probability(double logit) const { return std::exp(logit - largest) / sum; }
  /// -log of it
  KOKKOS_INLINE_FUNCTION double surprise_of(double logit) const { return std::log(sum) + (largest - logit); }
};

/// The level of the largest logit.
template <class Scalar>
KOKKOS_INLINE_FUNCTION int most_probable(const Scalar* logits, int levels) {
  int most = 0;
  for (int level = 1; level < levels; ++level)
    if (logits[level] > logits[most]) most = level;
  return most;
}

template <class Scalar>
KOKKOS_INLINE_FUNCTION Softmax softmax_of(const Scalar* logits, int levels) {
  Softmax found{double(logits[most_probable(logits, levels)]), 0};
  for (int level = 0; level < levels; ++level) found.sum += std::exp(double(logits[level]) - found.largest);
  return found;
}

}  // namespace

// --- the squared error --------------------------------------------------------------------------------------------------

template <class Scalar>
SquaredError<Scalar>::SquaredError(int rows) : partial_("ridgeline::squared_error/partial", Chunks::most(rows)) {}

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
  const Chunks chunks = chunks_for(extent(p, 0), partial_);
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
  add_up("ridgeline::squared_error/total", partial_, chunks.count, divisor, loss);
}

template <class Scalar>
void SquaredError<Scalar>::sum(Tensor<const Scalar> prediction, Tensor<const Scalar> target,
                               Matrix<const std::uint8_t> shown, SampleSums sums, int first) const {
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

template <class Scalar>
Metrics SquaredError<Scalar>::metrics(const double* sums, const Counts& counts) const {
  double hidden = 0, shown = 0, relative = 0;
  for (int i = 0; i < counts.samples; ++i) {
    const double* sample = sums + static_cast<std::size_t>(i) * sums_per_sample;
    hidden += sample[error_hidden];
    shown += sample[error_shown];
    relative += std::sqrt((sample[error_hidden] + sample[error_shown]) / sample[truth_square]);
  }
  const double values = double(counts.tokens) * counts.targets, shown_values = double(counts.shown) * counts.targets;
  return {{"mse", mean(hidden + shown, counts.samples * values)},
          {"mse_hidden", mean(hidden, counts.samples * (values - shown_values))},
          {"mse_shown", mean(shown, counts.samples * shown_values)},
          {"relative_l2", mean(relative, counts.samples)}};
}

// --- the cross-entropy --------------------------------------------------------------------------------------------------

template <class Scalar>
CrossEntropy<Scalar>::CrossEntropy(int rows, int levels)
    : levels_(levels), partial_("ridgeline::cross_entropy/partial", Chunks::most(rows)) {}

template <class Scalar>
void CrossEntropy<Scalar>::operator()(Tensor<const Scalar> prediction, Tensor<const Scalar> target,
                                      Matrix<const std::uint8_t> shown, double divisor, Tensor<Scalar> gradient,
                                      Kokkos::View<double, Memory> loss) const {
  const Matrix<const Scalar> t = rows_of(target);
  const Scalar* logits = prediction.data();
  Scalar* slopes = gradient.data();
  const std::uint8_t* skip = shown.data();
  const auto partial = partial_;
  const int targets = extent(t, 1), levels = levels_;
  const Chunks chunks = chunks_for(extent(t, 0), partial_);
  Kokkos::parallel_for(
      "ridgeline::cross_entropy", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const int begin = chunks.begin(team.league_rank());
        const int size = (chunks.end(team.league_rank()) - begin) * targets;
        const Scalar* level_of = &t(begin, 0);
        const double sum = sum_lanes(team, size, [=](int i) {
          const std::size_t at = (std::size_t(begin) * targets + i) * levels;
          const Scalar* z = logits + at;
          Scalar* dz = slopes + at;
          if (skip != nullptr && skip[begin + i / targets] != 0) {
            for (int level = 0; level < levels; ++level) dz[level] = Scalar(0);
            return 0.0;
          }
          const int truth = static_cast<int>(level_of[i]);
          const Softmax softmax = softmax_of(z, levels);
          for (int level = 0; level < levels; ++level)
            dz[level] =
                static_cast<Scalar>((softmax.probability(double(z[level])) - (level == truth ? 1.0 : 0.0)) / divisor);
          return softmax.surprise_of(double(z[truth]));
        });
        Kokkos::single(Kokkos::PerTeam(team), [=]() { partial(team.league_rank()) = sum; });
      });
  add_up("ridgeline::cross_entropy/total", partial_, chunks.count, divisor, loss);
}

template <class Scalar>
void CrossEntropy<Scalar>::sum(Tensor<const Scalar> prediction, Tensor<const Scalar> target,
                               Matrix<const std::uint8_t> /*shown*/, SampleSums sums, int first) const {
  const int size = extent(target, 1) * extent(target, 2), levels = levels_;
  Kokkos::parallel_for(
      "ridgeline::sum_cross_entropy", one_team_each(extent(prediction, 0)), KOKKOS_LAMBDA(const Team& team) {
        const int b = team.league_rank();
        const Scalar* logits = &prediction(b, 0, 0);
        const Scalar* level_of = &target(b, 0, 0);
        const double surprised = sum_lanes(team, size, [=](int i) {
          const Scalar* z = logits + std::size_t(i) * levels;
          return softmax_of(z, levels).surprise_of(double(z[static_cast<int>(level_of[i])]));
        });
        const double met = sum_lanes(team, size, [=](int i) {
          const int most = most_probable(logits + std::size_t(i) * levels, levels);
          return most == static_cast<int>(level_of[i]) ? 1.0 : 0.0;
        });
        Kokkos::single(Kokkos::PerTeam(team), [=]() {
          sums(first + b, surprise) = surprised;
          sums(first + b, right) = met;
        });
      });
}

template <class Scalar>
Metrics CrossEntropy<Scalar>::metrics(const double* sums, const Counts& counts) const {
  double surprised = 0, met = 0;
  for (int i = 0; i < counts.samples; ++i) {
    surprised += sums[static_cast<std::size_t>(i) * sums_per_sample + surprise];
    met += sums[static_cast<std::size_t>(i) * sums_per_sample + right];
  }
  const double levels = double(counts.samples) * counts.tokens * counts.targets;
  return {{"bits_per_dimension", mean(surprised, levels) / std::log(2.0)},
          {"cross_entropy", mean(surprised, levels)},
          {"accuracy", mean(met, levels)}};
}

// ---

template <class Scalar>
std::unique_ptr<Loss<Scalar>> make_loss(const Task& task, int rows) {
  if (task.loss() == LossKind::cross_entropy) return std::make_unique<CrossEntropy<Scalar>>(rows, task.levels());
  return std::make_unique<SquaredError<Scalar>>(rows);
}

std::string main_metric(LossKind loss) { return loss == LossKind::cross_entropy ? "bits_per_dimension" : "mse"; }

template class SquaredError<float>;
template class SquaredError<double>;
template class CrossEntropy<float>;
template class CrossEntropy<double>;
template std::unique_ptr<Loss<float>> make_loss(const Task&, int);
template std::unique_ptr<Loss<double>> make_loss(const Task&, int);

}  // namespace ridgeline

#include "train/adam.hpp"

#include <cmath>
#include <utility>

#include "core/large_memory.hpp"
#include "math/rows.hpp"

namespace ridgeline {
namespace {

constexpr int chunk = 4096;  // entries that a team takes at a time

int chunks(std::size_t length) { return static_cast<int>((length + chunk - 1) / chunk); }

/// The entries that one team takes; their number may be more than an int holds.
struct Chunk {
  std::size_t begin;
  int size;

  KOKKOS_INLINE_FUNCTION Chunk(int number, std::size_t length)
      : begin(static_cast<std::size_t>(number) * chunk),
        size(begin + chunk < length ? chunk : static_cast<int>(length - begin)) {}
};

/// norm = the square root of the sum of squares, added up chunk by chunk in double.
template <class Scalar>
void measure(Vector<const Scalar> gradients, Kokkos::View<double*, Memory> partial, Kokkos::View<double, Memory> norm) {
  const int count = chunks(gradients.extent(0));
  Kokkos::parallel_for(
      "ridgeline::adam/norm/chunks", one_team_each(count), KOKKOS_LAMBDA(const Team& team) {
        const Chunk own(team.league_rank(), gradients.extent(0));
        const Scalar* g = gradients.data() + own.begin;
        const double sum = sum_lanes(team, own.size, [=](int i) { return double(g[i]) * double(g[i]); });
        Kokkos::single(Kokkos::PerTeam(team), [=]() { partial(team.league_rank()) = sum; });
      });
  Kokkos::parallel_for(
      "ridgeline::adam/norm/total", RangePolicy(0, 1), KOKKOS_LAMBDA(int) {
        double sum = 0;
        for (int i = 0; i < count; ++i) sum += partial(i);
        norm() = std::sqrt(sum);
      });
}

void mark(const Kokkos::View<bool*, Memory>& chunks, std::size_t begin, std::size_t end, bool value) {
  Kokkos::parallel_for(
      "ridgeline::adam/mark_kept", RangePolicy(begin, end), KOKKOS_LAMBDA(std::int64_t i) { chunks(i) = value; });
}

}  // namespace

template <class Scalar>
Adam<Scalar>::Adam(std::size_t length, Kokkos::View<double, Memory> norm)
    : first_(large_zero_memory<Scalar>("ridgeline::adam/first_moment", length)),
      second_(large_zero_memory<Scalar>("ridgeline::adam/second_moment", length)),
      kept_("ridgeline::adam/kept", chunks(length)),
      partial_("ridgeline::adam/partial_norms", chunks(length)),
      norm_(std::move(norm)) {}

template <class Scalar>
void Adam<Scalar>::step(Kokkos::View<Scalar*, Memory> parameters, Kokkos::View<Scalar*, Memory> gradients,
                        std::int64_t step, double learning_rate, double largest_norm) {
  if (largest_norm > 0) measure<Scalar>(Vector<Scalar>(gradients.data(), gradients.extent(0)), partial_, norm_);
  const auto norm = norm_;
  const auto first = first_, second = second_;
  const auto kept = kept_;
  const double time = static_cast<double>(step);
  const Scalar rate = static_cast<Scalar>(learning_rate / (1 - std::pow(beta1, time)));
  const Scalar root = static_cast<Scalar>(std::sqrt(1 - std::pow(beta2, time)));
  const Scalar keep1 = Scalar(beta1), keep2 = Scalar(beta2), take1 = Scalar(1 - beta1), take2 = Scalar(1 - beta2);
  const Scalar tiny = Scalar(epsilon);
  Kokkos::parallel_for(
      "ridgeline::adam/step", one_team_each(chunks(parameters.extent(0))), KOKKOS_LAMBDA(const Team& team) {
        const Chunk own(team.league_rank(), parameters.extent(0));
        const Scalar scale =
            largest_norm > 0 && norm() > largest_norm ? static_cast<Scalar>(largest_norm / norm()) : Scalar(1);
        Scalar* p = parameters.data() + own.begin;
        Scalar* g = gradients.data() + own.begin;
        Scalar* m = first.data() + own.begin;
        Scalar* v = second.data() + own.begin;
        const auto update = [=](int i) {
          const Scalar gradient = scale * g[i];
          const Scalar mean = keep1 * m[i] + take1 * gradient;
          const Scalar square = keep2 * v[i] + take2 * gradient * gradient;
          m[i] = mean;
          v[i] = square;
          p[i] -= rate * mean / (std::sqrt(square) / root + tiny);
        };
        if (kept(team.league_rank()))
          for_lanes(team, own.size, update);
        else
          for_lanes(team, own.size, [=](int i) {
            update(i);
            g[i] = 0;
          });
      });
}

template <class Scalar>
void Adam<Scalar>::step(Parameters<Scalar>& parameters, std::int64_t step, double learning_rate, double largest_norm) {
  mark_kept(parameters);
  this->step(parameters.values(), parameters.gradients(), step, learning_rate, largest_norm);
  parameters.gradients_used();
}

/// As a rule once, at the first step.
template <class Scalar>
void Adam<Scalar>::mark_kept(const Parameters<Scalar>& parameters) {
  std::vector<bool> entries;
  for (const auto& entry : parameters.entries()) entries.push_back(Parameters<Scalar>::may_keep_gradient(entry));
  if (entries == kept_entries_) return;
  kept_entries_ = entries;
  mark(kept_, 0, kept_.extent(0), true);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto& entry = parameters.entries()[i];
    if (!entries[i] && entry.size > 0)
      mark(kept_, entry.offset / chunk, (entry.offset + entry.size - 1) / chunk + 1, false);
  }
}

template class Adam<float>;
template class Adam<double>;

}  // namespace ridgeline

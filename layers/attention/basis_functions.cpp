#include "basis_functions.hpp"

#include "math/elementary.hpp"

namespace ridgeline::functional {
namespace {

/// Softmax of one row's groups, in place, added to `sum` [columns]: each entry by the lane that made it.
template <class Scalar>
KOKKOS_INLINE_FUNCTION void softmax(const Team& team, Scalar* row, const Scalar* bias, int columns, int group,
                                    Scalar* sum) {
  for (int begin = 0; begin < columns; begin += group) {
    Scalar *z = row + begin, *total_of = sum + begin;
    const Scalar* b = bias + begin;
    const Scalar largest = max_lanes(team, group, [=](int j) { return z[j] += b[j]; });
    const Scalar total = sum_lanes(team, group, [=](int j) { return z[j] = exponential(z[j] - largest); });
    const Scalar scale = Scalar(1) / total;
    for_lanes(team, group, [=](int j) {
      z[j] *= scale;
      total_of[j] += z[j];
    });
  }
}

}  // namespace

template <class Scalar>
void BasisFunctions<Scalar>::reserve(const Shape& shape, Arena& arena) {
  shape_ = shape;
  // As Chunks, but a chunk stays within its sample; depends on the shape alone.
  chunk_ = std::max(1, std::min(shape.tokens, std::max(16, (shape.rows() + 255) / 256)));
  chunks_ = (shape.tokens + chunk_ - 1) / chunk_;
  partial_ = arena.passing<Scalar>(shape.batch * chunks_, 2 * columns_);
}

template <class Scalar>
void BasisFunctions<Scalar>::forward(Matrix<Scalar> logits, Vector<const Scalar> bias, Scalar weight,
                                     Matrix<Scalar> sums) const {
  const int columns = columns_, group = group_, tokens = shape_.tokens, size = chunk_, chunks = chunks_;
  const Matrix<Scalar> partial = partial_;
  Kokkos::parallel_for(
      "ridgeline::functional/basis/forward", one_team_each(shape_.batch * chunks), KOKKOS_LAMBDA(const Team& team) {
        const int sample = team.league_rank() / chunks;
        const int begin = team.league_rank() % chunks * size;
        const int end = begin + size < tokens ? begin + size : tokens;
        Scalar* sum = &partial(team.league_rank(), 0);
        for_lanes(team, columns, [=](int j) { sum[j] = 0; });
        team.team_barrier();
        for (int token = begin; token < end; ++token)
          softmax(team, &logits(sample * tokens + token, 0), bias.data(), columns, group, sum);
      });
  if (sums.data() == nullptr) return;
  Kokkos::parallel_for(
      "ridgeline::functional/basis/sums", RangePolicy(0, columns * shape_.batch), KOKKOS_LAMBDA(int entry) {
        const int j = entry % columns, sample = entry / columns;
        Scalar sum = 0;
        for (int chunk = 0; chunk < chunks; ++chunk) sum += partial(sample * chunks + chunk, j);
        sums(j, sample) = weight * sum;
      });
}

// dz = Φ (dΦ - Σ Φ dΦ) within each group.
template <class Scalar>
void BasisFunctions<Scalar>::backward(Matrix<const Scalar> phi, Matrix<Scalar> gradient, Scalar weight,
                                      Matrix<const Scalar> dsums, Vector<Scalar> bias_gradient) const {
  const int columns = columns_, group = group_, tokens = shape_.tokens, size = chunk_, chunks = chunks_;
  const Matrix<Scalar> partial = partial_;
  const bool shifted = dsums.data() != nullptr;
  Kokkos::parallel_for(
      "ridgeline::functional/basis/backward", one_team_each(shape_.batch * chunks), KOKKOS_LAMBDA(const Team& team) {
        const int sample = team.league_rank() / chunks;
        const int first = team.league_rank() % chunks * size;
        const int end = first + size < tokens ? first + size : tokens;
        Scalar* sum = &partial(team.league_rank(), 0);
        Scalar* shift = sum + columns;
        for_lanes(team, columns, [=](int j) {
          sum[j] = 0;
          shift[j] = shifted ? weight * dsums(j, sample) : Scalar(0);
        });
        team.team_barrier();
        for (int token = first; token < end; ++token) {
          for (int begin = 0; begin < columns; begin += group) {
            const Scalar* p = &phi(sample * tokens + token, begin);
            Scalar* d = &gradient(sample * tokens + token, begin);
            const Scalar* s = shift + begin;
            Scalar* total = sum + begin;
            const Scalar mean = sum_lanes(team, group, [=](int j) { return p[j] * (d[j] + s[j]); });
            for_lanes(team, group, [=](int j) {
              const Scalar dz = p[j] * (d[j] + s[j] - mean);
              d[j] = dz;
              total[j] += dz;
            });
          }
        }
      });
  if (bias_gradient.data() == nullptr) return;
  const int count = shape_.batch * chunks;
  Kokkos::parallel_for(
      "ridgeline::functional/basis/bias_gradient", RangePolicy(0, columns), KOKKOS_LAMBDA(int j) {
        Scalar sum = 0;
        for (int chunk = 0; chunk < count; ++chunk) sum += partial(chunk, j);
        bias_gradient(j) = sum;
      });
}

template class BasisFunctions<float>;
template class BasisFunctions<double>;

}  // namespace ridgeline::functional

#include "math/rows.hpp"

namespace ridgeline {

template <class Scalar>
void add_bias(Matrix<Scalar> y, Vector<const Scalar> bias, Matrix<const Scalar> residual) {
  const int columns = extent(y, 1);
  const Chunks chunks(extent(y, 0));
  const bool biased = bias.data() != nullptr;
  const bool added = residual.data() != nullptr;
  if ((!biased && !added) || y.size() == 0) return;
  Kokkos::parallel_for(
      "ridgeline::add_bias", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const int chunk = team.league_rank();
        for (int row = chunks.begin(chunk); row < chunks.end(chunk); ++row) {
          Scalar* out = &y(row, 0);
          const Scalar* b = bias.data();
          const Scalar* r = added ? &residual(row, 0) : nullptr;
          if (biased && added)
            for_lanes(team, columns, [=](int j) { out[j] += b[j] + r[j]; });
          else if (biased)
            for_lanes(team, columns, [=](int j) { out[j] += b[j]; });
          else
            for_lanes(team, columns, [=](int j) { out[j] += r[j]; });
        }
      });
}

template <class Scalar>
void ColumnSums<Scalar>::add(Matrix<const Scalar> matrix, Vector<Scalar> sums) const {
  const int columns = extent(matrix, 1);
  const Chunks chunks(extent(matrix, 0));
  const Matrix<Scalar> partial(partial_.data(), chunks.count, columns);
  Kokkos::parallel_for(
      "ridgeline::column_sums/chunks", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const int chunk = team.league_rank();
        Scalar* sum = &partial(chunk, 0);
        for_lanes(team, columns, [=](int j) { sum[j] = 0; });
        for (int row = chunks.begin(chunk); row < chunks.end(chunk); ++row) {
          const Scalar* in = &matrix(row, 0);
          for_lanes(team, columns, [=](int j) { sum[j] += in[j]; });
        }
      });
  ColumnSums narrow;
  narrow.partial_ = partial;
  narrow.add_to(sums);
}

namespace {

/// Some columns at a time, which lie side by side in every chunk's row.
template <class Scalar>
void sum_chunks(Matrix<const Scalar> partial, Vector<Scalar> sums, int first, bool add) {
  constexpr int width = 64;
  const int count = extent(partial, 0), columns = extent(sums, 0), stride = extent(partial, 1);
  Kokkos::parallel_for(
      "ridgeline::column_sums/total", one_team_each((columns + width - 1) / width), KOKKOS_LAMBDA(const Team& team) {
        const int begin = team.league_rank() * width, own = columns - begin < width ? columns - begin : width;
        const Scalar* from = partial.data() + first + begin;
        Scalar* to = sums.data() + begin;
        for_lanes(team, own, [=](int j) {
          Scalar sum = add ? to[j] : Scalar(0);
          for (int chunk = 0; chunk < count; ++chunk) sum += from[static_cast<std::int64_t>(chunk) * stride + j];
          to[j] = sum;
        });
      });
}

}  // namespace

template <class Scalar>
void ColumnSums<Scalar>::add_to(Vector<Scalar> sums, int first) const {
  sum_chunks<Scalar>(partial_, sums, first, true);
}

template <class Scalar>
void ColumnSums<Scalar>::write_to(Vector<Scalar> sums, int first) const {
  sum_chunks<Scalar>(partial_, sums, first, false);
}

template <class Scalar>
void multiply_entries(Matrix<const Scalar> a, Matrix<const Scalar> b, Matrix<Scalar> result, Matrix<Scalar> partial) {
  const int columns = extent(a, 1);
  const Chunks chunks(extent(a, 0));
  Kokkos::parallel_for(
      "ridgeline::multiply_entries", one_team_each(chunks.count), KOKKOS_LAMBDA(const Team& team) {
        const int chunk = team.league_rank();
        Scalar* sum = &partial(chunk, 0);
        for_lanes(team, columns, [=](int j) { sum[j] = 0; });
        for (int row = chunks.begin(chunk); row < chunks.end(chunk); ++row) {
          const Scalar* left = &a(row, 0);
          const Scalar* right = &b(row, 0);
          Scalar* out = &result(row, 0);
          for_lanes(team, columns, [=](int j) {
            const Scalar product = left[j] * right[j];
            out[j] = product;
            sum[j] += product;
          });
        }
      });
}

template class ColumnSums<float>;
template class ColumnSums<double>;
template void add_bias(Matrix<float>, Vector<const float>, Matrix<const float>);
template void add_bias(Matrix<double>, Vector<const double>, Matrix<const double>);
template void multiply_entries(Matrix<const float>, Matrix<const float>, Matrix<float>, Matrix<float>);
template void multiply_entries(Matrix<const double>, Matrix<const double>, Matrix<double>, Matrix<double>);

}  // namespace ridgeline

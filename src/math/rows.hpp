// Kernels over the rows of a matrix: a team of threads takes a chunk of rows, its lanes the columns.
#pragma once

#include <algorithm>

#include "core/tensor.hpp"
#include "math/lanes.hpp"

namespace ridgeline {

/// How rows are cut into chunks. Depends on the number of rows alone, never on the number of threads: sums over rows,
/// made chunk by chunk and then over the chunks, are the same bits on any number of threads.
struct Chunks {
  int rows;
  int size;
  int count;

  explicit Chunks(int total_rows) : rows(total_rows), size(std::max(16, quotient(total_rows, 256))) {
    count = quotient(rows, size);
  }
  /// At least the chunks of `rows` and of any fewer: their number does not always grow with the rows'.
  static int most(int rows) { return std::min(256, quotient(rows, 16)); }
  KOKKOS_INLINE_FUNCTION int begin(int chunk) const { return chunk * size; }
  KOKKOS_INLINE_FUNCTION int end(int chunk) const { return rows - begin(chunk) > size ? begin(chunk) + size : rows; }

 private:
  /// Rounded up; no sum that the largest int would overflow.
  static int quotient(int a, int b) { return a / b + (a % b > 0 ? 1 : 0); }
};

/// A policy with one team for each of `teams` pieces of work.
inline TeamPolicy one_team_each(int teams) { return TeamPolicy(teams, Kokkos::AUTO); }

/// y += bias + residual, for y [rows, columns]; bias [columns] and residual [rows, columns] may be empty.
template <class Scalar>
void add_bias(Matrix<Scalar> y, Vector<const Scalar> bias, Matrix<const Scalar> residual);

/// Sums over the rows of many matrices in two passes: kernels write the sums of their chunk to `partial`, and `add_to`
/// adds the sums over the chunks to a gradient.
template <class Scalar>
class ColumnSums {
 public:
  /// Takes the partial sums' memory, [chunks, columns], of passing kind, for matrices of just so many rows.
  template <class Arena>
  void reserve(int rows, int columns, Arena& arena) {
    partial_ = arena.template passing<Scalar>(Chunks(rows).count, columns);
  }
  Matrix<Scalar> partial() const { return partial_; }

  /// sums[j] += Σ_i matrix[i, j]
  void add(Matrix<const Scalar> matrix, Vector<Scalar> sums) const;

  /// sums[j] += Σ over chunks of partial[chunk, first + j]
  void add_to(Vector<Scalar> sums, int first = 0) const;
  /// The same, overwriting sums.
  void write_to(Vector<Scalar> sums, int first = 0) const;

 private:
  Matrix<Scalar> partial_;
};

/// result = a * b, entry by entry, with a, b, result [rows, columns] (result may be a or b), and, chunk by chunk, the
/// column sums of the result into `partial` [chunks, columns].
template <class Scalar>
void multiply_entries(Matrix<const Scalar> a, Matrix<const Scalar> b, Matrix<Scalar> result, Matrix<Scalar> partial);

}  // namespace ridgeline

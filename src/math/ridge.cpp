#include "math/ridge.hpp"

#include <KokkosBatched_LU_Decl.hpp>
#include <KokkosBatched_LU_Serial_Impl.hpp>
#include <KokkosBatched_LU_Team_Impl.hpp>
#include <KokkosBatched_SolveLU_Decl.hpp>
#include <KokkosBatched_Trsm_Decl.hpp>
#include <KokkosBatched_Trsm_Serial_Impl.hpp>
#include <KokkosBatched_Trsm_Team_Impl.hpp>

#include <cmath>

#include "math/fetch.hpp"
#include "math/gemm.hpp"
#include "math/lanes.hpp"
#include "math/small_products.hpp"

namespace ridgeline {
namespace {

using Scratch = Kokkos::View<double**, Kokkos::LayoutRight, Execution::scratch_memory_space,
                             Kokkos::MemoryTraits<Kokkos::Unmanaged>>;
using Block = Matrix<double>;

/// Takes [rows, columns] of a team's scratch memory, at the start of a cache line: a register's load that lies across two
/// takes twice as long.
KOKKOS_INLINE_FUNCTION Scratch aligned(const Team& team, int level, int rows, int columns) {
  const auto bytes = static_cast<std::ptrdiff_t>(sizeof(double)) * rows * columns;
  return Scratch(static_cast<double*>(team.team_scratch(level).get_shmem_aligned(bytes, 64)), rows, columns);
}

// ---- pieces of a team's work; each begins with the team's barrier where it reads what other lanes wrote ----

/// to [basis, width] = the coefficients of one head and sample.
template <class Scalar>
KOKKOS_INLINE_FUNCTION void load(const Team& team, const Coefficients<Scalar>& from, int head, int sample,
                                 const Scratch& to) {
  const int width = static_cast<int>(to.extent(1));
  for (int k = 0; k < static_cast<int>(to.extent(0)); ++k) {
    const Scalar* in = &from.rows(head, k, sample, 0);
    double* out = &to(k, 0);
    if (from.sums.data() == nullptr) {
      for_lanes(team, width, [=](int d) { out[d] = double(in[d]); });
    } else {
      const double sum = from.sums(head, k, sample);
      const Scalar* bias = &from.bias(head, 0);
      for_lanes(team, width, [=](int d) { out[d] = double(in[d]) + sum * double(bias[d]); });
    }
  }
  team.team_barrier();
}

/// Asks for the rows of a head and sample, which lie far apart.
template <class Rows>
KOKKOS_INLINE_FUNCTION void fetch_rows(const Rows& rows, int head, int sample) {
  for (int k = 0; k < static_cast<int>(rows.extent(1)); ++k)
    fetch(&rows(head, k, sample, 0), static_cast<int>(rows.extent(3)));
}

template <class Scalar>
KOKKOS_INLINE_FUNCTION void load(const Team& team, const HeadRows<const Scalar>& from, int head, int sample,
                                 const Scratch& to) {
  load(team, Coefficients<Scalar>{from, {}, {}}, head, sample, to);
}

/// Row k of a head and sample.
template <class Scalar>
KOKKOS_INLINE_FUNCTION auto rows_at(const HeadRows<Scalar>& rows, int head, int sample) {
  return [=](int k) { return &rows(head, k, sample, 0); };
}

/// The gradients of the sums that the bias entered by, from the coefficients', which are there.
template <class Scalar>
KOKKOS_INLINE_FUNCTION void sum_gradients(const Team& team, int head, int sample,
                                          const Coefficients<Scalar>& coefficients,
                                          const CoefficientGradients<Scalar>& to) {
  if (to.sums.data() == nullptr) return;
  team.team_barrier();
  const int width = static_cast<int>(to.rows.extent(3));
  const Scalar* bias = &coefficients.bias(head, 0);
  const int basis = static_cast<int>(to.rows.extent(1));
  // Four at a time; past the last, that is read again and written once more.
  for (int first = 0; first < basis; first += 4) {
    const auto row = [=](int i) { return first + i < basis ? first + i : basis - 1; };
    const auto product = [=](int i) {
      const Scalar* from = &to.rows(head, row(i), sample, 0);
      return [=](int d) { return double(from[d]) * double(bias[d]); };
    };
    const FourSums<double> sums = sum_lanes(team, width, product(0), product(1), product(2), product(3));
    Kokkos::single(Kokkos::PerTeam(team), [=]() {
      to.sums(head, row(0), sample) = static_cast<Scalar>(sums.first);
      to.sums(head, row(1), sample) = static_cast<Scalar>(sums.second);
      to.sums(head, row(2), sample) = static_cast<Scalar>(sums.third);
      to.sums(head, row(3), sample) = static_cast<Scalar>(sums.fourth);
    });
  }
}

/// result[i, j] = Σ_k a[k, i] b[k, j], for a matrix that is not small in i and j.
template <class Left, class Right, class Result>
KOKKOS_INLINE_FUNCTION void multiply_columns(const Team& team, const Left& a, const Right& b, const Result& result,
                                             double scale = 1) {
  team.team_barrier();
  const int columns = static_cast<int>(b.extent(1));
  for (int i = 0; i < static_cast<int>(a.extent(1)); ++i) {
    double* out = &result(i, 0);
    for_lanes(team, columns, [=](int j) { out[j] = 0; });
    for (int k = 0; k < static_cast<int>(a.extent(0)); ++k) {
      const double factor = scale * a(k, i);
      const double* in = &b(k, 0);
      for_lanes(team, columns, [=](int j) { out[j] += factor * in[j]; });
    }
  }
  team.team_barrier();
}

/// Adds the ridge to a Gram matrix and overwrites it by its LU factors. A pivot that is not clearly above the rounding
/// of the largest diagonal entry raises the signal with the smallest pivot, or with NaN where the matrix was not finite.
KOKKOS_INLINE_FUNCTION void factorise(const Team& team, const Block& gram, double ridge, const Signal& signal,
                                      std::uint32_t where) {
  const int n = static_cast<int>(gram.extent(0));
  team.team_barrier();
  Kokkos::single(Kokkos::PerTeam(team), [=]() {
    for (int i = 0; i < n; ++i) gram(i, i) += ridge;
  });
  team.team_barrier();
  double largest = 0;
  for (int i = 0; i < n; ++i) largest = gram(i, i) <= largest ? largest : gram(i, i);  // a NaN stays
  team.team_barrier();
  if (detail::team_on_host<Team> && team.team_size() == 1)
    KokkosBatched::SerialLU<KokkosBatched::Algo::LU::Blocked>::invoke(gram);
  else
    KokkosBatched::TeamLU<Team, KokkosBatched::Algo::LU::Unblocked>::invoke(team, gram);
  team.team_barrier();
  const double rounding = 2.2204460492503131e-16 * n * largest;
  const bool finite = largest < 1e300;
  bool lost = !finite;
  double smallest = finite ? largest : NAN;
  for (int i = 0; i < n; ++i) {
    const double pivot = gram(i, i);
    lost = lost || !(pivot > rounding);
    smallest = pivot < smallest ? pivot : smallest;  // pivots after one that is zero are not numbers, and do not count
  }
  if (lost) Kokkos::single(Kokkos::PerTeam(team), [=]() { signal.raise(where, static_cast<float>(smallest)); });
}

/// right = matrix⁻¹ right
template <class Right>
KOKKOS_INLINE_FUNCTION void solve(const Team& team, const Block& factor, const Right& right) {
  team.team_barrier();
  if (detail::team_on_host<Team> && team.team_size() == 1)
    KokkosBatched::SerialSolveLU<KokkosBatched::Trans::NoTranspose, KokkosBatched::Algo::Trsm::Blocked>::invoke(factor,
                                                                                                                right);
  else
    KokkosBatched::TeamSolveLU<Team, KokkosBatched::Trans::NoTranspose, KokkosBatched::Algo::Trsm::Unblocked>::invoke(
        team, factor, right);
  team.team_barrier();
}

KOKKOS_INLINE_FUNCTION Block block_of(const View<double***>& blocks, int system) {
  return Block(&blocks(system, 0, 0), blocks.extent(1), blocks.extent(2));
}

// ---- the four kernels: basis <= width ("tall") and basis > width ("wide"), forward and backward ----

/// One of the small systems; `index` is where its factors lie, and what a signal says.
struct System {
  int head, sample, index;
};

/// What every kernel works on. Teams take the systems head by head: rows of a head's samples lie side by side, and the
/// products before and after deal heads to threads as well.
template <class Scalar>
struct Systems {
  int heads, basis, width;
  double ridge;
  Signal signal;
  Coefficients<Scalar> queries, values;
  View<double***> factor, solution;

  KOKKOS_INLINE_FUNCTION int samples() const { return static_cast<int>(queries.rows.extent(2)); }
  KOKKOS_INLINE_FUNCTION System of(int rank) const {
    const int head = rank / samples(), sample = rank % samples();
    return {head, sample, sample * heads + head};
  }
  /// Asks for what the system of the next team reads: as a rule the same core's work.
  KOKKOS_INLINE_FUNCTION void fetch_after(int rank) const {
    const System next = of(rank + 1);
    if (next.head == heads) return;
    fetch_rows(queries.rows, next.head, next.sample);
    fetch_rows(values.rows, next.head, next.sample);
  }
};

/// C = Y Aᵀ G⁻¹ with G = A Aᵀ + ridge I: solve G Cᵀ = A Yᵀ, then mapped = C A.
template <class Scalar>
struct TallForward {
  Systems<Scalar> systems;
  HeadRows<Scalar> mapped;

  static std::size_t scratch_bytes(int basis, int width) { return 2 * Scratch::shmem_size(basis, width); }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto [head, sample, system] = systems.of(team.league_rank());

    const Scratch a = aligned(team, level, systems.basis, systems.width);
    const Scratch y = aligned(team, level, systems.basis, systems.width);
    load(team, systems.queries, head, sample, a);
    load(team, systems.values, head, sample, y);
    systems.fetch_after(team.league_rank());
    fetch_rows(mapped, head, sample);
    const Block gram = block_of(systems.factor, system);
    const Block transposed = block_of(systems.solution, system);
    multiply_transposed(team, a, a, gram);
    multiply_transposed(team, a, y, transposed);
    factorise(team, gram, systems.ridge, systems.signal, static_cast<std::uint32_t>(system));
    solve(team, gram, transposed);
    multiply(team, {transposed.data(), 1, systems.basis}, systems.basis, a, rows_at(mapped, head, sample));
  }

  int level = 0;  // of the scratch memory
};

/// With X = Cᵀ and Z = G⁻¹ dX (dX = dCᵀ = A dMappedᵀ): dG = -X Zᵀ, so that
/// dA = (dG + dGᵀ) A + Z Y + X dMapped, one product of factors side by side, and dY = Zᵀ A.
template <class Scalar>
struct TallBackward {
  Systems<Scalar> systems;
  HeadRows<const Scalar> mapped_gradient;
  CoefficientGradients<Scalar> queries_gradient, values_gradient;

  static std::size_t scratch_bytes(int basis, int width) {
    return Scratch::shmem_size(3 * basis, width) + Scratch::shmem_size(basis, basis) +
           Scratch::shmem_size(basis, 3 * basis);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto [head, sample, system] = systems.of(team.league_rank());
    const int basis = systems.basis, width = systems.width;
    const Scratch stack = aligned(team, level, 3 * basis, width);  // A, Y and dMapped
    const Scratch z = aligned(team, level, basis, basis), factors = aligned(team, level, basis, 3 * basis);
    const auto part = [=](int first) { return Scratch(&stack(first * basis, 0), basis, width); };
    const Scratch a = part(0), mapped = part(2);
    load(team, systems.queries, head, sample, a);
    load(team, systems.values, head, sample, part(1));
    load(team, mapped_gradient, head, sample, mapped);
    systems.fetch_after(team.league_rank());
    fetch_rows(queries_gradient.rows, head, sample);
    fetch_rows(values_gradient.rows, head, sample);
    multiply_transposed(team, a, mapped, z);
    solve(team, block_of(systems.factor, system), z);
    multiply(team, {z.data(), 1, basis}, basis, a, rows_at(values_gradient.rows, head, sample));
    sum_gradients(team, head, sample, systems.values, values_gradient);
    write_factors(team, block_of(systems.solution, system), z, factors);
    multiply(team, {factors.data(), 3 * basis, 1}, basis, stack, rows_at(queries_gradient.rows, head, sample));
    sum_gradients(team, head, sample, systems.queries, queries_gradient);
  }

  /// -(X Zᵀ + Z Xᵀ), Z and X side by side.
  static KOKKOS_FUNCTION void write_factors(const Team& team, const Block& x, const Scratch& z,
                                            const Scratch& factors) {
    const int basis = static_cast<int>(x.extent(0));
    for (int i = 0; i < basis; ++i)
      for_lanes(team, basis, [=](int j) {
        double sum = 0;
        for (int k = 0; k < basis; ++k) sum += x(i, k) * z(j, k) + z(i, k) * x(j, k);
        factors(i, j) = -sum;
        factors(i, basis + j) = z(i, j);
        factors(i, 2 * basis + j) = x(i, j);
      });
    team.team_barrier();
  }

  int level = 0;  // of the scratch memory
};

/// mapped = W M with M = AᵀA, W = Y (M + ridge I)⁻¹.
template <class Scalar>
struct WideForward {
  Systems<Scalar> systems;
  HeadRows<Scalar> mapped;

  static std::size_t scratch_bytes(int basis, int width) {
    return 2 * Scratch::shmem_size(basis, width) + Scratch::shmem_size(width, width) +
           Scratch::shmem_size(width, basis);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto [head, sample, system] = systems.of(team.league_rank());
    const int basis = systems.basis, width = systems.width;
    const Scratch a = aligned(team, level, basis, width), y = aligned(team, level, basis, width);
    const Scratch moments = aligned(team, level, width, width), transposed = aligned(team, level, width, basis);
    load(team, systems.queries, head, sample, a);
    load(team, systems.values, head, sample, y);
    multiply_columns(team, a, a, moments);
    const Block regularised = block_of(systems.factor, system);
    const Block w = block_of(systems.solution, system);
    for_lanes(team, width * width, [=](int i) { regularised.data()[i] = moments.data()[i]; });
    factorise(team, regularised, systems.ridge, systems.signal, static_cast<std::uint32_t>(system));
    for_lanes(team, basis * width, [=](int i) { transposed(i % width, i / width) = y.data()[i]; });
    solve(team, regularised, transposed);
    for_lanes(team, basis * width, [=](int i) { w.data()[i] = transposed(i % width, i / width); });
    team.team_barrier();
    multiply(team, {w.data(), width, 1}, basis, moments, rows_at(mapped, head, sample));
  }

  int level = 0;  // of the scratch memory
};

/// With V = dMapped M (M + ridge I)⁻¹: dY = V, dM = Wᵀ (dMapped - V), dA = A (dM + dMᵀ).
template <class Scalar>
struct WideBackward {
  Systems<Scalar> systems;
  HeadRows<const Scalar> mapped_gradient;
  CoefficientGradients<Scalar> queries_gradient, values_gradient;

  static std::size_t scratch_bytes(int basis, int width) {
    return 2 * Scratch::shmem_size(basis, width) + 2 * Scratch::shmem_size(width, width) +
           Scratch::shmem_size(width, basis);
  }

  KOKKOS_FUNCTION void operator()(const Team& team) const {
    const auto [head, sample, system] = systems.of(team.league_rank());
    const int basis = systems.basis, width = systems.width;
    const Scratch a = aligned(team, level, basis, width), mapped = aligned(team, level, basis, width);
    const Scratch moments = aligned(team, level, width, width), gradient = aligned(team, level, width, width);
    const Scratch v = aligned(team, level, width, basis);  // Vᵀ
    load(team, systems.queries, head, sample, a);
    load(team, mapped_gradient, head, sample, mapped);
    multiply_columns(team, a, a, moments);
    multiply_transposed(team, moments, mapped, v);
    solve(team, block_of(systems.factor, system), v);
    for (int k = 0; k < basis; ++k) {
      Scalar* out = &values_gradient.rows(head, k, sample, 0);
      for_lanes(team, width, [=](int d) { out[d] = static_cast<Scalar>(v(d, k)); });
    }
    sum_gradients(team, head, sample, systems.values, values_gradient);
    for_lanes(team, basis * width, [=](int i) { mapped.data()[i] -= v(i % width, i / width); });
    multiply_columns(team, block_of(systems.solution, system), mapped, gradient);
    for_lanes(team, width * width,
              [=](int i) { moments.data()[i] = gradient.data()[i] + gradient.data()[i % width * width + i / width]; });
    team.team_barrier();
    multiply(team, {a.data(), width, 1}, basis, moments, rows_at(queries_gradient.rows, head, sample));
    sum_gradients(team, head, sample, systems.queries, queries_gradient);
  }

  int level = 0;  // of the scratch memory
};

/// Runs a kernel with a team for every system, its scratch in the fast level where it fits.
template <class Kernel>
void for_each_system(const char* name, int count, int basis, int width, Kernel kernel) {
  if (count == 0) return;
  constexpr std::size_t pieces = 5;  // at most, each rounded up to a cache line
  const std::size_t bytes = Kernel::scratch_bytes(basis, width) + 64 * pieces;
  kernel.level = bytes <= static_cast<std::size_t>(TeamPolicy::scratch_size_max(0)) ? 0 : 1;
  const TeamPolicy policy(count, Kokkos::AUTO);
  Kokkos::parallel_for(
      name, TeamPolicy(policy).set_scratch_size(kernel.level, Kokkos::PerTeam(static_cast<int>(bytes))), kernel);
}

}  // namespace

template <class Scalar>
void RidgeMap<Scalar>::reserve(int heads, int basis, int batch, int width, Arena& arena) {
  const std::size_t systems = static_cast<std::size_t>(heads) * batch;
  const int n = std::min(basis, width);
  factor_ = arena.kept<double>(systems, n, n);
  solution_ = arena.kept<double>(systems, basis, n);
}

template <class Scalar>
void RidgeMap<Scalar>::forward(const Coefficients<Scalar>& queries, const Coefficients<Scalar>& values,
                               HeadRows<Scalar> mapped) const {
  const int heads = extent(mapped, 0), basis = extent(mapped, 1), batch = extent(mapped, 2), width = extent(mapped, 3);
  counted_operations() += forward_operations(heads, basis, batch, width);
  const Systems<Scalar> systems{heads, basis, width, ridge_, signal_, queries, values, factor_, solution_};
  if (basis <= width)
    for_each_system("ridgeline::ridge/forward", heads * batch, basis, width, TallForward<Scalar>{systems, mapped});
  else
    for_each_system("ridgeline::ridge/forward_wide", heads * batch, basis, width, WideForward<Scalar>{systems, mapped});
}

template <class Scalar>
void RidgeMap<Scalar>::backward(const Coefficients<Scalar>& queries, const Coefficients<Scalar>& values,
                                HeadRows<const Scalar> mapped_gradient,
                                const CoefficientGradients<Scalar>& queries_gradient,
                                const CoefficientGradients<Scalar>& values_gradient) const {
  const int heads = extent(mapped_gradient, 0), basis = extent(mapped_gradient, 1), batch = extent(mapped_gradient, 2),
            width = extent(mapped_gradient, 3);
  counted_operations() += backward_operations(heads, basis, batch, width);
  const Systems<Scalar> systems{heads, basis, width, ridge_, signal_, queries, values, factor_, solution_};
  if (basis <= width)
    for_each_system("ridgeline::ridge/backward", heads * batch, basis, width,
                    TallBackward<Scalar>{systems, mapped_gradient, queries_gradient, values_gradient});
  else
    for_each_system("ridgeline::ridge/backward_wide", heads * batch, basis, width,
                    WideBackward<Scalar>{systems, mapped_gradient, queries_gradient, values_gradient});
}

template <class Scalar>
double RidgeMap<Scalar>::scratch_bytes(int basis, int width) {
  // As the backward kernels take it, the larger ones.
  const double k = basis, d = width;
  return sizeof(double) * (basis <= width ? 3 * k * d + 4 * k * k : 3 * k * d + 2 * d * d);
}

template <class Scalar>
double RidgeMap<Scalar>::largest_scratch_bytes() {
  return TeamPolicy::scratch_size_max(1) - 4096;  // what rounding up to cache lines may add
}

template <class Scalar>
double RidgeMap<Scalar>::forward_operations(int heads, int basis, int batch, int width) {
  const double k = basis, d = width, n = std::min(basis, width);
  const double products = basis <= width ? 3 * k * k * d : 2 * k * d * d;
  return 2.0 * heads * batch * (products + n * n * n / 3 + n * n * k);
}

template <class Scalar>
double RidgeMap<Scalar>::backward_operations(int heads, int basis, int batch, int width) {
  const double k = basis, d = width, n = std::min(basis, width);
  const double products = basis <= width ? 5 * k * k * d + 2 * k * k * k : 4 * k * d * d;
  return 2.0 * heads * batch * (products + n * n * k);
}

template class RidgeMap<float>;
template class RidgeMap<double>;

}  // namespace ridgeline

#include "math/gemm.hpp"

#include <KokkosKernels_config.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

#include "core/kokkos.hpp"
#include "math/counted.hpp"
#include "math/fetch.hpp"
#include "math/lanes.hpp"
#include "math/transpose.hpp"

#ifdef KOKKOSKERNELS_ENABLE_TPL_BLAS
#include <KokkosBlas_Host_tpl.hpp>
#endif
#if defined(KOKKOSKERNELS_ENABLE_TPL_CUBLAS) || defined(KOKKOSKERNELS_ENABLE_TPL_ROCBLAS)
#include <KokkosBlas_tpl_spec.hpp>
#endif
#ifdef RIDGELINE_HAS_ONEDNN
#include <dnnl.h>
#endif

#ifndef KOKKOS_ENABLE_OPENMP
// OpenMP's controls of the threads that oneDNN and OpenBLAS use; null where neither brought OpenMP in.
extern "C" {
__attribute__((weak)) void omp_set_num_threads(int threads);
__attribute__((weak)) int omp_get_max_threads();
}
#endif

namespace ridgeline {
namespace detail {
namespace {

// Not host_reads_memory: that also holds for a GPU's managed memory.
constexpr bool on_host = std::is_same_v<Execution, Kokkos::DefaultHostExecutionSpace>;

#ifdef KOKKOSKERNELS_ENABLE_TPL_BLAS
constexpr bool has_blas = true;
#else
constexpr bool has_blas = false;
#endif

#ifdef KOKKOS_ENABLE_OPENMP
constexpr bool on_openmp = std::is_same_v<Execution, Kokkos::OpenMP>;
#else
constexpr bool on_openmp = false;
#endif

}  // namespace

// ---- a Kokkos kernel, for any device ----------------------------------------------------------------------------

/// One team computes one tile of one target. The tile's elements are dealt to the threads in groups of micro x micro,
/// `step` apart in both directions, so that neighbouring threads touch neighbouring elements and each value that is
/// read from scratch serves `micro` products.
template <class Scalar>
struct TiledProduct {
  using Policy = Kokkos::TeamPolicy<Execution, Kokkos::LaunchBounds<256>>;
  using Team = typename Policy::member_type;
  using Scratch = Kokkos::View<Scalar**, Kokkos::LayoutRight, typename Execution::scratch_memory_space,
                               Kokkos::MemoryTraits<Kokkos::Unmanaged>>;

  static constexpr int step = 16;                            // groups along a side of the tile
  static constexpr int micro = sizeof(Scalar) == 4 ? 4 : 2;  // tile, a and b pieces: 24 KiB of scratch or less
  static constexpr int side = step * micro;                  // elements along a side of the tile
  static constexpr int depth = 16;                           // of the inner dimension at a time
  static constexpr int groups = step * step;

  Product product;
  Factor<Scalar> a, b;
  Target<Scalar> target;
  Scale<Scalar> scale;
  int tiles_down, tiles_across;

  static std::size_t scratch_bytes() {
    return Scratch::shmem_size(side, side) + Scratch::shmem_size(side, depth) + Scratch::shmem_size(depth, side);
  }

  KOKKOS_INLINE_FUNCTION static Scalar element(const Factor<Scalar>& factor, int matrix, int row, int column) {
    const std::int64_t major = factor.op == Op::none ? row : column;
    const std::int64_t minor = factor.op == Op::none ? column : row;
    return factor.data[matrix * factor.stride + major * factor.leading + minor];
  }

  KOKKOS_INLINE_FUNCTION void operator()(const Team& team) const {
    const int tiles = tiles_down * tiles_across;
    const int matrix = team.league_rank() / tiles;
    const int tile = team.league_rank() % tiles;
    const int first_row = tile / tiles_across * side;
    const int first_column = tile % tiles_across * side;

    Scratch sum(team.team_scratch(0), side, side);
    Scratch left(team.team_scratch(0), side, depth);
    Scratch right(team.team_scratch(0), depth, side);

    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, side * side),
                         [&](int i) { sum(i / side, i % side) = Scalar(0); });
    for (int first = 0; first < product.inner; first += depth) {
      load(team, left, a, matrix, {first_row, first}, {product.rows, product.inner});
      load(team, right, b, matrix, {first, first_column}, {product.inner, product.columns});
      team.team_barrier();
      Kokkos::parallel_for(Kokkos::TeamThreadRange(team, groups),
                           [&](int group) { accumulate(sum, left, right, group / step, group % step); });
      team.team_barrier();
    }
    store(team, sum, matrix, first_row, first_column);
  }

  struct Corner {
    int row, column;
  };

  /// Copies the piece of a factor that starts at `first`, zeros beyond its `size`. Neighbouring threads read
  /// neighbouring memory, whichever way the factor is stored.
  KOKKOS_INLINE_FUNCTION void load(const Team& team, const Scratch& piece, const Factor<Scalar>& factor, int matrix,
                                   Corner first, Corner size) const {
    const int high = static_cast<int>(piece.extent(0));
    const int wide = static_cast<int>(piece.extent(1));
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, high * wide), [&](int i) {
      const int r = factor.op == Op::none ? i / wide : i % high;
      const int c = factor.op == Op::none ? i % wide : i / high;
      const int row = first.row + r;
      const int column = first.column + c;
      piece(r, c) = row < size.row && column < size.column ? element(factor, matrix, row, column) : Scalar(0);
    });
  }

  KOKKOS_INLINE_FUNCTION void accumulate(const Scratch& sum, const Scratch& left, const Scratch& right, int row,
                                         int column) const {
    Scalar partial[micro][micro];
    for (int i = 0; i < micro; ++i) {
      for (int j = 0; j < micro; ++j) partial[i][j] = sum(row + i * step, column + j * step);
    }
    for (int k = 0; k < depth; ++k) {
      for (int i = 0; i < micro; ++i) {
        for (int j = 0; j < micro; ++j) partial[i][j] += left(row + i * step, k) * right(k, column + j * step);
      }
    }
    for (int i = 0; i < micro; ++i) {
      for (int j = 0; j < micro; ++j) sum(row + i * step, column + j * step) = partial[i][j];
    }
  }

  KOKKOS_INLINE_FUNCTION void store(const Team& team, const Scratch& sum, int matrix, int first_row,
                                    int first_column) const {
    team.team_barrier();  // with inner = 0 nothing else stands between the zeros and here
    Kokkos::parallel_for(Kokkos::TeamThreadRange(team, side * side), [&](int i) {
      const int row = first_row + i / side;
      const int column = first_column + i % side;
      if (row < product.rows && column < product.columns) {
        Scalar& out = target.data[matrix * target.stride + static_cast<std::int64_t>(row) * target.leading + column];
        const Scalar product_here = scale.alpha * sum(i / side, i % side);
        out = scale.beta == Scalar(0) ? product_here : product_here + scale.beta * out;
      }
    });
  }
};

template <class Scalar>
void gemm_tiled(const Product& product, Factor<Scalar> a, Factor<Scalar> b, Target<Scalar> target,
                Scale<Scalar> scale) {
  using Kernel = TiledProduct<Scalar>;
  const int tiles_down = (product.rows + Kernel::side - 1) / Kernel::side;
  const int tiles_across = (product.columns + Kernel::side - 1) / Kernel::side;
  const Kernel kernel{product, a, b, target, scale, tiles_down, tiles_across};
  typename Kernel::Policy policy(tiles_down * tiles_across * product.count, on_host ? 1 : Kernel::groups);
  policy.set_scratch_size(0, Kokkos::PerTeam(static_cast<int>(Kernel::scratch_bytes())));
  Kokkos::parallel_for("ridgeline::gemm/tiled", policy, kernel);
}

template void gemm_tiled(const Product&, Factor<float>, Factor<float>, Target<float>, Scale<float>);
template void gemm_tiled(const Product&, Factor<double>, Factor<double>, Target<double>, Scale<double>);

// ---- libraries on the host --------------------------------------------------------------------------------------

bool gemm_by_library(Library library, const Product& product, Factor<float> a, Factor<float> b, Target<float> target,
                     Scale<float> scale) {
  if (!on_host) return false;  // their memory is not the host's
  const auto letter = [](Op op) { return op == Op::none ? 'N' : 'T'; };
#ifdef RIDGELINE_HAS_ONEDNN
  if (library == Library::onednn) {
    return dnnl_sgemm(letter(a.op), letter(b.op), product.rows, product.columns, product.inner, scale.alpha, a.data,
                      a.leading, b.data, b.leading, scale.beta, target.data, target.leading) == dnnl_success;
  }
#endif
#ifdef KOKKOSKERNELS_ENABLE_TPL_BLAS
  // BLAS is column-major: there, a row-major matrix is its transpose, so the factors change places.
  if (library == Library::blas) {
    KokkosBlas::Impl::HostBlas<float>::gemm(letter(b.op), letter(a.op), product.columns, product.rows, product.inner,
                                            scale.alpha, b.data, b.leading, a.data, a.leading, scale.beta, target.data,
                                            target.leading);
    return true;
  }
#endif
  return false;
}

bool gemm_by_library(Library library, const Product& product, Factor<double> a, Factor<double> b, Target<double> target,
                     Scale<double> scale) {
  if (!on_host) return false;
#ifdef KOKKOSKERNELS_ENABLE_TPL_BLAS
  const auto letter = [](Op op) { return op == Op::none ? 'N' : 'T'; };
  if (library == Library::blas) {
    KokkosBlas::Impl::HostBlas<double>::gemm(letter(b.op), letter(a.op), product.columns, product.rows, product.inner,
                                             scale.alpha, b.data, b.leading, a.data, a.leading, scale.beta, target.data,
                                             target.leading);
    return true;
  }
#endif
  return false;
}

namespace {

/// The libraries' OpenMP threads are as many as the execution space's for as long as this lives. Kokkos' OpenMP space
/// has seen to that itself; under the others (Serial above all) they would take every core.
class LibraryThreads {
 public:
  LibraryThreads() {
    if (on_openmp) return;
#ifndef KOKKOS_ENABLE_OPENMP
    if (omp_set_num_threads == nullptr || omp_get_max_threads == nullptr) return;
#endif
    before_ = omp_get_max_threads();
    omp_set_num_threads(Execution().concurrency());
  }
  ~LibraryThreads() {
    if (before_ > 0) omp_set_num_threads(before_);
  }
  LibraryThreads(const LibraryThreads&) = delete;
  LibraryThreads& operator=(const LibraryThreads&) = delete;

 private:
  int before_ = 0;
};

/// Whether `count` products are done sooner one a thread than one after another on all threads, which costs a start
/// and a wait for each: measured as the time of half a million operations. oneDNN and OpenBLAS use one thread inside
/// an OpenMP region, and only there.
[[maybe_unused]] bool one_a_thread(const Product& product, int count, int threads) {
  if (!on_openmp || threads == 1 || count == 1) return false;
  const double operations = 2.0 * product.rows * product.columns * product.inner;
  const int rounds = (count + threads - 1) / threads;
  return rounds * operations <= count * (operations / threads + 5e5);
}

constexpr int fewest = 4;  // of the inner dimension that are worth a library's packing

/// A product over at most `fewest`, row by row: a bias, a channel or two that come in or go out. The libraries take up to
/// ten times as long.
template <class Scalar>
void gemm_of_few(const Product& product, const Factor<Scalar>& a, const Factor<Scalar>& b, const Target<Scalar>& target,
                 const Scale<Scalar>& scale) {
  const auto at = [](const Factor<Scalar>& factor, std::int64_t row, std::int64_t column) {
    return factor.data[factor.op == Op::none ? row * factor.leading + column : column * factor.leading + row];
  };
  constexpr int tile = 256;
  Scalar right[fewest][tile], sum[tile];
  for (int first = 0; first < product.columns; first += std::min(tile, product.columns - first)) {
    const int columns = std::min(tile, product.columns - first);
    for (int k = 0; k < product.inner; ++k)
      for (int j = 0; j < columns; ++j) right[k][j] = at(b, k, first + j);
    for (int i = 0; i < product.rows; ++i) {
      RIDGELINE_SIMD()
      for (int j = 0; j < columns; ++j) sum[j] = 0;
      for (int k = 0; k < product.inner; ++k) {
        const Scalar factor = scale.alpha * at(a, i, k);
        RIDGELINE_SIMD()
        for (int j = 0; j < columns; ++j) sum[j] += factor * right[k][j];
      }
      Scalar* out = target.data + std::int64_t{i} * target.leading + first;
      const auto write = [=](auto value) {
        RIDGELINE_SIMD()
        for (int j = 0; j < columns; ++j) out[j] = value(j);
      };
      const Scalar *from = sum, beta = scale.beta;
      if (beta == 0)
        write([=](int j) { return from[j]; });
      else
        write([=](int j) { return from[j] + beta * out[j]; });
    }
  }
}

/// A second factor that is stored as its transpose, turned in memory of the thread's own, where that is small and serves
/// enough rows: oneDNN takes a tenth longer, or a third of small products, to turn it itself.
template <class Scalar>
Factor<Scalar> turned(const Product& product, const Factor<Scalar>& b) {
  constexpr std::size_t most = std::size_t{5} << 14;
  constexpr int fewest_rows = 32, fewest_columns = 16, line = 64 / sizeof(Scalar), apart = 1024 / sizeof(Scalar);
  const int room =
      product.columns % apart == 0 ? product.columns + line : product.columns;  // not on the same few lines
  const std::size_t size = static_cast<std::size_t>(room) * product.inner;
  if constexpr (std::is_same_v<Scalar, float>) {
    if (b.op == Op::none || product.rows < fewest_rows || product.columns < fewest_columns || size > most) return b;
    static thread_local std::unique_ptr<Scalar[]> memory;
    if (memory == nullptr) memory.reset(new Scalar[most]);
    transpose(b.data, b.leading, product.columns, product.inner, memory.get(), room);
    return {memory.get(), room};
  }
  return b;
}

/// A product with at most `fewest` rows, or columns, whose other factor has its long rows side by side: the gradient of a
/// map from or to a channel or two. The libraries take three times as long. Sums go over some of the inner dimension first,
/// and then over those sums, as a library's do.
template <class Scalar>
struct ToFew {
  const Scalar* wide;  ///< [inner, length]
  std::int64_t wide_leading;
  Factor<Scalar> thin;  ///< as it enters
  bool thin_is_left;
  int few, length, inner;

  Scalar factor(int i, int k) const {
    const bool by_inner = thin_is_left == (thin.op == Op::transpose);  // [inner, few], else [few, inner]
    return thin.data[by_inner ? k * thin.leading + i : i * thin.leading + k];
  }

  void operator()(const Target<Scalar>& target, const Scale<Scalar>& scale) const {
    constexpr int tile = 64, block = 256;
    for (int first = 0; first < length; first += tile) {
      const int own = std::min(tile, length - first);
      Scalar total[fewest][tile] = {};
      for (int begin = 0; begin < inner; begin += std::min(block, inner - begin)) {
        Scalar sum[fewest][tile] = {};
        for (int k = begin; k < begin + std::min(block, inner - begin); ++k)
          for (int i = 0; i < few; ++i) add(sum[i], factor(i, k), wide + k * wide_leading + first, own);
        for (int i = 0; i < few; ++i) add(total[i], Scalar(1), sum[i], own);
      }
      for (int i = 0; i < few; ++i)
        for (int j = 0; j < own; ++j) {
          const std::int64_t row = thin_is_left ? i : first + j, column = thin_is_left ? first + j : i;
          Scalar& out = target.data[row * target.leading + column];
          out = scale.alpha * total[i][j] + (scale.beta == 0 ? Scalar(0) : scale.beta * out);
        }
    }
  }

  static void add(Scalar* sum, Scalar factor, const Scalar* from, int count) {
    RIDGELINE_SIMD()
    for (int j = 0; j < count; ++j) sum[j] += factor * from[j];
  }
};

/// Whether it was such a product.
template <class Scalar>
bool gemm_to_few(const Product& p, const Factor<Scalar>& a, const Factor<Scalar>& b, const Target<Scalar>& target,
                 const Scale<Scalar>& scale) {
  if (p.rows <= fewest && b.op == Op::none)
    ToFew<Scalar>{b.data, b.leading, a, true, p.rows, p.columns, p.inner}(target, scale);
  else if (p.columns <= fewest && a.op == Op::transpose)
    ToFew<Scalar>{a.data, a.leading, b, false, p.columns, p.rows, p.inner}(target, scale);
  else
    return false;
  return true;
}

template <class Scalar>
void gemm_on_a_thread(const Product& product, const Factor<Scalar>& a, const Factor<Scalar>& b,
                      const Target<Scalar>& target, const Scale<Scalar>& scale) {
  if (product.inner <= fewest) {
    gemm_of_few(product, a, b, target, scale);
    return;
  }
  if (gemm_to_few(product, a, b, target, scale)) return;
  const Factor<Scalar> right = turned(product, b);
  if (!gemm_by_library(Library::onednn, product, a, right, target, scale))
    gemm_by_library(Library::blas, product, a, right, target, scale);
}

// Static: the same thread has the same part of the work on every call.
using HostRange = Kokkos::RangePolicy<Execution, Kokkos::Schedule<Kokkos::Static>>;

/// One product with its target's rows, or its columns where they are many more, dealt to the threads in equal parts. The
/// libraries cut the target both ways, and then neither part has a factor to itself: on two threads they took up to a
/// fifth longer. Thin products are theirs, but for those of few.
template <class Scalar>
void gemm_in_parts(const Product& product, const Factor<Scalar>& a, const Factor<Scalar>& b,
                   const Target<Scalar>& target, const Scale<Scalar>& scale, int threads) {
  constexpr int step = 16, thin = 16;  // rows and columns that a library's innermost loops take at a time
  const bool by_rows = product.columns < 4 * product.rows;
  const int length = by_rows ? product.rows : product.columns;
  const bool worth_it = product.inner <= fewest || product.inner >= thin;
  if (!on_openmp || threads == 1 || !worth_it || length < 2 * step * threads) {
    gemm_on_a_thread(product, a, b, target, scale);
    return;
  }
  const auto border = [=](int part) {
    return part == threads ? length : static_cast<int>(std::int64_t{length} * part / threads / step * step);
  };
  // The start of an operand's part: rows of the left factor, columns of the right one.
  const auto move = [](const Factor<Scalar>& factor, int begin, bool major) {
    return Factor<Scalar>{factor.data + (major ? std::int64_t{begin} * factor.leading : begin), factor.leading,
                          factor.op};
  };
  Kokkos::parallel_for("ridgeline::gemm/parts", HostRange(0, threads), [=](int part) {
    const int begin = border(part), size = border(part + 1) - begin;
    if (by_rows)
      gemm_on_a_thread({size, product.columns, product.inner}, move(a, begin, a.op == Op::none), b,
                       {target.data + std::int64_t{begin} * target.leading, target.leading}, scale);
    else
      gemm_on_a_thread({product.rows, size, product.inner}, a, move(b, begin, b.op == Op::transpose),
                       {target.data + begin, target.leading}, scale);
  });
}

/// Asks for a factor that is stored as its transpose, where the second cache has room for it: the libraries go through it
/// across its rows, and wait for each.
template <class Scalar>
void fetch_transposed(const Factor<Scalar>& factor, int rows, int columns) {
  constexpr std::size_t most = std::size_t{128} << 10;
  if (factor.op == Op::none || sizeof(Scalar) * rows * columns > most) return;
  for (int column = 0; column < columns; ++column) fetch(factor.data + std::int64_t{column} * factor.leading, rows);
}

template <class Scalar>
void gemm_on_host(const Product& product, const Factor<Scalar>& a, const Factor<Scalar>& b,
                  const Target<Scalar>& target, const Scale<Scalar>& scale) {
  const Product single{product.rows, product.columns, product.inner};
  const auto left = [=](int i) { return Factor<Scalar>{a.data + i * a.stride, a.leading, a.op}; };
  const auto right = [=](int i) { return Factor<Scalar>{b.data + i * b.stride, b.leading, b.op}; };
  const auto out = [=](int i) { return Target<Scalar>{target.data + i * target.stride, target.leading}; };
  const LibraryThreads as_many;
  const int threads = Execution().concurrency();
  const int even = product.count - product.count % threads;  // these keep every thread busy to the end
  int done = 0;
  for (int next : {even, product.count}) {
    if (next > done && one_a_thread(product, next - done, threads)) {
      Kokkos::parallel_for("ridgeline::gemm/batch", HostRange(done, next), [=](int i) {
        if (i + 1 < next && b.stride != 0) fetch_transposed(right(i + 1), single.inner, single.columns);
        gemm_on_a_thread(single, left(i), right(i), out(i), scale);
      });
      done = next;
    }
    for (; done < next; ++done) gemm_in_parts(single, left(done), right(done), out(done), scale, threads);
  }
}

// ---- a vendor's library on its device ----------------------------------------------------------------------------

// A batch whose matrices interleave is one call: the libraries ask only that no element is written twice. Factors
// change places as for BLAS.
#if defined(KOKKOS_ENABLE_CUDA) && defined(KOKKOSKERNELS_ENABLE_TPL_CUBLAS)
#define RIDGELINE_VENDOR_GEMM "Kokkos Kernels, cuBLAS"

cublasStatus_t strided(cublasHandle_t handle, cublasOperation_t first, cublasOperation_t second, const Product& p,
                       const Factor<float>& a, const Factor<float>& b, const Target<float>& t, const Scale<float>& s) {
  return cublasSgemmStridedBatched(handle, first, second, p.columns, p.rows, p.inner, &s.alpha, b.data, b.leading,
                                   b.stride, a.data, a.leading, a.stride, &s.beta, t.data, t.leading, t.stride,
                                   p.count);
}

cublasStatus_t strided(cublasHandle_t handle, cublasOperation_t first, cublasOperation_t second, const Product& p,
                       const Factor<double>& a, const Factor<double>& b, const Target<double>& t,
                       const Scale<double>& s) {
  return cublasDgemmStridedBatched(handle, first, second, p.columns, p.rows, p.inner, &s.alpha, b.data, b.leading,
                                   b.stride, a.data, a.leading, a.stride, &s.beta, t.data, t.leading, t.stride,
                                   p.count);
}

template <class Scalar>
void gemm_on_device(const Product& product, const Factor<Scalar>& a, const Factor<Scalar>& b,
                    const Target<Scalar>& target, const Scale<Scalar>& scale) {
  const auto letter = [](Op op) { return op == Op::none ? CUBLAS_OP_N : CUBLAS_OP_T; };
  cublasHandle_t handle = KokkosBlas::Impl::CudaBlasSingleton::singleton().handle;
  cublasSetStream(handle, Execution().cuda_stream());
  const cublasStatus_t status = strided(handle, letter(b.op), letter(a.op), product, a, b, target, scale);
  cublasSetStream(handle, nullptr);  // as Kokkos Kernels leaves it
  if (status != CUBLAS_STATUS_SUCCESS)
    throw std::runtime_error("gemm: cuBLAS failed with status " + std::to_string(status));
}

#elif defined(KOKKOS_ENABLE_HIP) && defined(KOKKOSKERNELS_ENABLE_TPL_ROCBLAS)
#define RIDGELINE_VENDOR_GEMM "Kokkos Kernels, rocBLAS"

rocblas_status strided(rocblas_handle handle, rocblas_operation first, rocblas_operation second, const Product& p,
                       const Factor<float>& a, const Factor<float>& b, const Target<float>& t, const Scale<float>& s) {
  return rocblas_sgemm_strided_batched(handle, first, second, p.columns, p.rows, p.inner, &s.alpha, b.data, b.leading,
                                       b.stride, a.data, a.leading, a.stride, &s.beta, t.data, t.leading, t.stride,
                                       p.count);
}

rocblas_status strided(rocblas_handle handle, rocblas_operation first, rocblas_operation second, const Product& p,
                       const Factor<double>& a, const Factor<double>& b, const Target<double>& t,
                       const Scale<double>& s) {
  return rocblas_dgemm_strided_batched(handle, first, second, p.columns, p.rows, p.inner, &s.alpha, b.data, b.leading,
                                       b.stride, a.data, a.leading, a.stride, &s.beta, t.data, t.leading, t.stride,
                                       p.count);
}

template <class Scalar>
void gemm_on_device(const Product& product, const Factor<Scalar>& a, const Factor<Scalar>& b,
                    const Target<Scalar>& target, const Scale<Scalar>& scale) {
  const auto letter = [](Op op) { return op == Op::none ? rocblas_operation_none : rocblas_operation_transpose; };
  rocblas_handle handle = KokkosBlas::Impl::RocBlasSingleton::singleton().handle;
  rocblas_set_stream(handle, Execution().hip_stream());
  const rocblas_status status = strided(handle, letter(b.op), letter(a.op), product, a, b, target, scale);
  rocblas_set_stream(handle, nullptr);  // as Kokkos Kernels leaves it
  if (status != rocblas_status_success)
    throw std::runtime_error("gemm: rocBLAS failed with status " + std::to_string(status));
}

#else

template <class Scalar>
void gemm_on_device(const Product& product, const Factor<Scalar>& a, const Factor<Scalar>& b,
                    const Target<Scalar>& target, const Scale<Scalar>& scale) {
  gemm_tiled(product, a, b, target, scale);
}

#endif

/// What Kokkos tools see of a library's products; not timed for the report, which has the layers.
struct ToolsRegion {
  ToolsRegion() {
    static const std::string name = "ridgeline::gemm";
    Kokkos::Profiling::pushRegion(name);
  }
  ~ToolsRegion() { Kokkos::Profiling::popRegion(); }
  ToolsRegion(const ToolsRegion&) = delete;
  ToolsRegion& operator=(const ToolsRegion&) = delete;
};

void require(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("gemm: ") + what);
}

}  // namespace
}  // namespace detail

double& counted_operations() {
  static double count = 0;
  return count;
}

double& counted_bytes() {
  static double count = 0;
  return count;
}

template <class Scalar>
void gemm(const Product& product, Factor<Scalar> a, Factor<Scalar> b, Target<Scalar> target, Scale<Scalar> scale) {
  const auto& [rows, columns, inner, count] = product;
  detail::require(rows >= 0 && columns >= 0 && inner >= 0 && count >= 0, "a size is negative");
  if (rows == 0 || columns == 0 || count == 0) return;
  detail::require(a.leading >= (a.op == Op::none ? inner : rows), "the first factor's rows overlap");
  detail::require(b.leading >= (b.op == Op::none ? columns : inner), "the second factor's rows overlap");
  detail::require(target.leading >= columns, "the target's rows overlap");
  detail::require(count == 1 || target.stride != 0, "several products have one target");

  counted_operations() += 2.0 * rows * columns * inner * count;
  const double targets = (scale.beta == Scalar(0) ? 1.0 : 2.0) * rows * columns;
  counted_bytes() +=
      static_cast<double>(sizeof(Scalar)) * count * (1.0 * rows * inner + 1.0 * inner * columns + targets);
  const detail::ToolsRegion region;
  if (inner == 0 || (detail::on_host && !detail::has_blas)) {
    detail::gemm_tiled(product, a, b, target, scale);  // of inner = 0 libraries make different things
  } else if constexpr (detail::on_host) {
    detail::gemm_on_host(product, a, b, target, scale);
  } else {
    detail::gemm_on_device(product, a, b, target, scale);
  }
}

template void gemm(const Product&, Factor<float>, Factor<float>, Target<float>, Scale<float>);
template void gemm(const Product&, Factor<double>, Factor<double>, Target<double>, Scale<double>);

template <class Scalar>
const char* gemm_backend() {
  if constexpr (detail::on_host) {
#ifdef RIDGELINE_HAS_ONEDNN
    if (std::is_same_v<Scalar, float>) {
      static const std::string name = [] {
        const dnnl_version_t* version = dnnl_version();
        return "oneDNN " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
               std::to_string(version->patch);
      }();
      return name.c_str();
    }
#endif
#ifdef KOKKOSKERNELS_ENABLE_TPL_BLAS
    return "Kokkos Kernels, BLAS";
#endif
  }
#ifdef RIDGELINE_VENDOR_GEMM
  return RIDGELINE_VENDOR_GEMM;
#else
  return "Kokkos kernel";
#endif
}

template const char* gemm_backend<float>();
template const char* gemm_backend<double>();

}  // namespace ridgeline

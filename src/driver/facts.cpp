#include "driver/facts.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <type_traits>

#include "core/kokkos.hpp"
#ifdef KOKKOS_ENABLE_OPENMP
#include <omp.h>
#endif
#include "driver/console.hpp"
#include "math/gemm.hpp"
#include "version.hpp"

namespace ridgeline {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

namespace {

/// How OpenMP's threads are bound, and what would be quicker: a line, or nothing where nothing is to be bound. The
/// program itself binds none: two programs that share a machine might end up on the same cores.
std::string binding_text() {
#ifdef KOKKOS_ENABLE_OPENMP
  const int threads = Execution().concurrency();
  if (!std::is_same_v<Execution, Kokkos::OpenMP> || threads == 1) return "";
  const bool bound = omp_get_proc_bind() != omp_proc_bind_false;
  const std::string text = bound ? "binding   to cores" : "binding   none";
  const int cores = omp_get_num_procs();  // that this process may use, hardware threads counted
  if (threads > cores) return text + fmt::format("; there are {} cores, and as many threads are quicker\n", cores);
  if (!bound) return text + "; on a machine of your own OMP_PROC_BIND=spread OMP_PLACES=cores is quicker\n";
  return text + "\n";
#else
  return "";
#endif
}

std::string backend_text() { return fmt::format("{}, Kokkos {}", Execution::name(), build_kokkos); }

}  // namespace

std::string machine_text() {
  return fmt::format(
      "back end  {}\nthreads   {}\n{}GEMM      {} in single, {} in double precision\nBLAS      {}\ncompiler  {}, "
      "{}{}{}",
      backend_text(), Execution().concurrency(), binding_text(), gemm_backend<float>(), gemm_backend<double>(),
      build_blas, build_compiler, build_type, *build_preset != '\0' ? ", preset " : "", build_preset);
}

Facts facts_of(const Experiment& experiment, std::size_t parameters, double seconds) {
  return {{"title", experiment.name},
          {"task", experiment.task},
          {"model", experiment.layers},
          {"parameters", fmt::format("{}", parameters)},
          {"precision", experiment.single_precision ? "single" : "double"},
          {"seed", fmt::format("{}", experiment.seed)},
          {"backend", backend_text()},
          {"threads", fmt::format("{}", Execution().concurrency())},
          {"GEMM", experiment.single_precision ? gemm_backend<float>() : gemm_backend<double>()},
          {"host", host_name()},
          {"date", fmt::format("{:%Y-%m-%d %H:%M:%S}", fmt::localtime(std::time(nullptr)))},
          {"duration", duration_text(seconds)},
          {"version", version}};
}

}  // namespace ridgeline

#include "driver/facts.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>

#include "core/kokkos.hpp"
#include "driver/console.hpp"
#include "math/gemm.hpp"
#include "version.hpp"

namespace ridgeline {

std::string host_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

namespace {

std::string backend_text() { return fmt::format("{}, Kokkos {}", Execution::name(), build_kokkos); }

}  // namespace

std::string machine_text() {
  return fmt::format(
      "back end  {}\nthreads   {}\nGEMM      {} in single, {} in double precision\nBLAS      {}\ncompiler  {}, {}{}{}",
      backend_text(), Execution().concurrency(), gemm_backend<float>(), gemm_backend<double>(), build_blas,
      build_compiler, build_type, *build_preset != '\0' ? ", preset " : "", build_preset);
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

// a = b + s c for working sets of many sizes: how fast each level of the caches, and main memory, is.
#include <fmt/format.h>

#include "math/rows.hpp"
#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

constexpr int piece = 4096;  // entries that a team takes at a time

/// a [count], with count a multiple of `piece`.
void triad(const Array& a, const Array& b, const Array& c) {
  const int pieces = static_cast<int>(a.extent(0) / piece);
  float* const to = a.data();
  const float *const first = b.data(), *const second = c.data();
  Kokkos::parallel_for(
      "ridgeline::perf/triad", one_team_each(pieces), KOKKOS_LAMBDA(const Team& team) {
        const std::size_t begin = static_cast<std::size_t>(team.league_rank()) * piece;
        float* out = to + begin;
        const float* x = first + begin;
        const float* y = second + begin;
        for_lanes(team, piece, [=](int i) { out[i] = x[i] + 0.5F * y[i]; });
      });
}

}  // namespace

void add_memory(std::vector<Kernel>& kernels) {
  for (std::size_t kibibytes = 192; kibibytes <= std::size_t{192} << 10; kibibytes *= 4) {
    const std::size_t count = kibibytes * 1024 / 12;
    Kernel kernel;
    kernel.name = fmt::format("memory {} KiB", kibibytes);
    kernel.operations = 2 * static_cast<double>(count);
    kernel.bytes = 12 * static_cast<double>(count);
    kernel.prepare = [=] {
      const Array a = filled(count), b = filled(count), c = filled(count);
      return [=] { triad(a, b, c); };
    };
    kernels.push_back(kernel);
  }
}

}  // namespace ridgeline::perf

// a = a + s b for working sets of many sizes: how fast each level of the caches, and main memory, is.
#include <fmt/format.h>

#include "math/rows.hpp"
#include "perf/kernels/kernel.hpp"

namespace ridgeline::perf {
namespace {

constexpr int piece = 4096;  // entries that a team takes at a time

/// Both of a multiple of `piece` entries.
void update(const Array& a, const Array& b) {
  float* const all = a.data();
  const float* const others = b.data();
  Kokkos::parallel_for(
      "ridgeline::perf/update", one_team_each(static_cast<int>(a.extent(0) / piece)), KOKKOS_LAMBDA(const Team& team) {
        const std::size_t begin = static_cast<std::size_t>(team.league_rank()) * piece;
        float* own = all + begin;
        const float* other = others + begin;
        for_lanes(team, piece, [=](int i) { own[i] += 1e-6F * other[i]; });
      });
}

}  // namespace

void add_memory(std::vector<Kernel>& kernels) {
  for (std::size_t kibibytes = 128; kibibytes <= std::size_t{128} << 10; kibibytes *= 4) {
    const std::size_t count = kibibytes * 1024 / 8;
    Kernel kernel;
    kernel.name = fmt::format("memory {} KiB", kibibytes);
    kernel.operations = 2 * static_cast<double>(count);
    kernel.bytes = 12 * static_cast<double>(count);
    kernel.footprint = 8 * static_cast<double>(count);
    kernel.in_step = false;
    kernel.prepare = [=] {
      const Array a = filled(count), b = filled(count);
      return [=] { update(a, b); };
    };
    kernels.push_back(kernel);
  }
}

}  // namespace ridgeline::perf

// What host code may reach, and where entries of a view lie.

#include "core/tensor.hpp"

#include <gtest/gtest.h>

#include <type_traits>

namespace ridgeline {
namespace {

/// A memory that no host reads, and a view of it.
struct Elsewhere {
  using memory_space = Elsewhere;
  using execution_space = Execution;
  using device_type = Kokkos::Device<execution_space, memory_space>;
  using size_type = std::size_t;
};
struct ViewElsewhere {
  using memory_space = Elsewhere;
};

// host_pointer compiles for the first two alone.
static_assert(host_reads<Kokkos::View<float*, Kokkos::HostSpace>>);
static_assert(host_reads<decltype(Kokkos::create_mirror_view(Kokkos::View<float*, Memory>()))>);
static_assert(!host_reads<ViewElsewhere>);
static_assert(host_reads<Tensor<float>> == host_reads_memory);

// A GPU's own memory is none of the host's; only where kernels run on the host is it the same.
static_assert(host_reads_memory || !std::is_same_v<Execution, Kokkos::DefaultHostExecutionSpace>);

TEST(Tensor, RowsLieOneBehindAnother) {
  const Kokkos::View<float***, Kokkos::LayoutRight, Memory> memory("memory", 3, 4, 5);
  const Tensor<float> tensor(memory.data(), 3, 4, 5);
  EXPECT_EQ(row_pointer(tensor, 2) - memory.data(), 40);
  EXPECT_EQ(row_pointer(rows_of(tensor), 11) - memory.data(), 55);
  EXPECT_EQ(row_pointer(Tensor<float>(), 0), nullptr);
}

}  // namespace
}  // namespace ridgeline

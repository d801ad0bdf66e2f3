# Everything that Ridgeline is linked to. Found packages are imported targets, so their headers are system headers and
# our warnings do not apply to them.

include(KokkosBackend)

if(POLICY CMP0167)
  cmake_policy(SET CMP0167 NEW) # Boost's own package file, not CMake's FindBoost
endif()
find_package(HDF5 REQUIRED COMPONENTS C)
find_package(Boost REQUIRED COMPONENTS program_options)
find_package(fmt REQUIRED)
find_package(spdlog REQUIRED)
# As C++20 {fmt} checks format strings at compile time, which nvcc cannot follow, and is constexpr only in part for nvcc.
if(ridgeline_backend STREQUAL Cuda)
  target_compile_definitions(ridgeline_options INTERFACE FMT_CONSTEVAL= FMT_USE_CONSTEXPR=1)
endif()

# `#pragma omp simd` means the same in a build without threads. (In device code it asks for OpenMP's run-time library.)
if(ridgeline_on_cpu)
  ridgeline_flag(-fopenmp-simd)
endif()

# oneDNN: a second GEMM, on CPUs only. Elsewhere Kokkos Kernels' cuBLAS or rocBLAS does the work.
set(RIDGELINE_HAS_ONEDNN OFF)
set(ridgeline_onednn none)
if(RIDGELINE_ONEDNN AND ridgeline_on_cpu)
  if(RIDGELINE_ONEDNN STREQUAL AUTO)
    find_package(oneDNN QUIET)
  else()
    find_package(oneDNN REQUIRED)
  endif()
  if(oneDNN_FOUND)
    set(RIDGELINE_HAS_ONEDNN ON)
    set(ridgeline_onednn ${oneDNN_VERSION})
  endif()
endif()

if(RIDGELINE_TESTS)
  find_package(GTest QUIET)
  if(NOT GTest_FOUND)
    message(STATUS "GoogleTest was not found: the tests are not built")
    set(RIDGELINE_TESTS OFF)
  endif()
endif()
if(RIDGELINE_BENCHMARKS)
  find_package(benchmark QUIET)
  if(NOT benchmark_FOUND)
    message(STATUS "Google Benchmark was not found: the micro-benchmarks are not built")
    set(RIDGELINE_BENCHMARKS OFF)
  endif()
endif()

message(STATUS "Kokkos ${Kokkos_VERSION} (${ridgeline_backend}), BLAS: ${ridgeline_blas}, oneDNN: ${ridgeline_onednn}")

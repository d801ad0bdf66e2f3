// What a plugin and the program must share to work together, as text put together by the compiler: a line a part,
// "part: value". It stands in the plugin's file, where it can be read before anything of the plugin runs.
#pragma once

#include <Kokkos_Macros.hpp>

#include "interface.hpp"

#define RIDGELINE_TEXT_OF(value) #value
#define RIDGELINE_TEXT(value) RIDGELINE_TEXT_OF(value)

#ifdef KOKKOS_ENABLE_SERIAL
#define RIDGELINE_HAS_SERIAL " Serial"
#else
#define RIDGELINE_HAS_SERIAL ""
#endif
#ifdef KOKKOS_ENABLE_OPENMP
#define RIDGELINE_HAS_OPENMP " OpenMP"
#else
#define RIDGELINE_HAS_OPENMP ""
#endif
#ifdef KOKKOS_ENABLE_THREADS
#define RIDGELINE_HAS_THREADS " Threads"
#else
#define RIDGELINE_HAS_THREADS ""
#endif
#ifdef KOKKOS_ENABLE_CUDA
#define RIDGELINE_HAS_CUDA " Cuda"
#else
#define RIDGELINE_HAS_CUDA ""
#endif
#ifdef KOKKOS_ENABLE_HIP
#define RIDGELINE_HAS_HIP " HIP"
#else
#define RIDGELINE_HAS_HIP ""
#endif
// Bounds checks change what a view is made of.
#ifdef KOKKOS_ENABLE_DEBUG_BOUNDS_CHECK
#define RIDGELINE_HAS_BOUNDS_CHECKS " checked"
#else
#define RIDGELINE_HAS_BOUNDS_CHECKS ""
#endif

#if defined(__clang__)
#define RIDGELINE_COMPILER "Clang " RIDGELINE_TEXT(__clang_major__)
#elif defined(__GNUC__)
#define RIDGELINE_COMPILER "GCC " RIDGELINE_TEXT(__GNUC__)
#else
#define RIDGELINE_COMPILER "another"
#endif

#if defined(_GLIBCXX_RELEASE)
#define RIDGELINE_STANDARD_LIBRARY \
  "libstdc++ " RIDGELINE_TEXT(_GLIBCXX_RELEASE) ", ABI " RIDGELINE_TEXT(_GLIBCXX_USE_CXX11_ABI)
#elif defined(_LIBCPP_VERSION)
#define RIDGELINE_STANDARD_LIBRARY "libc++ " RIDGELINE_TEXT(_LIBCPP_VERSION)
#else
#define RIDGELINE_STANDARD_LIBRARY "another"
#endif

#define RIDGELINE_FINGERPRINT \
  "Ridgeline's interface: " RIDGELINE_INTERFACE "\n"                                                              \
  "Kokkos: " RIDGELINE_TEXT(KOKKOS_VERSION) "\n"                                                                  \
  "back ends:" RIDGELINE_HAS_SERIAL RIDGELINE_HAS_OPENMP RIDGELINE_HAS_THREADS RIDGELINE_HAS_CUDA RIDGELINE_HAS_HIP \
      RIDGELINE_HAS_BOUNDS_CHECKS "\n"                                                                            \
  "compiler: " RIDGELINE_COMPILER "\n"                                                                            \
  "standard library: " RIDGELINE_STANDARD_LIBRARY "\n"                                                            \
  "scalar types: float double\n"

# What a user may choose with -D, and the target `ridgeline_options` that carries the resulting compile flags to every
# target of this project (and to nobody else's).

set(RIDGELINE_PRESET "" CACHE STRING "The preset that this folder is configured for (set by CMakePresets.json)")
set(RIDGELINE_BACKEND "" CACHE STRING "Required Kokkos back end: OpenMP, Serial, Cuda, HIP, ...; empty takes any")
option(RIDGELINE_BOUNDS_CHECKS "Require a Kokkos that checks the bounds of views" OFF)
option(RIDGELINE_NATIVE "Compile for this machine's CPU; turn off to run on other CPUs than the building one" ON)
option(RIDGELINE_WERROR "Treat warnings as errors" OFF)
option(RIDGELINE_CCACHE "Compile through ccache when it is installed" ON)
option(RIDGELINE_TESTS "Build the tests (when GoogleTest is found)" ON)
option(RIDGELINE_PLUGINS "Build the plugins under plugins/ along with the tests" ON)
option(RIDGELINE_BENCHMARKS "Build the micro-benchmarks (when Google Benchmark is found)" ON)
set(RIDGELINE_SANITIZE "" CACHE STRING "Watch memory and undefined behaviour (address), data races (thread), or nothing")
set_property(CACHE RIDGELINE_SANITIZE PROPERTY STRINGS "" address thread)
option(RIDGELINE_FUZZ "Build the fuzz targets, with clang, in place of tests and benchmarks" OFF)
set(RIDGELINE_ONEDNN AUTO CACHE STRING "oneDNN as a GEMM on CPUs: AUTO, ON or OFF")
set_property(CACHE RIDGELINE_ONEDNN PROPERTY STRINGS AUTO ON OFF)
set(RIDGELINE_INSTALL_KOKKOS AUTO CACHE STRING
    "Install Kokkos and Kokkos Kernels with Ridgeline: ON, OFF, or AUTO, which takes those that bootstrap built")
set_property(CACHE RIDGELINE_INSTALL_KOKKOS PROPERTY STRINGS AUTO ON OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
if(NOT CMAKE_CXX_STANDARD)
  set(CMAKE_CXX_STANDARD 17)
endif()
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
# Checked builds stay quick enough to run the whole suite.
set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g")

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)

if(RIDGELINE_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  find_program(RIDGELINE_CCACHE_PROGRAM ccache)
  mark_as_advanced(RIDGELINE_CCACHE_PROGRAM)
  if(RIDGELINE_CCACHE_PROGRAM)
    set(CMAKE_CXX_COMPILER_LAUNCHER ${RIDGELINE_CCACHE_PROGRAM})
  endif()
endif()

include(CheckCXXCompilerFlag)
include(CheckCXXSourceCompiles)
add_library(ridgeline_options INTERFACE)

# ridgeline_flag(FLAG): adds FLAG to the project's compile flags where the compiler knows it.
function(ridgeline_flag flag)
  string(MAKE_C_IDENTIFIER "RIDGELINE_KNOWS${flag}" known)
  check_cxx_compiler_flag(${flag} ${known})
  if(${known})
    target_compile_options(ridgeline_options INTERFACE ${flag})
  endif()
endfunction()

foreach(warning all extra pedantic shadow non-virtual-dtor overloaded-virtual cast-qual format=2 float-conversion
                vla unused)
  ridgeline_flag(-W${warning})
endforeach()
# GoogleTest's macros leave out what C++20 lets them leave out.
ridgeline_flag(-Wno-gnu-zero-variadic-macro-arguments)
# nvcc hands the host's compiler code of its own making, whose warnings are not ours.
if(RIDGELINE_WERROR AND NOT RIDGELINE_BACKEND STREQUAL Cuda)
  ridgeline_flag(-Werror)
  if(RIDGELINE_SANITIZE)
    ridgeline_flag(-Wno-error=maybe-uninitialized) # GCC sees some in the standard library that a sanitizer put there
  endif()
endif()

# No code here reads errno or floating-point exceptions, and both keep loops from vectorising. Not -ffast-math: sums
# keep their order, and NaN and infinity their meaning.
ridgeline_flag(-fno-math-errno)
ridgeline_flag(-fno-trapping-math)

if(RIDGELINE_NATIVE)
  ridgeline_flag(-march=native)
  set(CMAKE_REQUIRED_FLAGS -march=native)
  check_cxx_source_compiles("
    #ifndef __AVX512F__
    #error no AVX-512
    #endif
    int main() {}" RIDGELINE_CPU_HAS_AVX512)
  unset(CMAKE_REQUIRED_FLAGS)
  if(RIDGELINE_CPU_HAS_AVX512)
    ridgeline_flag(-mprefer-vector-width=512)
  endif()
endif()

# The sanitizers end a program at the first thing they find, so that a test which meets it fails.
set(sanitizers_address -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all)
set(sanitizers_thread -fsanitize=thread --param=tsan-distinguish-volatile=1
                      "SHELL:-include ${PROJECT_SOURCE_DIR}/tests/sanitizers/kokkos_spinwait.hpp")
if(RIDGELINE_SANITIZE)
  if(NOT DEFINED sanitizers_${RIDGELINE_SANITIZE})
    message(FATAL_ERROR "RIDGELINE_SANITIZE is \"${RIDGELINE_SANITIZE}\"; it can be address, thread or empty.")
  endif()
  target_compile_options(ridgeline_options INTERFACE ${sanitizers_${RIDGELINE_SANITIZE}} -fno-omit-frame-pointer)
  target_link_options(ridgeline_options INTERFACE ${sanitizers_${RIDGELINE_SANITIZE}})
endif()

if(RIDGELINE_FUZZ)
  # At -O1 clang says of every `omp simd` that it makes no vectors of it.
  target_compile_options(ridgeline_options INTERFACE -fsanitize=fuzzer-no-link -Wno-pass-failed)
endif()

if(CMAKE_BUILD_TYPE STREQUAL Debug)
  target_compile_definitions(ridgeline_options INTERFACE _GLIBCXX_ASSERTIONS)
endif()

# Flags that make kernels fast, for plugins: those of Ridgeline's own that are no warnings.
get_target_property(kernel_flags ridgeline_options INTERFACE_COMPILE_OPTIONS)
list(FILTER kernel_flags EXCLUDE REGEX "^-W")

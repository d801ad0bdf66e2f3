# Finds Kokkos and Kokkos Kernels and checks that they are what RIDGELINE_BACKEND and RIDGELINE_BOUNDS_CHECKS ask for.
# Used by the project, and by cmake/probe, with which `bootstrap` asks whether a Kokkos that the user has will do.
#
# Sets ridgeline_backend  the default execution space: Cuda, HIP, SYCL, OpenMPTarget, OpenMP, Threads or Serial
#      ridgeline_on_cpu   whether that is one of the host's
#      ridgeline_blas     a name for the BLAS behind Kokkos Kernels, or "none"

find_package(Kokkos 3.4.01 REQUIRED)
find_package(KokkosKernels 3.4.01 REQUIRED)

# Kokkos' own order of preference. Kokkos 3 spells Threads "PTHREAD" in this list.
set(ridgeline_backend none)
foreach(backend Cuda HIP SYCL OpenMPTarget OpenMP Threads PThread Serial)
  string(TOUPPER ${backend} device)
  if(device IN_LIST Kokkos_DEVICES)
    string(REPLACE PThread Threads ridgeline_backend ${backend})
    break()
  endif()
endforeach()
set(ridgeline_on_cpu OFF)
if(ridgeline_backend MATCHES "^(OpenMP|Threads|Serial)$")
  set(ridgeline_on_cpu ON)
endif()
if(RIDGELINE_BACKEND AND NOT ridgeline_backend STREQUAL RIDGELINE_BACKEND)
  message(FATAL_ERROR "The Kokkos in ${Kokkos_DIR} runs on ${ridgeline_backend}, but ${RIDGELINE_BACKEND} is asked "
                      "for. Name another with -D Kokkos_ROOT=..., or let ./bootstrap build one.")
endif()

if(RIDGELINE_BOUNDS_CHECKS AND NOT "DEBUG_BOUNDS_CHECK" IN_LIST Kokkos_OPTIONS)
  message(FATAL_ERROR "The Kokkos in ${Kokkos_DIR} was built without bounds checks: build it with "
                      "-D Kokkos_ENABLE_DEBUG_BOUNDS_CHECK=ON, or do without them by -D RIDGELINE_BOUNDS_CHECKS=OFF.")
endif()

get_target_property(ridgeline_kokkos_type Kokkos::kokkoscore TYPE)
if(ridgeline_kokkos_type STREQUAL STATIC_LIBRARY)
  message(FATAL_ERROR "The Kokkos in ${Kokkos_DIR} is a static library; a plugin that loads would bring a second one. "
                      "Build Kokkos with -D BUILD_SHARED_LIBS=ON.")
endif()

# On a CPU the BLAS, on a GPU the vendor's, without which a kernel of our own multiplies.
set(ridgeline_blas none)
set(blas_names BLAS)
if(NOT ridgeline_on_cpu)
  set(blas_names CUBLAS ROCBLAS)
endif()
foreach(name ${blas_names})
  foreach(blas Kokkos::${name} KokkosKernels::${name})
    if(TARGET ${blas})
      get_target_property(ridgeline_blas_libraries ${blas} INTERFACE_LINK_LIBRARIES)
      list(GET ridgeline_blas_libraries 0 ridgeline_blas)
    endif()
  endforeach()
endforeach()
if(ridgeline_blas MATCHES "openblas-openmp/|libopenblaso")
  set(ridgeline_blas "OpenBLAS (OpenMP)")
elseif(NOT ridgeline_blas STREQUAL none)
  get_filename_component(ridgeline_blas ${ridgeline_blas} NAME)
elseif(ridgeline_on_cpu)
  message(WARNING "The Kokkos Kernels in ${KokkosKernels_DIR} was built without a BLAS: matrix products will be slow")
endif()

# oneDNN, whose threads are OpenMP's, as the target oneDNN::oneDNN. Its own package file is not used: Debian's asks for
# OpenCL's headers, which nothing here needs.
#
# Sets oneDNN_FOUND, oneDNN_VERSION.

find_path(oneDNN_INCLUDE_DIR oneapi/dnnl/dnnl.hpp)
find_library(oneDNN_LIBRARY dnnl)
mark_as_advanced(oneDNN_INCLUDE_DIR oneDNN_LIBRARY)

set(oneDNN_OPENMP FALSE)
if(oneDNN_INCLUDE_DIR)
  file(STRINGS ${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h lines REGEX "define DNNL_VERSION_(MAJOR|MINOR|PATCH) ")
  string(REGEX REPLACE "[^0-9;]" "" oneDNN_VERSION "${lines}")
  string(REPLACE ";" "." oneDNN_VERSION "${oneDNN_VERSION}")
  file(STRINGS ${oneDNN_INCLUDE_DIR}/oneapi/dnnl/dnnl_config.h lines REGEX "define DNNL_CPU_THREADING_RUNTIME .*OMP")
  if(lines)
    set(oneDNN_OPENMP TRUE)
  endif()
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  oneDNN
  REQUIRED_VARS oneDNN_LIBRARY oneDNN_INCLUDE_DIR oneDNN_OPENMP
  VERSION_VAR oneDNN_VERSION)

if(oneDNN_FOUND AND NOT TARGET oneDNN::oneDNN)
  add_library(oneDNN::oneDNN UNKNOWN IMPORTED)
  set_target_properties(oneDNN::oneDNN PROPERTIES IMPORTED_LOCATION ${oneDNN_LIBRARY}
                                                  INTERFACE_INCLUDE_DIRECTORIES ${oneDNN_INCLUDE_DIR})
endif()

# `cmake --install build/NAME --prefix DIR`, after which DIR may be moved, its program runs without the build folder, and
# find_package(Ridgeline) gives Ridgeline::ridgeline.
#
# Kokkos and Kokkos Kernels go along where RIDGELINE_INSTALL_KOKKOS says so. AUTO takes those that `bootstrap` built: they
# lie in a cache that nobody else knows of. A system's or a module's stay where they are.

include(CMakePackageConfigHelpers)

# The prefix of a package from the folder of its CMake files, PREFIX/LIB/cmake/NAME.
get_filename_component(kokkos_prefix ${Kokkos_DIR}/../../.. ABSOLUTE)
get_filename_component(kernels_prefix ${KokkosKernels_DIR}/../../.. ABSOLUTE)
get_filename_component(kokkos_libdir ${Kokkos_DIR}/../.. ABSOLUTE)
get_filename_component(kokkos_libdir ${kokkos_libdir} NAME)

set(ridgeline_installs_kokkos ${RIDGELINE_INSTALL_KOKKOS})
if(RIDGELINE_INSTALL_KOKKOS STREQUAL AUTO)
  set(ridgeline_installs_kokkos OFF)
  # What `bootstrap` leaves in a Kokkos that it has built to the end.
  if(EXISTS ${kokkos_prefix}/complete AND kokkos_prefix STREQUAL kernels_prefix)
    set(ridgeline_installs_kokkos ON)
  endif()
endif()

# ridgeline_library_folders(RESULT TARGET...): the folders of the libraries behind targets, but those that the loader
# searches anyway.
function(ridgeline_library_folders result)
  set(folders "")
  foreach(library ${ARGN})
    if(TARGET ${library})
      get_target_property(links ${library} INTERFACE_LINK_LIBRARIES)
      get_target_property(files ${library} IMPORTED_LOCATION)
      get_target_property(configurations ${library} IMPORTED_CONFIGURATIONS)
      foreach(configuration ${configurations})
        get_target_property(file ${library} IMPORTED_LOCATION_${configuration})
        list(APPEND files ${file})
      endforeach()
      ridgeline_library_folders(more ${links} ${files})
      list(APPEND folders ${more})
    elseif(library MATCHES "^/.*[.]so")
      get_filename_component(folder ${library} DIRECTORY)
      list(APPEND folders ${folder})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES folders)
  list(REMOVE_ITEM folders ${CMAKE_CXX_IMPLICIT_LINK_DIRECTORIES} /lib /usr/lib /lib64 /usr/lib64)
  set(${result} ${folders} PARENT_SCOPE)
endfunction()

# Installed files find each other by relative paths, and the dependencies (OpenBLAS's OpenMP flavour among them, which
# the loader would not pick by itself) where they were when this was linked.
get_target_property(dependencies ridgeline LINK_LIBRARIES)
ridgeline_library_folders(dependency_folders ${dependencies})
set(install_rpath $ORIGIN)
file(RELATIVE_PATH from_bin /${CMAKE_INSTALL_BINDIR} /${CMAKE_INSTALL_LIBDIR})
set(program_rpath $ORIGIN/${from_bin})
if(ridgeline_installs_kokkos)
  list(REMOVE_ITEM dependency_folders ${kokkos_prefix}/${kokkos_libdir} ${kernels_prefix}/${kokkos_libdir})
  if(NOT kokkos_libdir STREQUAL CMAKE_INSTALL_LIBDIR)
    file(RELATIVE_PATH from_lib /${CMAKE_INSTALL_LIBDIR} /${kokkos_libdir})
    file(RELATIVE_PATH from_bin /${CMAKE_INSTALL_BINDIR} /${kokkos_libdir})
    list(APPEND install_rpath $ORIGIN/${from_lib})
    list(APPEND program_rpath $ORIGIN/${from_bin})
  endif()
endif()
set_target_properties(ridgeline PROPERTIES INSTALL_RPATH "${install_rpath};${dependency_folders}")
set_target_properties(ridgeline_program PROPERTIES INSTALL_RPATH "${program_rpath};${dependency_folders}")

# Where the installed package finds Kokkos: beside it, or where that is.
set(installed_kokkos_dir ${Kokkos_DIR})
if(ridgeline_installs_kokkos)
  set(installed_kokkos_dir "\${PACKAGE_PREFIX_DIR}/${kokkos_libdir}/cmake/Kokkos")
endif()
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Ridgeline)
install(TARGETS ridgeline EXPORT RidgelineTargets)
install(TARGETS ridgeline_program)
install(DIRECTORY src/ layers/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ridgeline FILES_MATCHING PATTERN *.hpp)
install(FILES ${PROJECT_BINARY_DIR}/generated/version.hpp ${PROJECT_BINARY_DIR}/generated/interface.hpp
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ridgeline)
install(DIRECTORY inputs DESTINATION ${CMAKE_INSTALL_DATADIR}/ridgeline FILES_MATCHING PATTERN *.ini
        PATTERN *.h5)

# The package as it is installed, and one for those who build against this build folder.
install(EXPORT RidgelineTargets NAMESPACE Ridgeline:: DESTINATION ${package_dir})
configure_package_config_file(
  cmake/RidgelineConfig.cmake.in install/RidgelineConfig.cmake INSTALL_DESTINATION ${package_dir}
  NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(RidgelineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
set(plugin_files cmake/RidgelinePlugin.cmake cmake/plugin_note.cpp.in)
install(FILES ${PROJECT_BINARY_DIR}/install/RidgelineConfig.cmake ${PROJECT_BINARY_DIR}/RidgelineConfigVersion.cmake
              ${plugin_files}
        DESTINATION ${package_dir})
export(EXPORT RidgelineTargets NAMESPACE Ridgeline:: FILE ${PROJECT_BINARY_DIR}/RidgelineTargets.cmake)
foreach(file ${plugin_files})
  configure_file(${file} ${PROJECT_BINARY_DIR} COPYONLY)
endforeach()
set(installed_kokkos_dir ${Kokkos_DIR})
configure_package_config_file(
  cmake/RidgelineConfig.cmake.in RidgelineConfig.cmake INSTALL_DESTINATION ${PROJECT_BINARY_DIR}
  INSTALL_PREFIX ${PROJECT_BINARY_DIR} NO_SET_AND_CHECK_MACRO)

# ridgeline_install_package(NAME PREFIX): headers, libraries, programs and CMake files of Kokkos or Kokkos Kernels.
function(ridgeline_install_package name prefix)
  if(prefix MATCHES "^(/|/usr|/usr/local)$")
    message(FATAL_ERROR "The ${name} in ${prefix} is the system's, which cannot be installed with Ridgeline: configure "
                        "with -D RIDGELINE_INSTALL_KOKKOS=OFF.")
  endif()
  install(DIRECTORY ${prefix}/include/ DESTINATION include)
  install(DIRECTORY ${prefix}/${kokkos_libdir}/ DESTINATION ${kokkos_libdir} FILES_MATCHING PATTERN libkokkos*)
  if(EXISTS ${prefix}/bin)
    install(DIRECTORY ${prefix}/bin/ DESTINATION bin USE_SOURCE_PERMISSIONS)
  endif()
  # The CMake files, with what they know of the old prefix made relative.
  file(GLOB files ${prefix}/${kokkos_libdir}/cmake/${name}/*.cmake)
  foreach(file ${files})
    get_filename_component(file_name ${file} NAME)
    file(READ ${file} text)
    set(here CMAKE_CURRENT_LIST_DIR)
    if(file_name STREQUAL KokkosConfigCommon.cmake) # inside a function, where the other is the caller's
      set(here CMAKE_CURRENT_FUNCTION_LIST_DIR)
    endif()
    foreach(old ${kokkos_prefix} ${kernels_prefix})
      string(REPLACE "${old}" "\${${here}}/../../.." text "${text}")
    endforeach()
    file(WRITE ${PROJECT_BINARY_DIR}/${name}/${file_name} "${text}")
    install(FILES ${PROJECT_BINARY_DIR}/${name}/${file_name} DESTINATION ${kokkos_libdir}/cmake/${name})
  endforeach()
endfunction()

if(ridgeline_installs_kokkos)
  ridgeline_install_package(Kokkos ${kokkos_prefix})
  ridgeline_install_package(KokkosKernels ${kernels_prefix})
endif()

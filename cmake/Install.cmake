# `cmake --install build/NAME --prefix DIR`, after which find_package(Ridgeline) gives Ridgeline::ridgeline.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Ridgeline)
install(TARGETS ridgeline EXPORT RidgelineTargets)
install(TARGETS ridgeline_program)
foreach(folder src layers)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder})
    install(DIRECTORY ${folder}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ridgeline FILES_MATCHING PATTERN *.hpp)
  endif()
endforeach()
install(FILES ${PROJECT_BINARY_DIR}/generated/version.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/ridgeline)

install(EXPORT RidgelineTargets NAMESPACE Ridgeline:: DESTINATION ${package_dir})
configure_package_config_file(cmake/RidgelineConfig.cmake.in RidgelineConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(RidgelineConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/RidgelineConfig.cmake ${PROJECT_BINARY_DIR}/RidgelineConfigVersion.cmake
        DESTINATION ${package_dir})

# Each tests/fuzz/NAME_fuzz.cpp becomes the program build/PRESET/bin/NAME_fuzz, which tests/fuzz/run runs.

if(NOT CMAKE_CXX_COMPILER_ID STREQUAL Clang)
  message(FATAL_ERROR "RIDGELINE_FUZZ needs clang, for its libFuzzer: configure with -D CMAKE_CXX_COMPILER=clang++.")
endif()

file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*_fuzz.cpp)
foreach(source ${fuzz_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source} tests/fuzz/support.cpp)
  target_link_libraries(${name} PRIVATE Ridgeline::ridgeline ridgeline_options hdf5::hdf5)
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
endforeach()

enable_testing()
add_test(NAME fuzz COMMAND ${PROJECT_SOURCE_DIR}/tests/fuzz/run 30 ${PROJECT_BINARY_DIR}/bin)
set_tests_properties(fuzz PROPERTIES LABELS fuzz TIMEOUT 900)

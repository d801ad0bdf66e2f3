# tests/loaded: plugins for the tests, most of them with something wrong, in build/NAME/loaded. ridgeline_add_plugin as a
# user has it.

include(RidgelinePlugin)
set(RIDGELINE_KERNEL_FLAGS ${kernel_flags})
set(ridgeline_test_plugins "")
foreach(name softsign cautious taken misplaced options_twice throwing silent missing_symbol bursting
             first_of_two second_of_two own_fmt careless wrong_slope perishing unruly forgetful)
  ridgeline_add_plugin(loaded_${name} SOURCES ${PROJECT_SOURCE_DIR}/tests/loaded/${name}.cpp VERSION 2.5)
  list(APPEND ridgeline_test_plugins loaded_${name})
endforeach()
target_compile_options(loaded_cautious PRIVATE -O0 -D_GLIBCXX_ASSERTIONS)
# Its note is its own; and one without any.
add_library(loaded_stale MODULE ${PROJECT_SOURCE_DIR}/tests/loaded/stale.cpp)
target_link_libraries(loaded_stale PRIVATE Ridgeline::ridgeline)
add_library(loaded_bare MODULE ${PROJECT_SOURCE_DIR}/tests/loaded/silent.cpp)
list(APPEND ridgeline_test_plugins loaded_stale loaded_bare)
set_target_properties(
  ${ridgeline_test_plugins} PROPERTIES PREFIX "" SUFFIX ".so"
                                       LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/loaded)

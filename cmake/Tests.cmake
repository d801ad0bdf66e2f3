# tests/unit, tests/layers, tests/conform, tests/plugins and tests/program become one GoogleTest program each;
# tests/reference_check is a program of its own. A new file in one of them is found by itself. Labels: unit, layers,
# conform, plugins, program, reference; one_thread marks the second pass of the first four. tests/bootstrap tests the
# set-up's own functions, under label bootstrap; tests/install what is installed, under label install; tests/perf the
# commands of perf/, under label perf.

include(GoogleTest)

set(test_threads 1)
if(ridgeline_backend MATCHES "^(OpenMP|Threads)$")
  set(test_threads 2)
endif()

# A sanitizer makes tests several times as long. Stack memory that outlives its function is not looked for: up to GCC 13
# the stack that is made up for it is not aligned as AVX-512's moves need it (GCC's bug 110027).
set(sanitizer_environment "")
set(test_seconds 120)
if(RIDGELINE_SANITIZE)
  set(test_seconds 900)
  set(sanitizer_environment
      "ASAN_OPTIONS=detect_stack_use_after_return=0:check_initialization_order=1:strict_string_checks=1"
      "UBSAN_OPTIONS=print_stacktrace=1"
      "TSAN_OPTIONS=halt_on_error=1:ignore_noninstrumented_modules=1:report_thread_leaks=0")
endif()

# What the test programs and the reference check share.
file(GLOB_RECURSE support_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/support/*.cpp)
add_library(ridgeline_test_support STATIC ${support_sources})
target_include_directories(ridgeline_test_support PUBLIC ${PROJECT_SOURCE_DIR}/tests)
target_link_libraries(ridgeline_test_support PUBLIC Ridgeline::ridgeline hdf5::hdf5 fmt::fmt PRIVATE ridgeline_options)

# ridgeline_test_program(NAME FOLDER): build/NAME/bin/NAME from tests/FOLDER/*.cpp and the common tests/main.cpp.
function(ridgeline_test_program name folder)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/${folder}/*.cpp)
  if(NOT sources)
    return()
  endif()
  add_executable(${name} ${PROJECT_SOURCE_DIR}/tests/main.cpp ${sources})
  target_link_libraries(${name} PRIVATE ridgeline_test_support ridgeline_options GTest::gtest)
  target_compile_definitions(
    ${name} PRIVATE RIDGELINE_SOURCE_DIR="${PROJECT_SOURCE_DIR}" RIDGELINE_BINARY_DIR="${PROJECT_BINARY_DIR}"
                    RIDGELINE_PROGRAM="$<TARGET_FILE:ridgeline_program>")
  ridgeline_discover(${name} ${folder} ${test_threads})
  if(test_threads EQUAL 2 AND NOT folder STREQUAL program AND NOT RIDGELINE_SANITIZE)
    ridgeline_discover(${name} ${folder} 1)
  endif()
endfunction()

# ridgeline_environment(VARIABLE THREADS): the environment of a test that runs with that many threads. They are not bound
# to cores, so that two tests at once do not share one, and do not spin while they wait for each other, which on a busy
# machine takes ten times as long.
function(ridgeline_environment variable threads)
  set(environment "OMP_NUM_THREADS=${threads};OMP_PROC_BIND=false;OMP_WAIT_POLICY=passive")
  if(ridgeline_backend STREQUAL Threads)
    list(APPEND environment KOKKOS_NUM_THREADS=${threads})
  endif()
  list(APPEND environment ${sanitizer_environment})
  set(${variable} "${environment}" PARENT_SCOPE)
endfunction()

# ridgeline_discover(NAME LABEL THREADS): registers each test of the program once, to run with that many threads.
# PROCESSORS keeps `ctest -j` from running more threads at once than it was told. Properties that are lists do not survive
# gtest_discover_tests: they are set by a file that CTest reads after the tests' own. A suite whose name ends in Slow has
# the label slow as well.
function(ridgeline_discover name label threads)
  ridgeline_environment(environment ${threads})
  set(labels ${label})
  set(suffix "")
  if(threads LESS test_threads)
    list(APPEND labels one_thread)
    set(suffix "/threads:1")
  endif()
  set(tests ${name}_on_${threads})
  gtest_discover_tests(
    ${name}
    TEST_SUFFIX "${suffix}"
    TEST_LIST ${tests}
    WORKING_DIRECTORY ${PROJECT_BINARY_DIR}
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT ${test_seconds} PROCESSORS ${threads})
  file(WRITE ${PROJECT_BINARY_DIR}/${tests}.cmake "
    foreach(test IN LISTS ${tests})
      set(labels \"${labels}\")
      if(test MATCHES \"^[A-Za-z]*Slow[.]\")
        list(APPEND labels slow)
      endif()
      set_tests_properties(\"\${test}\" PROPERTIES LABELS \"\${labels}\" ENVIRONMENT \"${environment}\")
    endforeach()")
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY TEST_INCLUDE_FILES ${PROJECT_BINARY_DIR}/${tests}.cmake)
endfunction()

ridgeline_test_program(unit_tests unit)
ridgeline_test_program(layer_tests layers)
ridgeline_test_program(conform_tests conform)
ridgeline_test_program(program_tests program)
include(TestPlugins)
# Tools for Kokkos to load: tests/tools/NAME.cpp becomes build/NAME/tools/NAME.so.
foreach(tool watch mark)
  add_library(${tool} MODULE tests/tools/${tool}.cpp)
  set_target_properties(${tool} PROPERTIES PREFIX "" SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tools)
endforeach()
if(TARGET program_tests)
  add_dependencies(program_tests ridgeline_program ${ridgeline_test_plugins} watch mark)
endif()

# plugins/NAME becomes build/NAME/plugins/NAME.so, which tests/plugins loads: the source and the function that a user has,
# without the project of its own around them.
if(RIDGELINE_PLUGINS)
  include(RidgelinePlugin)
  set(RIDGELINE_KERNEL_FLAGS ${kernel_flags})
  ridgeline_test_program(plugin_tests plugins)
  target_compile_definitions(plugin_tests PRIVATE RIDGELINE_PLUGIN_FOLDER="${PROJECT_BINARY_DIR}/plugins")
  file(GLOB plugin_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/plugins/*/*.cpp)
  foreach(source ${plugin_sources})
    get_filename_component(name ${source} NAME_WE)
    ridgeline_add_plugin(${name} SOURCES ${source})
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/plugins)
    add_dependencies(plugin_tests ${name})
    add_dependencies(program_tests ${name})
  endforeach()
endif()

file(GLOB_RECURSE reference_check_sources CONFIGURE_DEPENDS tests/reference_check/*.cpp)
if(reference_check_sources)
  add_executable(reference_check ${reference_check_sources})
  target_link_libraries(reference_check PRIVATE ridgeline_test_support ridgeline_options)
  target_compile_definitions(reference_check PRIVATE RIDGELINE_SOURCE_DIR="${PROJECT_SOURCE_DIR}")
  # From the source folder and without an argument: its default is tests/reference or RIDGELINE_REFERENCE_DIR.
  add_test(NAME reference COMMAND reference_check WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  ridgeline_environment(environment ${test_threads})
  set_tests_properties(reference PROPERTIES LABELS reference TIMEOUT 900 PROCESSORS ${test_threads}
                                            ENVIRONMENT "${environment}")
endif()

add_test(NAME bootstrap.source_lists COMMAND ${PROJECT_SOURCE_DIR}/tests/bootstrap/source_lists.sh)
set_tests_properties(bootstrap.source_lists PROPERTIES LABELS bootstrap TIMEOUT 60)

# The commands of perf/ are Python's; their programs run shortly where they are built.
find_package(Python3 3.9 QUIET COMPONENTS Interpreter)
if(Python3_Interpreter_FOUND)
  set(perf_build "")
  if(RIDGELINE_BENCHMARKS AND NOT RIDGELINE_SANITIZE)
    set(perf_build ${PROJECT_BINARY_DIR})
  endif()
  add_test(NAME perf COMMAND ${Python3_EXECUTABLE} -B ${PROJECT_SOURCE_DIR}/tests/perf/perf_test.py ${perf_build})
  ridgeline_environment(environment 1)
  set_tests_properties(perf PROPERTIES LABELS perf TIMEOUT ${test_seconds} ENVIRONMENT "${environment}")
endif()

# Are races seen, and is nothing taken for one?
if(RIDGELINE_SANITIZE STREQUAL thread)
  add_executable(race tests/sanitizers/race.cpp)
  target_link_libraries(race PRIVATE Ridgeline::ridgeline ridgeline_options)
  foreach(race none kernel team)
    add_test(NAME sanitizers.race.${race} COMMAND race ${race})
    ridgeline_environment(environment 2)
    set_tests_properties(sanitizers.race.${race} PROPERTIES LABELS sanitizers TIMEOUT ${test_seconds} PROCESSORS 2
                                                            ENVIRONMENT "${environment}")
  endforeach()
  set_tests_properties(sanitizers.race.kernel sanitizers.race.team
                       PROPERTIES PASS_REGULAR_EXPRESSION "data race .*race.cpp")
endif()

# A program under a sanitizer asks everything that loads its library to be under it too.
if(NOT RIDGELINE_SANITIZE)
  set(kokkos_to_hide "")
  if(ridgeline_installs_kokkos)
    set(kokkos_to_hide ${kokkos_prefix})
  endif()
  add_test(NAME install COMMAND ${PROJECT_SOURCE_DIR}/tests/install/installed.sh ${PROJECT_BINARY_DIR}
                                "${kokkos_to_hide}")
  set_tests_properties(install PROPERTIES LABELS install TIMEOUT 600 PROCESSORS 2)
endif()

# Each perf/NAME.cpp becomes the program build/PRESET/bin/NAME, together with perf/NAME/*.cpp. What they share is in
# perf/support. Includes name the path from the source folder: perf/ itself on the search path would give its commands,
# such as `compare`, to whoever includes a standard header of that name.

file(GLOB support_sources CONFIGURE_DEPENDS perf/support/*.cpp)
add_library(ridgeline_perf_support STATIC ${support_sources})
target_include_directories(ridgeline_perf_support PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(ridgeline_perf_support PUBLIC Ridgeline::ridgeline fmt::fmt PRIVATE ridgeline_options)

file(GLOB benchmark_sources CONFIGURE_DEPENDS perf/*.cpp)
foreach(source ${benchmark_sources})
  get_filename_component(name ${source} NAME_WE)
  file(GLOB parts CONFIGURE_DEPENDS perf/${name}/*.cpp)
  add_executable(${name} ${source} ${parts})
  target_link_libraries(${name} PRIVATE ridgeline_perf_support ridgeline_options benchmark::benchmark)
endforeach()

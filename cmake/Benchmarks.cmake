# Each perf/NAME.cpp becomes the program build/PRESET/bin/NAME.

file(GLOB benchmark_sources CONFIGURE_DEPENDS perf/*.cpp)
foreach(source ${benchmark_sources})
  get_filename_component(name ${source} NAME_WE)
  add_executable(${name} ${source})
  target_link_libraries(${name} PRIVATE Ridgeline::ridgeline ridgeline_options benchmark::benchmark fmt::fmt)
endforeach()

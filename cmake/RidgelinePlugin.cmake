# ridgeline_add_plugin(NAME SOURCES FILE... [VERSION X.Y]): the shared library NAME.so, whose layers Ridgeline loads.

set(RIDGELINE_PLUGIN_NOTE_TEMPLATE ${CMAKE_CURRENT_LIST_DIR}/plugin_note.cpp.in)

function(ridgeline_add_plugin name)
  cmake_parse_arguments(PARSE_ARGV 1 plugin "" "VERSION" "SOURCES")
  if(NOT plugin_SOURCES OR plugin_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "ridgeline_add_plugin(NAME SOURCES FILE... [VERSION X.Y])")
  endif()
  if(NOT plugin_VERSION)
    set(plugin_VERSION "1.0")
    if(PROJECT_VERSION)
      set(plugin_VERSION ${PROJECT_VERSION})
    endif()
  endif()
  set(plugin_NAME ${name})
  configure_file(${RIDGELINE_PLUGIN_NOTE_TEMPLATE} ${CMAKE_CURRENT_BINARY_DIR}/${name}_note.cpp @ONLY)
  add_library(${name} MODULE ${plugin_SOURCES} ${CMAKE_CURRENT_BINARY_DIR}/${name}_note.cpp)
  target_link_libraries(${name} PRIVATE Ridgeline::ridgeline)
  # Libraries that the plugin brings along, and Ridgeline has too, stay apart: nothing of the plugin is seen outside.
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".so" CXX_VISIBILITY_PRESET hidden
                                           VISIBILITY_INLINES_HIDDEN ON)
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL)
  target_compile_options(${name} PRIVATE ${RIDGELINE_KERNEL_FLAGS})
endfunction()

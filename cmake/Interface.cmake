# generated/interface.hpp: a hash of the headers that a layer includes. A plugin that was compiled with others is refused,
# so nobody has to remember to count a version up.

file(GLOB interface_headers CONFIGURE_DEPENDS src/core/*.hpp src/config/*.hpp src/layer/*.hpp src/math/*.hpp)
set(interface_text "")
foreach(header ${interface_headers})
  file(SHA256 ${header} header_hash)
  string(APPEND interface_text ${header_hash})
endforeach()
string(SHA256 interface_hash "${interface_text}")
string(SUBSTRING ${interface_hash} 0 12 interface_hash)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${interface_headers})
configure_file(cmake/interface.hpp.in generated/interface.hpp @ONLY)

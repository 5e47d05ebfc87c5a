# test/cross.cmake — for presets of other systems: takes the headers of Boost, xsimd and Catch2 from this machine, and nothing else.
# SPDX-License-Identifier: BSL-1.0
#
# /usr/include also holds this machine's C library, so the header-only packages get a directory of links.
set(directory ${CMAKE_BINARY_DIR}/headers)
file(MAKE_DIRECTORY ${directory})
function(ebb_host_headers target package header)
  find_path(${package}_include ${package}/${header} PATHS /usr/include /usr/local/include REQUIRED NO_CMAKE_FIND_ROOT_PATH)
  file(CREATE_LINK ${${package}_include}/${package} ${directory}/${package} SYMBOLIC)
  add_library(${target} INTERFACE IMPORTED GLOBAL)
  target_include_directories(${target} SYSTEM INTERFACE ${directory})
endfunction()

ebb_host_headers(Boost::headers boost version.hpp)
ebb_host_headers(xsimd xsimd xsimd.hpp)
if(EBB_BUILD_TESTS)  # Catch2 2: version 3 is a library, which this machine has for its own processor only
  ebb_host_headers(Catch2::Catch2 catch2 catch.hpp)
  file(STRINGS ${catch2_include}/catch2/catch.hpp version REGEX "Catch v[0-9.]+")
  string(REGEX REPLACE ".*v([0-9.]+).*" "\\1" Catch2_VERSION "${version}")
endif()

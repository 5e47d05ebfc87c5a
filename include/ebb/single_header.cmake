# ebb/single_header.cmake — writes one header that holds all that ebb.hpp includes, in the same order; Boost and xsimd stay includes.
# SPDX-License-Identifier: BSL-1.0
#
#   cmake -D TO=<file> [-D OF=functional.hpp] -P include/ebb/single_header.cmake
#
# Each header is inserted where it is included first, as `#pragma once` would have it. That is right only if no include of one of ebb's
# headers depends on an #if: the script refuses the others.
cmake_minimum_required(VERSION 3.25)
if(NOT TO)
  message(FATAL_ERROR "name the file to write: cmake -D TO=<file> -P ${CMAKE_SCRIPT_MODE_FILE}")
endif()
if(NOT OF)
  set(OF ebb.hpp)
endif()
set(root ${CMAKE_CURRENT_LIST_DIR})

function(insert header)  # appends the text of root/header to `text`
  get_property(inserted GLOBAL PROPERTY inserted)
  if(header IN_LIST inserted)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY inserted ${header})
  file(READ ${root}/${header} rest)
  string(REPLACE "#pragma once\n" "" rest "\n${rest}")
  cmake_path(GET header PARENT_PATH folder)
  set(depth 0)
  while(rest MATCHES "\n#include \"([^\"\n]+)\"[^\n]*")
    set(line "${CMAKE_MATCH_0}")
    set(included "${CMAKE_MATCH_1}")
    string(FIND "${rest}" "${line}\n" at)
    string(SUBSTRING "${rest}" 0 ${at} before)
    string(LENGTH "${line}" length)
    math(EXPR at "${at} + ${length}")
    string(SUBSTRING "${rest}" ${at} -1 rest)
    foreach(directive "if" "endif")
      string(REGEX MATCHALL "\n *# *${directive}" found "${before}")
      list(LENGTH found count_${directive})
    endforeach()
    math(EXPR depth "${depth} + ${count_if} - ${count_endif}")
    if(depth)
      message(FATAL_ERROR "${header} includes ${included} inside of an #if: a single header would have it where it is not wanted")
    endif()
    file(APPEND ${TO} "${before}")
    cmake_path(SET path NORMALIZE "${folder}/${included}")
    if(NOT folder)
      set(path ${included})
    endif()
    insert(${path})
  endwhile()
  file(APPEND ${TO} "${rest}")
endfunction()

file(READ ${root}/version.hpp version)
foreach(part MAJOR MINOR PATCH)
  string(REGEX MATCH "EBB_VERSION_${part} ([0-9]+)" _ "${version}")
  list(APPEND numbers ${CMAKE_MATCH_1})
endforeach()
list(JOIN numbers . version)
file(WRITE ${TO} "// ebb ${version} as one header, written by ebb/single_header.cmake: all that <ebb/${OF}> includes.
// SPDX-License-Identifier: BSL-1.0
#pragma once
")
insert(${OF})
file(SIZE ${TO} bytes)
math(EXPR kilobytes "${bytes} / 1000")
get_property(inserted GLOBAL PROPERTY inserted)
list(LENGTH inserted count)
message(STATUS "${TO}: ${count} headers in ${kilobytes} kB")

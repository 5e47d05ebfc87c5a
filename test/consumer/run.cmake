# test/consumer/run.cmake — installs ebb if that is HOW, then configures, builds and runs the consumer project in WORK.
# SPDX-License-Identifier: BSL-1.0
function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

file(REMOVE_RECURSE ${WORK})
set(how)
if(HOW STREQUAL "install")
  run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${WORK}/prefix)
  set(how -D CMAKE_PREFIX_PATH=${WORK}/prefix)
endif()
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${WORK}/build -D HOW=${HOW} -D EBB_SOURCE=${SOURCE} -D CMAKE_CXX_COMPILER=${CXX} ${how})
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/consumer)

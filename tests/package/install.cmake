# SPDX-License-Identifier: Apache-2.0
# cmake -DSOURCE= -DWORK= -DCOMPILER= -P install.cmake
#
# Installs the headers and the package into WORK/installed and, moved after the installation, into
# "WORK/moved here". No installed file may name a place of this machine.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

file(REMOVE_RECURSE "${WORK}")
run("configure" "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    -DFABSCOPE_BUILD_TESTS=OFF -DFABSCOPE_BUILD_EXAMPLES=OFF -DFABSCOPE_BUILD_BENCHMARKS=OFF)
run("install" "${CMAKE_COMMAND}" --install "${WORK}/build" --prefix "${WORK}/installed")
run("install" "${CMAKE_COMMAND}" --install "${WORK}/build" --prefix "${WORK}/first")
file(RENAME "${WORK}/first" "${WORK}/moved here")

file(GLOB_RECURSE files "${WORK}/installed/*")
list(LENGTH files count)
if(count LESS 50)
  message(FATAL_ERROR "only ${count} files were installed")
endif()
foreach(file IN LISTS files)
  foreach(place IN ITEMS "${SOURCE}" "${WORK}" "$ENV{HOME}/")
    file(STRINGS "${file}" lines REGEX "/" LIMIT_COUNT 100000)
    string(FIND "${lines}" "${place}" at)
    if(NOT at EQUAL -1)
      message(FATAL_ERROR "${file} names ${place}")
    endif()
  endforeach()
endforeach()
message(STATUS "${count} files")

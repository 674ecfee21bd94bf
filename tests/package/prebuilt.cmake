# SPDX-License-Identifier: Apache-2.0
# cmake -DBUILD= -DCONSUMER= -DINSTALLED= -DWORK= -DCOMPILER= -P prebuilt.cmake
#
# FABSCOPE_PREBUILT_SESSION: a program links the session that was installed and compiles nothing of it. Where none
# was installed, as in INSTALLED, the sentence names the variable and what to do.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")
file(REMOVE_RECURSE "${WORK}")
file(COPY "${CONSUMER}" DESTINATION "${WORK}")
run("install" "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/built")

file(WRITE "${WORK}/cache.cmake" "set(COMPONENTS core session CACHE STRING \"\")\n")
set(configure "${CMAKE_COMMAND}" -C "${WORK}/cache.cmake" -S "${WORK}/consumer" -DHOW=package
    -DFABSCOPE_PREBUILT_SESSION=ON "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=-std=c++20 -O1")
run("configure" ${configure} -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${WORK}/built")
run("build" "${CMAKE_COMMAND}" --build "${WORK}/build")
run("run" "${WORK}/build/consumer")
file(GLOB_RECURSE compiled "${WORK}/build/*fabscope_session*")
if(compiled)
  message(FATAL_ERROR "the session was compiled again: ${compiled}")
endif()

execute_process(COMMAND ${configure} -B "${WORK}/none" "-DCMAKE_PREFIX_PATH=${INSTALLED}"
                RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(result EQUAL 0 OR NOT output MATCHES "FABSCOPE_PREBUILT_SESSION is ON, and there is no .*libfabscope-session.a: build fabscope before it is installed, or set the variable OFF")
  message(FATAL_ERROR "no session installed, and that is not what is said (${result}):\n${output}")
endif()

# SPDX-License-Identifier: Apache-2.0
# cmake -DWORK= -DINSTALLED= -DCOMPILER= -P refusals.cmake
#
# What find_package says when it cannot give what is asked for.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")
file(REMOVE_RECURSE "${WORK}")

# refuses(name "find_package arguments" "what the output must contain" ...)
function(refuses name arguments)
  file(WRITE "${WORK}/${name}/CMakeLists.txt"
       "cmake_minimum_required(VERSION 3.25)\nproject(x LANGUAGES CXX)\nfind_package(fabscope ${arguments})\n")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -S "${WORK}/${name}" -B "${WORK}/${name}/build" "-DCMAKE_PREFIX_PATH=${INSTALLED}"
            "-DCMAKE_CXX_COMPILER=${COMPILER}"
    RESULT_VARIABLE result
    OUTPUT_VARIABLE output
    ERROR_VARIABLE output)
  if(result EQUAL 0)
    message(FATAL_ERROR "find_package(fabscope ${arguments}) was accepted:\n${output}")
  endif()
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  foreach(sentence IN LISTS ARGN)
    string(FIND "${output}" "${sentence}" at)
    if(at EQUAL -1)
      message(FATAL_ERROR "find_package(fabscope ${arguments}) does not say '${sentence}':\n${output}")
    endif()
  endforeach()
endfunction()

refuses(component "CONFIG REQUIRED COMPONENTS core gpu"
        "fabscope has no component 'gpu' here; available: core")
refuses(newer "0.2 CONFIG REQUIRED" "version: 0.1.")
refuses(older "0.0.9 CONFIG REQUIRED" "version: 0.1.")
refuses(major "1.0 CONFIG REQUIRED" "version: 0.1.")

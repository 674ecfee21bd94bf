# SPDX-License-Identifier: Apache-2.0
include_guard()
cmake_minimum_required(VERSION 3.25)

# run(what <command>...): shows the output and ends when it fails. RUN_OUTPUT has what it printed.
function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${what} failed (${result}): ${command}\n${output}")
  endif()
  message("${output}")
  set(RUN_OUTPUT "${output}" PARENT_SCOPE)
endfunction()

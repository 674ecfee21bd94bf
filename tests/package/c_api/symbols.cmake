# SPDX-License-Identifier: Apache-2.0
# cmake -DNM= -DLIBRARY= -P symbols.cmake: the library exports exactly what the header declares.
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND "${NM}" -D --defined-only -f posix "${LIBRARY}" OUTPUT_VARIABLE output COMMAND_ERROR_IS_FATAL
                                                                                         ANY)
string(REGEX MATCHALL "[^\n]+" symbols "${output}")
list(TRANSFORM symbols REPLACE " .*" "")
list(SORT symbols)
set(expected fabscope_flush fabscope_ignored fabscope_pop fabscope_push fabscope_step)
if(NOT symbols STREQUAL expected)
  message(FATAL_ERROR "${LIBRARY} exports ${symbols}, not ${expected}")
endif()

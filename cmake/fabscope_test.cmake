# SPDX-License-Identifier: Apache-2.0
include_guard()

# Path of the sanitizer runtime that a program needs in LD_PRELOAD, ahead of a sanitized library, when the
# program itself is not sanitized; empty in the other presets.
set(FABSCOPE_SANITIZER_RUNTIME "")
if(FABSCOPE_SANITIZE MATCHES "address|thread")
  string(REGEX REPLACE ".*(address|thread).*" "\\1" FABSCOPE_SANITIZER_RUNTIME "${FABSCOPE_SANITIZE}")
  string(SUBSTRING "${FABSCOPE_SANITIZER_RUNTIME}" 0 1 FABSCOPE_SANITIZER_RUNTIME)
  execute_process(
    COMMAND "${CMAKE_CXX_COMPILER}" -print-file-name=lib${FABSCOPE_SANITIZER_RUNTIME}san.so
    OUTPUT_VARIABLE FABSCOPE_SANITIZER_RUNTIME
    OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()

# fabscope_test(NAME <ctest name> SOURCES <files> [LABELS <labels>] [LINK <targets>] [ENV <VAR=value>]
#               [ARGS <arguments>] [TIMEOUT <seconds>] [SERIAL])
#
# A doctest program with the common main, and one ctest test that runs all of it. The program's target is
# the test's name with the dots turned into underscores. A run in which no test case ran is a failure.
function(fabscope_test)
  cmake_parse_arguments(PARSE_ARGV 0 arg "SERIAL" "NAME;TIMEOUT" "SOURCES;LABELS;LINK;ENV;ARGS")
  string(REPLACE "." "_" program "${arg_NAME}")
  fabscope_test_program(${program} SOURCES ${arg_SOURCES} LINK ${arg_LINK})
  fabscope_test_run(${arg_NAME} COMMAND ${program} ${arg_ARGS} LABELS ${arg_LABELS} ENV ${arg_ENV} TIMEOUT
                    ${arg_TIMEOUT})
  foreach(label IN ITEMS tsan clang)
    if(label IN_LIST arg_LABELS)
      add_dependencies(fabscope-${label} ${program})
    endif()
  endforeach()
  if(arg_SERIAL)
    set_tests_properties(${arg_NAME} PROPERTIES RUN_SERIAL ON)
  endif()
endfunction()

# fabscope_test_program(<target> SOURCES <files> [LINK <targets>]): only the program.
function(fabscope_test_program program)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LINK")
  add_executable(${program} ${arg_SOURCES} $<TARGET_OBJECTS:fabscope-test-main>)
  target_include_directories(${program} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
  target_link_libraries(${program} PRIVATE fabscope::session doctest::doctest ${arg_LINK} fabscope-warnings)
endfunction()

# fabscope_test_run(<ctest name> COMMAND <doctest program> <arguments> [LABELS] [ENV] [TIMEOUT])
function(fabscope_test_run name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "COMMAND;LABELS;ENV")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_test(NAME ${name} COMMAND ${arg_COMMAND})
  set_tests_properties(
    ${name}
    PROPERTIES LABELS "${arg_LABELS}" ENVIRONMENT "${arg_ENV}" TIMEOUT ${arg_TIMEOUT} FAIL_REGULAR_EXPRESSION
               "test cases: +0 ")
endfunction()

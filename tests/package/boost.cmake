# SPDX-License-Identifier: Apache-2.0
# cmake -DWORK= -DMOVED= -DCOMPILER= -P boost.cmake
#
# The component boost: with Boost a program uses it; without Boost it fails nobody who can do without it.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")
file(REMOVE_RECURSE "${WORK}")

file(WRITE "${WORK}/main.cpp" [[
#include <fabscope/boost/mpmc_ring.hpp>
#include <fabscope/boost/spsc_ring.hpp>

template <fabscope::event_ring Ring>
int lost(Ring& ring) {
  int out[4] = {};
  for (int n = 0; n < 6; ++n) (void)ring.try_push(n);
  return ring.pop_batch(out) == 4 && out[3] == 3 && ring.dropped_total() == 2 ? 0 : 1;
}
int main() {
  fabscope::boost_spsc_ring<int, 4> one;
  fabscope::boost_mpmc_ring<int, 4> many;
  return lost(one) + lost(many);
}
]])
file(WRITE "${WORK}/CMakeLists.txt" [[
cmake_minimum_required(VERSION 3.25)
project(x LANGUAGES CXX)
find_package(fabscope CONFIG REQUIRED COMPONENTS core ${HOW} boost)
if(TARGET fabscope::boost)
  add_executable(x main.cpp)
  target_link_libraries(x PRIVATE fabscope::boost)
elseif(fabscope_boost_FOUND)
  message(FATAL_ERROR "fabscope_boost_FOUND without a target")
endif()
]])
set(configure "${CMAKE_COMMAND}" -S "${WORK}" "-DCMAKE_PREFIX_PATH=${MOVED}" "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fno-exceptions -fno-rtti")

run("configure" ${configure} -B "${WORK}/with" -DHOW=)
run("build" "${CMAKE_COMMAND}" --build "${WORK}/with")
run("run" "${WORK}/with/x")

run("configure without Boost" ${configure} -B "${WORK}/without" -DHOW=OPTIONAL_COMPONENTS
    -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON)
execute_process(
  COMMAND ${configure} -B "${WORK}/required" -DHOW= -DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON
  RESULT_VARIABLE result
  OUTPUT_VARIABLE output
  ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(result EQUAL 0 OR NOT output MATCHES "component 'boost' needs Boost")
  message(FATAL_ERROR "without Boost, and it is required: ${result}\n${output}")
endif()

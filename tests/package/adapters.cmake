# SPDX-License-Identifier: Apache-2.0
# cmake -DWORK= -DMOVED= -DCOMPILER= -DBOOST= -DMPI= -P adapters.cmake
#
# The components hip, mpi and boost: where the third party is (BOOST and MPI say so), a program uses them;
# where it is not, nobody's configuration fails, one line says why, and there is no target.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")
file(REMOVE_RECURSE "${WORK}")

file(WRITE "${WORK}/boost.cpp" [[
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
file(WRITE "${WORK}/mpi.cpp" [[
#include <fabscope/mpi/scopes.hpp>
#include <fabscope/session.hpp>
#include <fabscope/stats/moments.hpp>

int main() {
  fabscope::session session;
  const auto view = session.view();
  if (!view) return 1;
  // MPI was not initialised, which is said and not tried.
  const auto merged = fabscope::mpi::merge_scopes(*view, MPI_COMM_WORLD);
  const auto moments = fabscope::mpi::merge_everywhere(fabscope::moments{}, MPI_COMM_WORLD);
  return merged.error() == fabscope::errc::unavailable && moments.error() == merged.error() ? 0 : 2;
}
]])
file(WRITE "${WORK}/CMakeLists.txt" [[
cmake_minimum_required(VERSION 3.25)
project(x LANGUAGES CXX)
string(REPLACE "+" ";" CASES "${CASES}")
foreach(case IN LISTS CASES)
  add_subdirectory(${case})
endforeach()
]])
# In the case with, everything that is on this machine; in the others, neither MPI nor Boost.
file(WRITE "${WORK}/with/CMakeLists.txt" [[
find_package(fabscope CONFIG REQUIRED COMPONENTS core mpi hip boost)
if(fabscope_hip_FOUND OR TARGET fabscope::hip)
  message(FATAL_ERROR "there is a component hip")
endif()
foreach(component IN ITEMS mpi boost)
  string(TOUPPER ${component} here)
  if(${here})
    if(NOT fabscope_${component}_FOUND)
      message(FATAL_ERROR "fabscope_${component}_FOUND is false")
    endif()
    add_executable(${component} ../${component}.cpp)
    target_link_libraries(${component} PRIVATE fabscope::${component})
    set_target_properties(${component} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}")
  endif()
endforeach()
]])
# without_case(name "find_package arguments")
function(without_case name arguments)
  file(WRITE "${WORK}/${name}/CMakeLists.txt" "
set(CMAKE_DISABLE_FIND_PACKAGE_MPI ON)
set(CMAKE_DISABLE_FIND_PACKAGE_Boost ON)
message(STATUS \"begin ${name}\")
find_package(fabscope CONFIG ${arguments})
message(STATUS \"end ${name}\")
foreach(component IN ITEMS mpi hip boost)
  if(fabscope_\${component}_FOUND OR TARGET fabscope::\${component})
    message(FATAL_ERROR \"${name}: \${component} was found\")
  endif()
endforeach()
if(NOT fabscope_FOUND OR NOT fabscope_core_FOUND OR NOT TARGET fabscope::core)
  message(FATAL_ERROR \"${name}: core was not found\")
endif()
")
  set(cases "${cases}+${name}" PARENT_SCOPE)
endfunction()
set(cases with)
without_case(plain "COMPONENTS core mpi hip boost")
without_case(required "REQUIRED COMPONENTS core mpi hip boost")
without_case(optional "REQUIRED COMPONENTS core OPTIONAL_COMPONENTS mpi hip boost")
without_case(quiet "QUIET COMPONENTS core mpi hip boost")
without_case(none "REQUIRED")

run("configure" "${CMAKE_COMMAND}" -S "${WORK}" -B "${WORK}/build" "-DCMAKE_PREFIX_PATH=${MOVED}"
    "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCASES=${cases}" -DMPI=${MPI} -DBOOST=${BOOST}
    "-DCMAKE_CXX_FLAGS=-Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror -fno-exceptions -fno-rtti")
if(RUN_OUTPUT MATCHES "CMake (Warning|Error)")
  message(FATAL_ERROR "a warning")
endif()
set(line "-- fabscope: without the component mpi [(]MPI for C[+][+] was not found[)], ")
string(APPEND line "hip [(]this version has no GPU part[)], boost [(]Boost 1.74 or newer was not found[)]\n")
foreach(case IN ITEMS plain required optional)
  if(NOT RUN_OUTPUT MATCHES "begin ${case}\n${line}-- end ${case}\n")
    message(FATAL_ERROR "${case}: not the one line that is expected")
  endif()
endforeach()
foreach(case IN ITEMS quiet none)
  if(NOT RUN_OUTPUT MATCHES "begin ${case}\n-- end ${case}\n")
    message(FATAL_ERROR "${case}: says something")
  endif()
endforeach()
if(MPI OR BOOST)
  run("build" "${CMAKE_COMMAND}" --build "${WORK}/build" -j2)
endif()
if(BOOST)
  run("run" "${WORK}/build/boost")
endif()
if(MPI)
  run("run" "${WORK}/build/mpi")
endif()

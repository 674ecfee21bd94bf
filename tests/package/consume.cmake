# SPDX-License-Identifier: Apache-2.0
# cmake -DHOW= -DCONSUMER= -DWORK= -DCOMPILER= -DSTANDARD= -DFLAGS= [-DLINK_FLAGS=]
#       -DCOMPONENTS= [-DPREFIX=] -DSOURCE= -P consume.cmake
#
# Builds the consumer with strict warnings as errors, in one of the ways, and runs it.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")

set(warnings -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Werror)
string(REPLACE "+" ";" components "${COMPONENTS}")
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

if(HOW STREQUAL "package" OR HOW STREQUAL "subdirectory" OR HOW STREQUAL "content")
  # A copy, so that nothing is found because it happens to lie in fabscope's tree.
  file(COPY "${CONSUMER}" DESTINATION "${WORK}")
  list(JOIN warnings " " warnings)
  run("configure" "${CMAKE_COMMAND}" -S "${WORK}/consumer" -B "${WORK}/build" -DHOW=${HOW}
      "-DCOMPONENTS=${components}" "-DCMAKE_PREFIX_PATH=${PREFIX}" "-DSOURCE_DIR=${SOURCE}"
      "-DCMAKE_CXX_COMPILER=${COMPILER}" "-DCMAKE_CXX_FLAGS=-std=c++${STANDARD} ${FLAGS} ${warnings}")
  run("build" "${CMAKE_COMMAND}" --build "${WORK}/build")
else()
  string(REPLACE " " ";" flags "${FLAGS}")
  string(REPLACE " " ";" link_flags "${LINK_FLAGS}")
  set(modules fabscope)
  set(libraries -pthread -ldl)
  set(includes "-I${PREFIX}/include")
  set(sources main.cpp work.cpp)
  if("fabric" IN_LIST components)
    list(APPEND sources fabric.cpp)
    list(APPEND flags -DCONSUMER_HAS_FABRIC=1)
    list(APPEND modules fabscope-fabric)
    list(APPEND libraries -lfabric)
  endif()
  if(HOW STREQUAL "pkgconfig")
    find_program(pkgconfig NAMES pkg-config pkgconf REQUIRED)
    set(ENV{PKG_CONFIG_PATH} "${PREFIX}/share/pkgconfig:$ENV{PKG_CONFIG_PATH}")
    run("pkg-config" "${pkgconfig}" --exists --print-errors "fabscope >= 0.1")
    run("pkg-config" "${pkgconfig}" --exists --print-errors fabscope-boost fabscope-mpi)
    run("pkg-config" "${pkgconfig}" --cflags ${modules})
    separate_arguments(includes UNIX_COMMAND "${RUN_OUTPUT}")
    run("pkg-config" "${pkgconfig}" --libs ${modules})
    separate_arguments(libraries UNIX_COMMAND "${RUN_OUTPUT}")
  endif()
  set(objects "")
  foreach(source IN LISTS sources)
    run("compile ${source}" "${COMPILER}" -std=c++${STANDARD} ${flags} ${warnings} ${includes} -c
        "${CONSUMER}/${source}" -o "${WORK}/${source}.o")
    list(APPEND objects "${WORK}/${source}.o")
  endforeach()
  file(MAKE_DIRECTORY "${WORK}/build")
  run("link" "${COMPILER}" ${flags} ${link_flags} ${objects} -o "${WORK}/build/consumer" ${libraries})
endif()
run("run" "${WORK}/build/consumer")

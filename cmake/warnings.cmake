# SPDX-License-Identifier: Apache-2.0
include_guard()

# What the project's own programs are compiled with. Errors only when fabscope is the top-level project;
# never part of a library target's interface.
add_library(fabscope-warnings INTERFACE)
target_compile_options(
  fabscope-warnings
  INTERFACE -Wall
            -Wextra
            -Wpedantic
            -Wshadow
            -Wconversion
            -Wsign-conversion
            -Wold-style-cast
            -Wcast-align
            -Wnon-virtual-dtor
            -Woverloaded-virtual
            -Wundef)
if(PROJECT_IS_TOP_LEVEL)
  target_compile_options(fabscope-warnings INTERFACE -Werror)
endif()
# libfabric's, doctest's and Open MPI's headers are not ours to fix: imported targets are SYSTEM already.

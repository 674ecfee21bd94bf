# SPDX-License-Identifier: Apache-2.0
# Toolchain of the clang preset: the version that the project is checked with, else whatever clang++ is.
find_program(FABSCOPE_CLANGXX NAMES clang++-14 clang++ REQUIRED)
set(CMAKE_CXX_COMPILER "${FABSCOPE_CLANGXX}")

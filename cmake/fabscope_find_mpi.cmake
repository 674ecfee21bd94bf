# SPDX-License-Identifier: Apache-2.0
# Defines MPI::MPI_CXX if MPI can be found for C++; says nothing if not. A target of that name that is there
# already is taken as it is.
if(NOT TARGET MPI::MPI_CXX)
  find_package(MPI QUIET COMPONENTS CXX)
endif()

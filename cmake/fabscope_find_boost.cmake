# SPDX-License-Identifier: Apache-2.0
# Defines Boost::headers if Boost can be found, by its own package or by CMake's module; says nothing if
# not. A target of that name that is there already is taken as it is.
if(NOT TARGET Boost::headers)
  find_package(Boost 1.74 QUIET CONFIG)
endif()
if(NOT TARGET Boost::headers)
  find_package(Boost 1.74 QUIET MODULE)
endif()

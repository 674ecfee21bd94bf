# SPDX-License-Identifier: Apache-2.0
# Finds libfabric, which has a pkg-config file and no CMake package.
# Defines Libfabric::libfabric, Libfabric_FOUND, Libfabric_VERSION. Hints: Libfabric_ROOT, PKG_CONFIG_PATH.
find_package(PkgConfig QUIET)
if(PKG_CONFIG_FOUND)
  pkg_check_modules(PC_LIBFABRIC QUIET libfabric)
endif()

find_path(Libfabric_INCLUDE_DIR NAMES rdma/fabric.h HINTS ${PC_LIBFABRIC_INCLUDE_DIRS} ${PC_LIBFABRIC_INCLUDEDIR})
find_library(Libfabric_LIBRARY NAMES fabric HINTS ${PC_LIBFABRIC_LIBRARY_DIRS} ${PC_LIBFABRIC_LIBDIR})
mark_as_advanced(Libfabric_INCLUDE_DIR Libfabric_LIBRARY)

# The API version of the headers; pkg-config may describe another installation.
if(Libfabric_INCLUDE_DIR)
  file(STRINGS "${Libfabric_INCLUDE_DIR}/rdma/fabric.h" _libfabric_lines
       REGEX "#define[ \t]+FI_(MAJOR|MINOR|REVISION)_VERSION")
  string(REGEX MATCH "FI_MAJOR_VERSION[ \t]+([0-9]+)" _ "${_libfabric_lines}")
  set(Libfabric_VERSION "${CMAKE_MATCH_1}")
  string(REGEX MATCH "FI_MINOR_VERSION[ \t]+([0-9]+)" _ "${_libfabric_lines}")
  string(APPEND Libfabric_VERSION ".${CMAKE_MATCH_1}")
  unset(_libfabric_lines)
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(
  Libfabric
  REQUIRED_VARS Libfabric_LIBRARY Libfabric_INCLUDE_DIR
  VERSION_VAR Libfabric_VERSION)

if(Libfabric_FOUND AND NOT TARGET Libfabric::libfabric)
  add_library(Libfabric::libfabric UNKNOWN IMPORTED)
  set_target_properties(
    Libfabric::libfabric PROPERTIES IMPORTED_LOCATION "${Libfabric_LIBRARY}" INTERFACE_INCLUDE_DIRECTORIES
                                                                              "${Libfabric_INCLUDE_DIR}")
endif()

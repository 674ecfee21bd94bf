# SPDX-License-Identifier: Apache-2.0
include_guard()

# fabscope_component(name [UNAVAILABLE] HEADERS <files> [LINK <targets>] [REQUIRES <pkg-config modules>])
#
# A header-only component: target fabscope::<name> in the build tree and, under the same name, in the
# installed package, with its own export file so that find_package only asks for what the consumer uses.
# pkg-config knows it as fabscope-<name>, and core as fabscope. UNAVAILABLE: what it links to is not here, so
# it is only installed and fabscope::<name> does not exist in the build tree.
function(fabscope_component name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "UNAVAILABLE" "" "HEADERS;LINK;REQUIRES")
  add_library(fabscope-${name} INTERFACE)
  if(NOT arg_UNAVAILABLE)
    add_library(fabscope::${name} ALIAS fabscope-${name})
  endif()
  set_target_properties(fabscope-${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(fabscope-${name} INTERFACE cxx_std_20)
  target_sources(fabscope-${name} INTERFACE FILE_SET HEADERS BASE_DIRS "${PROJECT_SOURCE_DIR}/include"
                                            FILES ${arg_HEADERS})
  target_link_libraries(fabscope-${name} INTERFACE ${arg_LINK})
  set_property(GLOBAL APPEND PROPERTY FABSCOPE_COMPONENTS ${name})
  if(FABSCOPE_INSTALL)
    install(
      TARGETS fabscope-${name}
      EXPORT fabscope-${name}-targets
      FILE_SET HEADERS DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}")
    install(
      EXPORT fabscope-${name}-targets
      NAMESPACE fabscope::
      DESTINATION "${CMAKE_INSTALL_DATADIR}/cmake/fabscope")
    set(pc_name fabscope-${name})
    if(name STREQUAL "core")
      set(pc_name fabscope)
    endif()
    list(JOIN arg_REQUIRES ", " pc_requires)
    file(RELATIVE_PATH pc_prefix "${CMAKE_INSTALL_FULL_DATADIR}/pkgconfig" "${CMAKE_INSTALL_PREFIX}")
    configure_file("${PROJECT_SOURCE_DIR}/cmake/fabscope.pc.in" "${PROJECT_BINARY_DIR}/${pc_name}.pc" @ONLY)
    install(FILES "${PROJECT_BINARY_DIR}/${pc_name}.pc" DESTINATION "${CMAKE_INSTALL_DATADIR}/pkgconfig")
  endif()
endfunction()

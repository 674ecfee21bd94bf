# SPDX-License-Identifier: Apache-2.0
# fabscope::session: what is large in session.hpp and report.hpp as a static library, compiled once in the
# project that asks for it, with that project's flags. A target that links it may include session.hpp in any
# number of files; shared libraries export nothing of it. Used in the build tree and by the installed package.
if(TARGET fabscope::session)
  return()
endif()
file(CONFIGURE OUTPUT "${CMAKE_CURRENT_BINARY_DIR}/fabscope_session.cpp"
     CONTENT "#include <fabscope/session/definitions.hpp>\n")
add_library(fabscope-session STATIC EXCLUDE_FROM_ALL "${CMAKE_CURRENT_BINARY_DIR}/fabscope_session.cpp")
add_library(fabscope::session ALIAS fabscope-session)
set_target_properties(fabscope-session PROPERTIES POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden)
target_compile_definitions(fabscope-session PUBLIC FABSCOPE_SEPARATE_SESSION)
target_link_libraries(fabscope-session PUBLIC fabscope::core)

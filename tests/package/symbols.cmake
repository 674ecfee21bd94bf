# SPDX-License-Identifier: Apache-2.0
# cmake -DCONSUMER= -DINSTALLED= -DWORK= -DCOMPILER= -DNM= -P symbols.cmake
#
# A shared library that uses fabscope exports nothing of it and no unique symbol, which would keep it
# loaded for ever. Without optimisation g++ gives a visible type's implicit members and the lambdas in its
# members the type's visibility: only these are let through, and only there.
include("${CMAKE_CURRENT_LIST_DIR}/run.cmake")
file(REMOVE_RECURSE "${WORK}")
file(MAKE_DIRECTORY "${WORK}")

set(own "^_Z(T[VIST]|Z|GV|GR)?N?K?8fabscope|^_ZTAXtlN8fabscope|^fabscope")
foreach(level IN ITEMS 0 2)
  foreach(name IN ITEMS work main)
    run("compile" "${COMPILER}" -std=c++20 -O${level} -fPIC -Wall -Wextra -Werror -DCONSUMER_MAIN=consumer_main
        "-I${INSTALLED}/include" -c "${CONSUMER}/${name}.cpp" -o "${WORK}/${name}${level}.o")
  endforeach()
  # Scopes alone, and with a session.
  run("link" "${COMPILER}" -shared "${WORK}/work${level}.o" -o "${WORK}/scopes${level}.so")
  run("link" "${COMPILER}" -shared "${WORK}/work${level}.o" "${WORK}/main${level}.o" -o "${WORK}/all${level}.so"
      -pthread -ldl)
  foreach(name IN ITEMS scopes all)
    execute_process(COMMAND "${NM}" -D --defined-only -f posix "${WORK}/${name}${level}.so" OUTPUT_VARIABLE output
                            COMMAND_ERROR_IS_FATAL ANY)
    string(REGEX MATCHALL "[^\n]+" lines "${output}")
    if(NOT output MATCHES "work")
      message(FATAL_ERROR "${name}${level}.so does not even export the user's own function:\n${output}")
    endif()
    foreach(line IN LISTS lines)
      string(REGEX REPLACE " .*" "" symbol "${line}")
      if(symbol MATCHES "${own}" AND NOT (level EQUAL 0 AND symbol MATCHES "[CD][12]Ev$|^_ZZ.*NK?Ul"))
        message(SEND_ERROR "${name}${level}.so exports ${symbol}")
      endif()
      # libstdc++'s own std::to_chars has a unique symbol; scopes do not use it.
      if(line MATCHES "^[^ ]+ u " AND (name STREQUAL "scopes" OR symbol MATCHES "fabscope"))
        message(SEND_ERROR "${name}${level}.so has the unique symbol ${symbol}")
      endif()
    endforeach()
  endforeach()
endforeach()

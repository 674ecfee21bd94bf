# SPDX-License-Identifier: Apache-2.0
# cmake -DFROM=<include> -DTO=<include> -DMINOR=<n> -P make_version.cmake
#
# A copy of the headers as another version would have them: with its own number, and with a step record
# of another layout.
file(REMOVE_RECURSE "${TO}")
file(COPY "${FROM}/fabscope" DESTINATION "${TO}")

function(edit file from to)
  file(READ "${TO}/fabscope/${file}" text)
  string(FIND "${text}" "${from}" at)
  if(at EQUAL -1)
    message(FATAL_ERROR "${file} does not contain '${from}': this script needs an update")
  endif()
  string(REPLACE "${from}" "${to}" text "${text}")
  file(WRITE "${TO}/fabscope/${file}" "${text}")
endfunction()

edit(core/version.hpp "FABSCOPE_VERSION_MINOR 1" "FABSCOPE_VERSION_MINOR ${MINOR}")
if(MINOR EQUAL 2)
  edit(event/scope_record.hpp "std::int64_t number = 0;\n" "std::uint64_t phase = 77;\n  std::int64_t number = 0;\n")
elseif(MINOR EQUAL 3)
  edit(event/scope_record.hpp "std::int64_t number = 0;\n" "std::int32_t number = 0;\n  std::uint32_t phase = 78;\n")
  edit(event/scope_record.hpp "offsetof(step_record, number), field_type::i64"
       "offsetof(step_record, number), field_type::i32")
endif()
file(TOUCH "${TO}/stamp")

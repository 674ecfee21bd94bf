// SPDX-License-Identifier: Apache-2.0
// The least that a record and a row must be.
#pragma once

#include <cstdint>
#include <fabscope/event/record.hpp>

namespace archetypes {

struct record {
  fabscope::record_header header;
  std::uint64_t number;
  static constexpr const char* type_name = "archetype_record";
  static constexpr bool is_row = false;
  static constexpr fabscope::field fields[] = {{"number", "", 16, fabscope::field_type::u64}};
};

struct summary {
  std::uint64_t used;
  std::uint64_t count;
  static constexpr const char* type_name = "archetype_summary";
  static constexpr bool is_row = true;
  static constexpr fabscope::field fields[] = {
      {"used", "", 0, fabscope::field_type::u64, fabscope::field_role::used},
      {"count", "", 8, fabscope::field_type::u64, fabscope::field_role::sum}};
};

}  // namespace archetypes

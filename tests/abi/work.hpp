// SPDX-License-Identifier: Apache-2.0
// What each module of the test records, with its own copy of the library.
#pragma once

#include <cstdint>

#include <fabscope/scope.hpp>

struct probe_record {
  fabscope::record_header header;
#if FABSCOPE_VERSION_MINOR == 1
  std::uint64_t square = 0;
  std::uint32_t root = 0;
  std::uint32_t spare = 0;
#elif FABSCOPE_VERSION_MINOR == 2
  std::uint32_t root = 0;
  std::uint32_t spare = 0;
  std::uint64_t square = 0;
  std::uint64_t more = 5;
#else
  std::uint64_t root = 0;
  std::uint64_t square = 0;
#endif
  static constexpr const char* type_name = "probe";
  static constexpr bool is_row = false;
  static const fabscope::field fields[2];
};
inline constexpr fabscope::field probe_record::fields[2] = {
    {"root", "", offsetof(probe_record, root),
     sizeof(probe_record::root) == 8 ? fabscope::field_type::u64 : fabscope::field_type::u32},
    {"square", "", offsetof(probe_record, square), fabscope::field_type::u64},
};

/// Records one scope, one step and one probe for each number from `first` to `first + 99`.
template <fabscope::fixed_string Name>
void record_hundred(unsigned first) {
  for (unsigned n = first; n < first + 100; ++n) {
    const fabscope::step step{-static_cast<std::int64_t>(n)};
    const fabscope::scope scope{fabscope::constant_name<Name>(), n, -static_cast<std::int64_t>(n)};
    probe_record probe;
    probe.root = n;
    probe.square = std::uint64_t{n} * n;
    fabscope::emit(probe);
  }
}

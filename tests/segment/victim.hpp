// SPDX-License-Identifier: Apache-2.0
// What the killed program and the test that kills it have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <fabscope/event/record.hpp>

namespace victim {

inline constexpr unsigned threads = 4;
inline constexpr std::uint32_t slots = 1024;

/// One line per thread in a page that both map.
struct line {
  alignas(64) std::uint64_t next;  ///< record that the thread is about to write
  std::uint64_t refused;           ///< records that could not be written
};
struct page {
  line of[threads];
};

/// Every member follows from the number and the thread.
struct FABSCOPE_VISIBLE record {
  fabscope::record_header header;
  std::uint64_t number;
  std::uint64_t mixed;
  std::uint64_t inverse;
  std::int64_t negative;
  double half;
  std::uint32_t thread;
  std::uint16_t low;
  char letter[2];

  static constexpr const char* type_name = "victim_record";
  static constexpr bool is_row = false;
  static const fabscope::field fields[8];
};
inline constexpr fabscope::field record::fields[8] = {
    {"number", "", offsetof(record, number), fabscope::field_type::u64},
    {"mixed", "", offsetof(record, mixed), fabscope::field_type::u64},
    {"inverse", "", offsetof(record, inverse), fabscope::field_type::u64},
    {"negative", "", offsetof(record, negative), fabscope::field_type::i64},
    {"half", "", offsetof(record, half), fabscope::field_type::f64},
    {"thread", "", offsetof(record, thread), fabscope::field_type::u32},
    {"low", "", offsetof(record, low), fabscope::field_type::u16},
    {"letter", "", offsetof(record, letter), fabscope::field_type::text,
     fabscope::field_role::value, 2},
};
static_assert(sizeof(record) == 64 && fabscope::event_record<record>);

inline record make(std::uint64_t number, std::uint32_t thread) {
  record r{};
  r.number = number;
  r.mixed = (number + thread) * 0x9e3779b97f4a7c15U;
  r.inverse = ~number;
  r.negative = -static_cast<std::int64_t>(number);
  r.half = static_cast<double>(number) / 2;
  r.thread = thread;
  r.low = static_cast<std::uint16_t>(number);
  r.letter[0] = static_cast<char>('a' + number % 26);
  return r;
}

}  // namespace victim

// SPDX-License-Identifier: Apache-2.0
// A named stretch of a thread's time, and a step of the program. Layer: event.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/event/record.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Written once, when the scope ends: a lost record loses one scope and never corrupts its
/// neighbours. Units: ticks of the session's clock; bytes as the user stated them.
struct FABSCOPE_VISIBLE scope_record {
  record_header header;  ///< ticks: begin
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  std::int64_t value = 0;    ///< the user's one integer
  std::uint32_t name = 0;    ///< label
  std::uint32_t domain = 0;  ///< label
  std::uint64_t parent = 0;  ///< cause: the enclosing scope, collective or proxy step
  std::uint32_t depth = 0;   ///< 0: outermost
  std::uint32_t number = 0;  ///< of this scope in its thread: what `parent` of a child refers to

  static constexpr const char* type_name = "scope";
  static constexpr bool is_row = false;
  FABSCOPE_HIDDEN static const field fields[8];
};

inline constexpr field scope_record::fields[8] = {
    {"end", "ns", offsetof(scope_record, end), field_type::ticks},
    {"bytes", "B", offsetof(scope_record, bytes), field_type::u64},
    {"value", "", offsetof(scope_record, value), field_type::i64},
    {"name", "", offsetof(scope_record, name), field_type::label},
    {"domain", "", offsetof(scope_record, domain), field_type::label},
    {"parent", "", offsetof(scope_record, parent), field_type::cause},
    {"number", "", offsetof(scope_record, number), field_type::u32},
    {"depth", "", offsetof(scope_record, depth), field_type::u32},
};
static_assert(sizeof(scope_record) == 64 && event_record<scope_record>);

/// One round of the program's main loop.
struct FABSCOPE_VISIBLE step_record {
  record_header header;  ///< ticks: begin
  std::uint64_t end = 0;
  std::int64_t number = 0;

  static constexpr const char* type_name = "step";
  static constexpr bool is_row = false;
  FABSCOPE_HIDDEN static const field fields[2];
};

inline constexpr field step_record::fields[2] = {
    {"end", "ns", offsetof(step_record, end), field_type::ticks},
    {"number", "", offsetof(step_record, number), field_type::i64},
};
static_assert(event_record<step_record>);

FABSCOPE_NAMESPACE_END

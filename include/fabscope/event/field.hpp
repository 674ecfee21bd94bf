// SPDX-License-Identifier: Apache-2.0
// Describes the members of record and row types at run time. Layer: event.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include <fabscope/core/abi.hpp>
#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// How the bytes of a field are to be read. The values are part of the segment format.
enum class field_type : std::uint8_t {
  none = 0,
  u8 = 1,
  u16 = 2,
  u32 = 3,
  u64 = 4,
  i8 = 5,
  i16 = 6,
  i32 = 7,
  i64 = 8,
  f32 = 9,
  f64 = 10,
  label = 11,  ///< u32: number of an interned text
  ticks = 12,  ///< u64: a stamp of the session's clock
  span = 13,   ///< u64: a difference of two stamps
  cause = 14,  ///< u64: what the thread was doing
  text = 15,   ///< bytes up to the first NUL
};

/// How equal rows of several threads become one. The values are part of the segment format.
enum class field_role : std::uint8_t {
  value = 0,  ///< of a record
  key = 1,    ///< rows with equal keys are one row
  sum = 2,
  minimum = 3,  ///< stored as ~value, so that zeroed memory means "none"
  maximum = 4,
  last = 5,
  used = 6,  ///< not 0: the row is in use
};

/// Bytes of one element.
constexpr std::size_t size_of(field_type type) noexcept {
  switch (type) {
    case field_type::u8:
    case field_type::i8:
    case field_type::text: return 1;
    case field_type::u16:
    case field_type::i16: return 2;
    case field_type::u32:
    case field_type::i32:
    case field_type::f32:
    case field_type::label: return 4;
    case field_type::u64:
    case field_type::i64:
    case field_type::f64:
    case field_type::ticks:
    case field_type::span:
    case field_type::cause: return 8;
    case field_type::none: break;
  }
  return 0;
}

/// One member: `field{"bytes", "B", offsetof(my_record, bytes), field_type::u64}`.
/// Hidden, so that `fields` of a user's type is hidden too and no unique symbol of a library.
struct field : fabscope_field {
  constexpr field(const char* field_name, const char* field_unit, std::size_t at, field_type what,
                  field_role how = field_role::value, std::size_t elements = 1) noexcept
      : fabscope_field{field_name,
                       field_unit,
                       static_cast<std::uint16_t>(at),
                       static_cast<std::uint16_t>(elements),
                       static_cast<std::uint8_t>(what),
                       static_cast<std::uint8_t>(how),
                       0} {}
};
static_assert(sizeof(field) == sizeof(fabscope_field));

/// What the session is told of T, a record or a row.
template <class T>
constexpr fabscope_type describe() noexcept {
  return fabscope_type{sizeof(fabscope_type),
                       sizeof(T),
                       T::type_name,
                       T::fields,
                       static_cast<std::uint32_t>(std::size(T::fields)),
                       T::is_row ? 1U : 0U};
}

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// The header that every record begins with, and what a record is. Layer: event.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include <fabscope/event/field.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Bytes of a ring slot: the most that a record may have. One cache line.
inline constexpr std::size_t slot_bytes = 64;

/// The first 16 bytes of every record.
struct FABSCOPE_VISIBLE record_header {
  std::uint16_t type = 0;    ///< number that the session gave the type
  std::uint16_t size = 0;    ///< bytes of the whole record
  std::uint32_t thread = 0;  ///< number of the thread in the segment
  std::uint64_t ticks = 0;   ///< when it happened or began, session clock
};
static_assert(sizeof(record_header) == 16);

/// A fact that goes through rings: at most one slot, plain bytes, begins with a record_header.
/// semantics: `fields` describes every member after the header that a reader may want.
template <class T>
concept event_record = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> &&
                           sizeof(T) <= slot_bytes
                       && sizeof(T) % 8 == 0 &&
                       alignof(T) <= 8 && std::same_as<decltype(T::header), record_header> &&
                       !T::is_row && requires {
  { T::type_name } -> std::convertible_to<const char*>;
  { T::fields[0] } -> std::convertible_to<const fabscope_field&>;
};

/// Lines that only sum: they live in tables of one thread and are merged by their keys.
template <class T>
concept summary_row = std::is_trivially_copyable_v<T> && std::is_standard_layout_v<T> && sizeof(T) %
                              8 ==
                          0 &&
                      alignof(T) <= 64 && T::is_row&& requires {
  { T::type_name } -> std::convertible_to<const char*>;
  { T::fields[0] } -> std::convertible_to<const fabscope_field&>;
};

FABSCOPE_NAMESPACE_END

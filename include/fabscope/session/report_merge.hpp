// SPDX-License-Identifier: Apache-2.0
// Rows of all threads with equal keys become one. Layer: session.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <fabscope/session/segment_view.hpp>
#include <fabscope/stats/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

template <class Number>
void merge_element(field_role role, unsigned char* into, const unsigned char* from) noexcept {
  Number a;
  Number b;
  std::memcpy(&a, into, sizeof a);
  std::memcpy(&b, from, sizeof b);
  switch (role) {
    case field_role::sum: a = static_cast<Number>(a + b); break;
    case field_role::minimum:  // stored inverted: the smallest is the largest
    case field_role::maximum:
    case field_role::last: a = a < b ? b : a; break;
    default: return;
  }
  std::memcpy(into, &a, sizeof a);
}

/// Adds a row to one with the same key, each field by its role.
template <summary_row Row>
void merge_row(Row& into, const Row& from) noexcept {
  auto* to = reinterpret_cast<unsigned char*>(&into);
  const auto* by = reinterpret_cast<const unsigned char*>(&from);
  for (const field& member : Row::fields) {
    const auto type = static_cast<field_type>(member.type);
    const auto role = static_cast<field_role>(member.role);
    for (std::size_t i = 0; i < member.count; ++i) {
      const std::size_t at = member.offset + i * size_of(type);
      switch (type) {
        case field_type::u8: merge_element<std::uint8_t>(role, to + at, by + at); break;
        case field_type::u16: merge_element<std::uint16_t>(role, to + at, by + at); break;
        case field_type::i32: merge_element<std::int32_t>(role, to + at, by + at); break;
        case field_type::i64: merge_element<std::int64_t>(role, to + at, by + at); break;
        case field_type::f64: merge_element<double>(role, to + at, by + at); break;
        default:
          if (size_of(type) == 4) merge_element<std::uint32_t>(role, to + at, by + at);
          if (size_of(type) == 8) merge_element<std::uint64_t>(role, to + at, by + at);
      }
    }
  }
}

using merge_key = std::array<std::uint64_t, 8>;

/// The key fields of a row, and whether it is the row of keys that found no room.
template <summary_row Row>
merge_key key_of(const Row& row) noexcept {
  merge_key key{};
  std::size_t size = 0;
  for (const field& member : Row::fields) {
    if (static_cast<field_role>(member.role) != field_role::key) continue;
    std::memcpy(&key[size++], reinterpret_cast<const unsigned char*>(&row) + member.offset,
                size_of(static_cast<field_type>(member.type)));
  }
  key[7] = row.used == row_is_other ? 1 : 0;
  return key;
}

/// All rows of a type, merged, in the order of their keys' numbers.
template <summary_row Row>
std::vector<Row> merged_rows(const segment_view& from) {
  std::map<merge_key, Row> by_key;
  from.rows<Row>([&](const Row& row, std::uint32_t) {
    const auto [at, is_new] = by_key.try_emplace(key_of(row), row);
    if (!is_new) merge_row(at->second, row);
  });
  std::vector<Row> out;
  out.reserve(by_key.size());
  for (const auto& [key, row] : by_key) out.push_back(row);
  return out;
}

}  // namespace detail

FABSCOPE_NAMESPACE_END

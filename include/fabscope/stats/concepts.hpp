// SPDX-License-Identifier: Apache-2.0
// What sums values, and what a keyed row is. Layer: stats.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Takes values one by one and can be added up over threads.
/// semantics: zeroed memory is empty; merging in any order gives the same.
template <class T>
concept accumulator = std::is_trivially_copyable_v<T> &&
    requires(T& into, const T& from, std::uint64_t value) {
  { into.record(value) }
  noexcept;
  { into.merge(from) }
  noexcept;
  { from.count() }
  noexcept->std::convertible_to<std::uint64_t>;
};

/// Values of a row's `used` word.
inline constexpr std::uint64_t row_in_use = 1;
inline constexpr std::uint64_t row_is_other = 2;  ///< takes the keys that found no row

/// A row of a row_table: plain words with a key of 8, 16 or 24 bytes without padding.
/// semantics: zeroed memory is an empty row; key() returns what set_key() was given; set_key()
/// leaves `used` alone.
template <class Row>
concept keyed_row =
    std::is_trivially_copyable_v<Row> && std::is_standard_layout_v<Row> && requires {
  typename Row::key_type;
} && std::has_unique_object_representations_v<typename Row::key_type> &&
            sizeof(typename Row::key_type) %
            8 ==
        0 &&
    sizeof(typename Row::key_type) <= 24 &&
    std::same_as<decltype(Row::used), std::uint64_t>&& requires(Row& row, const Row& seen,
                                                                const typename Row::key_type& key) {
  { seen.key() }
  noexcept->std::convertible_to<typename Row::key_type>;
  { row.set_key(key) }
  noexcept;
};

FABSCOPE_NAMESPACE_END

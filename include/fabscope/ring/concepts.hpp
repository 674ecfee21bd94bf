// SPDX-License-Identifier: Apache-2.0
// What a record, a ring and a flight recorder are. Layer: ring.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Fits one 64-byte slot of a flight recorder, as whole words.
template <class T>
concept slot_record = std::is_trivially_copyable_v<T> && sizeof(T) <= 64 && sizeof(T) % 8 == 0 &&
                      alignof(T) <= 8;

/// A bounded queue of records that says no and counts when it is full.
/// semantics: a record that try_push accepted comes out exactly once, in order per producer;
/// dropped_total() counts every refusal; neither side ever waits for the other.
template <class R>
concept event_ring = std::is_trivially_copyable_v<typename R::value_type> &&
    requires(R& ring, const R& seen, const typename R::value_type& record,
             std::span<typename R::value_type> out) {
  { ring.try_push(record) }
  noexcept->std::same_as<bool>;
  { ring.pop_batch(out) }
  noexcept->std::same_as<std::size_t>;
  { seen.dropped_total() }
  noexcept->std::same_as<std::uint64_t>;
  { seen.capacity() }
  noexcept->std::same_as<std::size_t>;
};

/// Takes records of a type without ever refusing: the oldest make room.
/// semantics: wait-free; one writer.
template <class W, class Record>
concept flight_recorder = slot_record<Record> && requires(W& writer, const Record& record) {
  { writer.push(record) }
  noexcept;
};

FABSCOPE_NAMESPACE_END

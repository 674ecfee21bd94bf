// SPDX-License-Identifier: Apache-2.0
// What a pool of objects for events in flight is. Layer: pool.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fabscope/core/handle.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// What slot_pool can hold: neither constructed nor destroyed, reused as it was left.
/// semantics: zeroed memory is a valid object (member initialisers do not run).
template <class T>
concept poolable = std::is_object_v<T> && std::is_trivially_destructible_v<T> &&
    (std::is_aggregate_v<T> || std::is_trivially_default_constructible_v<T>);

/// Gives objects out and takes them back, from any thread, through a store of the calling thread.
/// semantics: get() is null when the pool is full, and refused_total() grows; an object got by one
/// thread may be put by another; find() is null for every handle whose object was put since.
template <class P>
concept event_pool = requires(P& pool, const P& seen, typename P::magazine& magazine,
                              typename P::value_type* object, handle name) {
  { pool.get(magazine) }
  noexcept->std::same_as<typename P::value_type*>;
  { pool.put(magazine, object) }
  noexcept;
  { pool.drain(magazine) }
  noexcept;
  { pool.find(name) }
  noexcept->std::same_as<typename P::value_type*>;
  { seen.handle_of(object) }
  noexcept->std::same_as<handle>;
  { seen.owns(object) }
  noexcept->std::same_as<bool>;
  { seen.refused_total() }
  noexcept->std::same_as<std::uint64_t>;
  { seen.in_use() }
  noexcept->std::same_as<std::uint32_t>;
};

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// What a scope needs from whoever records it. Layer: scope.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include <fabscope/scope/name.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Records scopes. `begin` stamps the start and returns what `end` needs to know.
/// semantics: both may be called by any thread; a token is ended by the thread that began it.
template <class R>
concept scope_recorder = requires(site& where, typename R::token& token, std::uint64_t bytes,
                                  std::int64_t value) {
  requires std::is_trivially_copyable_v<typename R::token>;
  { R::begin(where) }
  noexcept->std::same_as<typename R::token>;
  { R::end(token, bytes, value) }
  noexcept->std::same_as<void>;
};

/// Can also end one scope and begin the next with one stamp.
/// semantics: next does what `end(token, bytes, value)` and `token = begin_chain(where)` would do
/// at one moment.
template <class R>
concept chaining_recorder = scope_recorder<R> &&
    requires(site& where, typename R::chain_token& token, std::uint64_t bytes, std::int64_t value) {
  requires std::is_trivially_copyable_v<typename R::chain_token>;
  { R::begin_chain(where) }
  noexcept->std::same_as<typename R::chain_token>;
  { R::next(token, where, bytes, value) }
  noexcept->std::same_as<void>;
  { R::end(token, bytes, value) }
  noexcept->std::same_as<void>;
};

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// The RAII scope: a constructor stamps, a destructor records. Layer: scope.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/scope/concepts.hpp>
#include <fabscope/scope/null_recorder.hpp>
#include <fabscope/scope/recorder.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Measures from its construction to its destruction on one thread; scopes nest.
/// Units: bytes as stated by the user; value is any one integer (a size, an index, a peer).
/// Threads: constructed and destroyed by one thread.  Progress: wait-free.
/// Errors: none; when recording is off or impossible it does nothing.
/// Cost: docs/overhead.md, rows scope_enabled, scope_aggregated, scope_disabled, scope_null.
template <scope_recorder Recorder, scope_domain Domain = default_domain>
class [[nodiscard]] FABSCOPE_VISIBLE basic_scope {
 public:
  FABSCOPE_ALWAYS_INLINE explicit basic_scope(site& where, std::uint64_t bytes = 0,
                                              std::int64_t value = 0) noexcept
      : bytes_(bytes), value_(value), token_(Recorder::begin(where)) {}

  template <fixed_string Text>
  FABSCOPE_ALWAYS_INLINE explicit basic_scope(constant_name<Text>, std::uint64_t bytes = 0,
                                              std::int64_t value = 0) noexcept
      : basic_scope(site_of<Text, Domain>, bytes, value) {}

  FABSCOPE_ALWAYS_INLINE ~basic_scope() { Recorder::end(token_, bytes_, value_); }

  basic_scope(const basic_scope&) = delete;
  basic_scope& operator=(const basic_scope&) = delete;
  static void* operator new(std::size_t) = delete;

  /// States what became known only inside the scope.
  FABSCOPE_HIDDEN void bytes(std::uint64_t bytes) noexcept { bytes_ = bytes; }
  FABSCOPE_HIDDEN void value(std::int64_t value) noexcept { value_ = value; }

 private:
  std::uint64_t bytes_;
  std::int64_t value_;
  typename Recorder::token token_;
};

/// `scope s{"exchange"_name, bytes, value};`
using scope = basic_scope<session_recorder<true>>;
/// The same in a domain of one's own: `scope_in<solver> s{"iterate"_name};`
template <scope_domain Domain>
using scope_in = basic_scope<session_recorder<true>, Domain>;

FABSCOPE_NAMESPACE_END

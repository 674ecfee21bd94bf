// SPDX-License-Identifier: Apache-2.0
// Phases that follow each other without a gap: the end of one is the begin of the next. Layer:
// scope.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/scope/basic_scope.hpp>
#include <fabscope/scope/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A row of scopes on one thread, of which one is open from construction to destruction.
/// Each phase is recorded and summed as a scope of its name; scopes inside it have it as parent.
/// Units: bytes and value belong to the phase that is open, as in basic_scope.
/// Threads: one uses it, and scopes nest around it.  Progress: wait-free.
/// Errors: none; phases that begin while recording is off are not recorded.
/// Cost: one clock read per boundary; docs/overhead.md, row scope_chained.
template <chaining_recorder Recorder, scope_domain Domain = default_domain>
class [[nodiscard]] FABSCOPE_VISIBLE basic_phases {
 public:
  FABSCOPE_ALWAYS_INLINE explicit basic_phases(site& first, std::uint64_t bytes = 0,
                                               std::int64_t value = 0) noexcept
      : bytes_(bytes), value_(value), token_(Recorder::begin_chain(first)) {}

  template <fixed_string Text>
  FABSCOPE_ALWAYS_INLINE explicit basic_phases(constant_name<Text>, std::uint64_t bytes = 0,
                                               std::int64_t value = 0) noexcept
      : basic_phases(site_of<Text, Domain>, bytes, value) {}

  FABSCOPE_ALWAYS_INLINE ~basic_phases() { Recorder::end(token_, bytes_, value_); }

  basic_phases(const basic_phases&) = delete;
  basic_phases& operator=(const basic_phases&) = delete;
  static void* operator new(std::size_t) = delete;

  /// Ends the open phase and begins another.
  FABSCOPE_ALWAYS_INLINE void next(site& where, std::uint64_t bytes = 0,
                                   std::int64_t value = 0) noexcept {
    Recorder::next(token_, where, bytes_, value_);
    bytes_ = bytes;
    value_ = value;
  }
  template <fixed_string Text>
  FABSCOPE_ALWAYS_INLINE void next(constant_name<Text>, std::uint64_t bytes = 0,
                                   std::int64_t value = 0) noexcept {
    next(site_of<Text, Domain>, bytes, value);
  }

  /// States what became known only inside the open phase.
  FABSCOPE_ALWAYS_INLINE void bytes(std::uint64_t bytes) noexcept { bytes_ = bytes; }
  FABSCOPE_ALWAYS_INLINE void value(std::int64_t value) noexcept { value_ = value; }

 private:
  std::uint64_t bytes_;
  std::int64_t value_;
  typename Recorder::chain_token token_;
};

/// `phases p{"pack"_name}; ...; p.next("send"_name); ...`
using phases = basic_phases<session_recorder<true>>;
/// The same in a domain of one's own.
template <scope_domain Domain>
using phases_in = basic_phases<session_recorder<true>, Domain>;

FABSCOPE_NAMESPACE_END

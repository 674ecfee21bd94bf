// SPDX-License-Identifier: Apache-2.0
// Scopes that begin on one thread and end on another. Layer: scope.
#pragma once

#include <cstdint>
#include <utility>

#include <fabscope/event/cause.hpp>
#include <fabscope/scope/name.hpp>
#include <fabscope/scope/port.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A stretch of time with a handle that moves: between functions, into containers, to other
/// threads. It belongs to the thread that began it, and its parent is what that thread was doing
/// then; scopes inside do not have it as parent, for it nests in nothing.
/// Units: as basic_scope.
/// Threads: one at a time holds it, whoever that is; handing it over is the user's.  Progress:
/// wait-free.
/// Errors: none; a scope that ends when its session does not record any more is not recorded.
/// Cost: that of a scope. Whoever ends it writes the record and the sum, into buffers of its own:
/// nothing is left behind in the thread that began it, which may have ended.
template <scope_domain Domain = default_domain>
class [[nodiscard]] FABSCOPE_VISIBLE basic_detached_scope {
 public:
  /// Measures nothing.
  FABSCOPE_ALWAYS_INLINE basic_detached_scope() noexcept = default;

  FABSCOPE_HIDDEN explicit basic_detached_scope(site& where, std::uint64_t bytes = 0,
                                                std::int64_t value = 0) noexcept
      : bytes_(bytes), value_(value) {
    const std::uint32_t mask = detail::current_mask();
    if ((mask & recording_scopes) == 0) return;
    detail::thread_port* port = detail::port_for(mask);
    if (port == nullptr) return;
    labels_ = where.labels(port->site_pattern, port->table);
    parent_ = port->thread->cause;
    thread_ = port->thread->id;
    const std::uint64_t scopes = port->thread->scopes;
    port->thread->scopes = scopes + (std::uint64_t{1} << 32);
    depth_ = static_cast<std::uint32_t>(scopes);
    number_ = static_cast<std::uint32_t>(scopes >> 32);
    session_ = port->session;
    begin_ = now_ticks(port->clock);
  }
  template <fixed_string Text>
  FABSCOPE_HIDDEN explicit basic_detached_scope(constant_name<Text>, std::uint64_t bytes = 0,
                                                std::int64_t value = 0) noexcept
      : basic_detached_scope(site_of<Text, Domain>, bytes, value) {}

  FABSCOPE_HIDDEN ~basic_detached_scope() { end(); }

  FABSCOPE_HIDDEN basic_detached_scope(basic_detached_scope&& from) noexcept { take(from); }
  /// Ends what this object measured before.
  FABSCOPE_HIDDEN basic_detached_scope& operator=(basic_detached_scope&& from) noexcept {
    if (this != &from) {
      end();
      take(from);
    }
    return *this;
  }

  /// True if it measures something that is to be recorded.
  [[nodiscard]] FABSCOPE_HIDDEN bool is_open() const noexcept { return session_ != 0; }

  /// States what became known only inside the scope.
  FABSCOPE_HIDDEN void bytes(std::uint64_t bytes) noexcept { bytes_ = bytes; }
  FABSCOPE_HIDDEN void value(std::int64_t value) noexcept { value_ = value; }

  /// Ends it now. Later calls do nothing.
  FABSCOPE_HIDDEN void end() noexcept {
    const std::uint32_t session = std::exchange(session_, 0U);
    const std::uint32_t mask = detail::current_mask();
    if (session == 0 || (mask & recording_scopes) == 0 || session_number(mask) != session) return;
    detail::thread_port* port = detail::port_for(mask);
    if (port == nullptr) return;
    const std::uint64_t now = now_ticks(port->clock);
    // Counters of two processors may differ by a few ticks.
    const std::uint64_t end = now > begin_ ? now : begin_;
    constexpr std::uint64_t low = 0xffffffffU;
    port->ring.push_words(std::uint64_t{thread_} << 32 | (port->scope_head & low), begin_, end,
                          bytes_, static_cast<std::uint64_t>(value_), labels_, parent_,
                          std::uint64_t{number_} << 32 | depth_);
    port->row_of(labels_).add(end - begin_, bytes_);
  }

 private:
  FABSCOPE_HIDDEN void take(basic_detached_scope& from) noexcept {
    bytes_ = from.bytes_;
    value_ = from.value_;
    begin_ = from.begin_;
    labels_ = from.labels_;
    parent_ = from.parent_;
    session_ = std::exchange(from.session_, 0U);
    thread_ = from.thread_;
    number_ = from.number_;
    depth_ = from.depth_;
  }

  std::uint64_t bytes_ = 0;
  std::int64_t value_ = 0;
  std::uint64_t begin_ = 0;
  std::uint64_t labels_ = 0;
  std::uint64_t parent_ = 0;
  std::uint32_t session_ = 0;  // 0: measures nothing
  std::uint32_t thread_ = 0;
  std::uint32_t number_ = 0;
  std::uint32_t depth_ = 0;
};

/// `detached_scope s{"request"_name};` here, `s.end()` or the destructor of what it was moved to
/// there.
using detached_scope = basic_detached_scope<>;
/// The same in a domain of one's own.
template <scope_domain Domain>
using detached_scope_in = basic_detached_scope<Domain>;

FABSCOPE_NAMESPACE_END

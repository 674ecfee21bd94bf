// SPDX-License-Identifier: Apache-2.0
// Records scopes into the calling thread's ring and table in the session. Layer: scope.
#pragma once

#include <cstdint>

#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/event/cause.hpp>
#include <fabscope/scope/concepts.hpp>
#include <fabscope/scope/port.hpp>
#include <fabscope/stats/rows.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// The session as recorder. With Aggregate the scope is also summed in the thread's table, so that
/// counts, times and bytes are complete whatever the ring loses.
/// Threads: any.  Progress: wait-free.
/// Errors: with no session, or no room for this thread, nothing is recorded; the session counts
/// refused threads.  Cost: two clock reads, one record; with Aggregate one row.
template <bool Aggregate>
struct FABSCOPE_VISIBLE session_recorder {
  struct token {
    detail::thread_port* port;
    std::uint64_t begin;
    std::uint64_t parent;
    std::uint64_t labels;  ///< domain << 32 | name
    std::uint64_t scopes;  ///< fabscope_thread::scopes at the begin: number << 32 | depth
  };

  FABSCOPE_ALWAYS_INLINE static token begin(site& where) noexcept {
    const std::uint32_t mask = detail::current_mask();
    if ((mask & recording_scopes) == 0) return token{};
    detail::thread_port* port = detail::port_for(mask);
    if (__builtin_expect(port == nullptr, 0)) return token{};
    return begin_labelled(*port, where.labels(port->site_pattern, port->table));
  }

  /// The same with labels at hand: the domain's << 32, and the name's.
  FABSCOPE_ALWAYS_INLINE static token begin_labelled(detail::thread_port& port,
                                                     std::uint64_t labels) noexcept {
    token t;
    t.port = &port;
    t.labels = labels;
    fabscope_thread& thread = *port.thread;
    t.scopes = thread.scopes;
    thread.scopes = t.scopes + one_more_open;
    t.parent = thread.cause;
    thread.cause = cause_of(labels, t.scopes);
    t.begin = now_ticks(port.clock);
    return t;
  }

  FABSCOPE_ALWAYS_INLINE static void end(const token& t, std::uint64_t bytes,
                                         std::int64_t value) noexcept {
    if (t.port == nullptr) return;
    detail::thread_port& port = *t.port;
    const std::uint64_t end = now_ticks(port.clock);
    fabscope_thread& thread = *port.thread;
    relaxed_store(thread.cause, t.parent);
    relaxed_add(thread.scopes, ~std::uint64_t{0});
    port.ring.push_words(port.scope_head, t.begin, end, bytes, static_cast<std::uint64_t>(value),
                         t.labels, t.parent, t.scopes);
    if constexpr (Aggregate) port.row_of(t.labels).add(end - t.begin, bytes);
  }

  /// Of a scope that another may follow: with the mask that it began under.
  struct chain_token : token {
    std::uint32_t mask;
  };

  FABSCOPE_ALWAYS_INLINE static chain_token begin_chain(site& where) noexcept {
    chain_token t;
    t.mask = detail::current_mask();
    static_cast<token&>(t) = begin(where);
    if (t.port == nullptr) t.mask = 0xffff;  // of no session
    return t;
  }

  /// Ends the scope and begins the next one beside it. Cost: one clock read, one record.
  FABSCOPE_ALWAYS_INLINE static void next(chain_token& t, site& where, std::uint64_t bytes,
                                          std::int64_t value) noexcept {
    // Switched on or off meanwhile, or another session.
    if (__builtin_expect(detail::current_mask() != t.mask, 0)) {
      end(t, bytes, value);
      t = begin_chain(where);
      return;
    }
    detail::thread_port* port = t.port;
    const std::uint64_t labels = where.labels(port->site_pattern, port->table);
    const std::uint64_t now = now_ticks(port->clock);
    port->ring.push_words(port->scope_head, t.begin, now, bytes, static_cast<std::uint64_t>(value),
                          t.labels, t.parent, t.scopes);
    if constexpr (Aggregate) port->row_of(t.labels).add(now - t.begin, bytes);
    t.begin = now;
    t.labels = labels;
    t.scopes = port->thread->scopes - 1;
    port->thread->scopes += std::uint64_t{1} << 32;
    port->thread->cause = cause_of(labels, t.scopes);
  }

 private:
  static constexpr std::uint64_t one_more_open = (std::uint64_t{1} << 32) + 1;

  // A cause, with less arithmetic: labels shifted up leave the name, which has 24 bits, and one
  // shift of both words brings the scope's number in below it.
  FABSCOPE_ALWAYS_INLINE static std::uint64_t cause_of(std::uint64_t labels,
                                                       std::uint64_t scopes) noexcept {
    __extension__ using two_words = unsigned __int128;
    return static_cast<std::uint64_t>((two_words{labels} << 64 | scopes) >> 32) |
           cause(cause_kind::scope, 0, 0).bits();
  }
};

FABSCOPE_NAMESPACE_END

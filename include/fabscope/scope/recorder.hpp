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
struct session_recorder {
  struct token {
    detail::thread_port* port;
    std::uint64_t begin;
    std::uint64_t parent;
    std::uint64_t labels;
    std::uint32_t number;
  };

  /// Of a scope that is not recorded: the other members stay as they are, nobody reads them.
  FABSCOPE_ALWAYS_INLINE static token off() noexcept {
    token t;
    t.port = nullptr;
    return t;
  }

  FABSCOPE_ALWAYS_INLINE static token begin(site& where) noexcept {
    const std::uint32_t mask = detail::current_mask();
    if ((mask & recording_scopes) == 0) return off();
    detail::thread_port* port = detail::port_for(mask);
    if (__builtin_expect(port == nullptr, 0)) return off();
    return begin_labelled(*port, where.labels(port->session, port->table));
  }

  /// The same with labels at hand: the name's, and the domain's << 24.
  FABSCOPE_ALWAYS_INLINE static token begin_labelled(detail::thread_port& port,
                                                     std::uint64_t labels) noexcept {
    token t;
    t.port = &port;
    t.labels = labels;
    fabscope_thread& thread = *port.thread;
    t.parent = thread.cause;
    t.number = port.next_scope++;
    thread.cause =
        cause(cause_kind::scope, static_cast<std::uint32_t>(t.labels & 0xffffffU), t.number).bits();
    ++thread.depth;
    t.begin = now_ticks(port.clock);
    return t;
  }

  FABSCOPE_ALWAYS_INLINE static void end(const token& t, std::uint64_t bytes,
                                         std::int64_t value) noexcept {
    if (t.port == nullptr) return;
    detail::thread_port& port = *t.port;
    const std::uint64_t end = now_ticks(port.clock);
    fabscope_thread& thread = *port.thread;
    thread.cause = t.parent;
    const std::uint32_t depth = --thread.depth;
    const std::uint64_t name = t.labels & 0xffffffU;
    const std::uint64_t domain = t.labels >> 24;
    constexpr std::uint64_t size = sizeof(scope_record);
    port.ring.push_words(std::uint64_t{thread.id} << 32 | size << 16 | port.scope_type, t.begin,
                         end, bytes, static_cast<std::uint64_t>(value), domain << 32 | name,
                         t.parent, std::uint64_t{depth} << 32 | t.number);
    if constexpr (Aggregate) {
      port.scopes.find_or_insert(scope_row::key_type{domain << 32 | name})
          .add(end - t.begin, bytes);
    }
  }
};

FABSCOPE_NAMESPACE_END

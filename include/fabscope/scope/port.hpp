// SPDX-License-Identifier: Apache-2.0
// What one thread needs to record, as this copy of the library knows it. Layer: scope.
#pragma once

#include <cstdint>

#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/core/config.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/event/scope_record.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/scope/link.hpp>
#include <fabscope/scope/name.hpp>
#include <fabscope/stats/row_table.hpp>
#include <fabscope/stats/rows.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Rows of scopes per thread; what finds no room is summed in row 0.
inline constexpr std::uint32_t scope_rows = 256;

/// Rows that a thread has used lately, by the low bits of the name.
inline constexpr std::uint32_t recent_rows = 16;
struct recent_row {
  std::uint64_t labels = ~std::uint64_t{0};  ///< such labels do not exist
  scope_row* row = nullptr;
};

/// Valid while `session` is the number in the mask. Only its thread touches it.
struct thread_port {
  std::uint32_t session = 0;  ///< 0: of no session
  clock_kind clock = clock_kind::monotonic;
  fabscope_thread* thread = nullptr;
  overwrite_writer ring;
  std::uint64_t scope_head = 0;    ///< first word of a scope's record
  std::uint64_t site_pattern = 0;  ///< of the session, see site
  std::uint16_t step_type = 0;
  const fabscope_table* table = nullptr;
  row_table<scope_row> scopes;
  recent_row recent[recent_rows] = {};
  void* pushed = nullptr;  ///< open scopes of the C functions
  void* fabric = nullptr;  ///< what the fabric adapter keeps for this thread

  /// The row of a scope's labels.  Cost: one comparison if it was used lately.
  FABSCOPE_ALWAYS_INLINE scope_row& row_of(std::uint64_t labels) noexcept {
    const recent_row& last = recent[labels & (recent_rows - 1)];
    if (__builtin_expect(last.labels != labels, 0)) return find_row(labels);
    return *last.row;
  }
  FABSCOPE_NOINLINE scope_row& find_row(std::uint64_t labels) noexcept {
    scope_row& row = scopes.find_or_insert(scope_row::key_type{labels});
    // Row 0 counts how often it was needed: it is asked for every time.
    if (&row != &scopes.other()) recent[labels & (recent_rows - 1)] = {labels, &row};
    return row;
  }

  /// Writes a record whose header has its type and ticks.  Cost: a store per word.
  template <event_record Record>
  FABSCOPE_ALWAYS_INLINE void push(Record& record) noexcept {
    record.header.size = sizeof(Record);
    record.header.thread = thread->id;
    ring.push(record);
  }
};

/// Stands in until a thread has a port of its own, so that the hot path needs one comparison only.
inline constinit thread_port no_port{};

/// One pointer, no constructor, no destructor: see docs/overhead.md on thread-local storage.
inline thread_local constinit thread_port* tls_port = &no_port;

/// Private memory of this copy for one thread: the port and the index of its table of scopes.
struct thread_memory {
  thread_port port;
  alignas(8) unsigned char scope_index[row_table<scope_row>::index_bytes(scope_rows)];
};

/// Attaches the calling thread to the running session. Null if there is none or it has no room.
FABSCOPE_NOINLINE inline thread_port* attach_port() noexcept {
  const fabscope_table* table = find_session();
  if (table == nullptr) return nullptr;
  const std::uint32_t mask = __atomic_load_n(table->mask, __ATOMIC_ACQUIRE);
  if (session_number(mask) == 0) return nullptr;
  fabscope_thread* thread = table->thread();
  if (thread == nullptr) return nullptr;
  auto* memory =
      static_cast<thread_memory*>(table->memory(thread, &anchor, 0, sizeof(thread_memory)));
  const fabscope_type row_type = describe<scope_row>();
  auto* rows =
      static_cast<scope_row*>(table->memory(thread, &anchor, table->type(&row_type), scope_rows));
  if (memory == nullptr || rows == nullptr) return nullptr;
  thread_port& port = memory->port;
  port.session = session_number(mask);
  port.clock = static_cast<clock_kind>(table->clock);
  port.thread = thread;
  port.ring = overwrite_writer(thread->head, thread->slots, thread->mask);
  const fabscope_type scope_type = describe<scope_record>();
  const fabscope_type step_type = describe<step_record>();
  port.scope_head = std::uint64_t{thread->id} << 32 | std::uint64_t{sizeof(scope_record)} << 16 |
                    (table->type(&scope_type) & 0xffffU);
  port.site_pattern = site::pattern_of(port.session);
  port.step_type = static_cast<std::uint16_t>(table->type(&step_type));
  port.table = table;
  port.scopes.attach(rows, scope_rows, memory->scope_index);
  for (recent_row& row : port.recent) row = {};
  port.pushed = nullptr;  // these two are an earlier thread's: whose they are sets them up again
  port.fabric = nullptr;
  tls_port = &port;
  return &port;
}

/// The calling thread's port in the session that the mask belongs to, or null.
/// Cost: one thread-local load and one comparison once attached.
FABSCOPE_ALWAYS_INLINE thread_port* port_for(std::uint32_t mask) noexcept {
  thread_port* port = tls_port;
  if (__builtin_expect(port->session != session_number(mask), 0)) return attach_port();
  return port;
}

}  // namespace detail

FABSCOPE_NAMESPACE_END

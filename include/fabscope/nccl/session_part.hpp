// SPDX-License-Identifier: Apache-2.0
// The adapter's part in one session and what its threads keep there. Layer: nccl.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <new>
#include <string_view>

#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/nccl/communicator.hpp>
#include <fabscope/nccl/slots.hpp>
#include <fabscope/scope/port.hpp>
#include <fabscope/stats/collective_rows.hpp>
#include <fabscope/stats/row_table.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nccl::detail {

using fabscope::detail::thread_port;

/// Why an event of the host was not used.
enum class ignored : std::uint8_t {
  none,
  pool_full,          ///< no slot; its children are `parent_dropped`
  parent_dropped,     ///< of an event that found no slot
  no_parent,          ///< the host names no parent
  stale,              ///< a handle of an event that is over
  duplicate,          ///< a second stop or record of the same event
  foreign,            ///< of another process (PXN): only counted
  communicator_gone,  ///< its communicator was finalised, or never initialised
  unknown_type,       ///< a type of event that this version does not know
  never_stopped,      ///< closed by the collector or at the end of the session
  not_complete,       ///< a communicator's operation that was in flight at the end
  count_,
};
constexpr const char* to_string(ignored why) noexcept {
  constexpr const char* names[] = {"none",
                                   "no room in the pool",
                                   "parent found no room",
                                   "no parent",
                                   "stale handle",
                                   "repeated",
                                   "of another process",
                                   "communicator not known",
                                   "type not known",
                                   "never stopped",
                                   "in flight at the end"};
  static_assert(sizeof names / sizeof names[0] == static_cast<unsigned>(ignored::count_));
  return names[static_cast<unsigned>(why)];
}

struct session_part;

/// Texts of the host that were looked up lately, by address.
struct known_text {
  const char* text;
  std::uint32_t epoch;
  std::uint32_t number;
};

/// A thread's memory in a session; its next thread inherits it.  Threads: its own.
struct thread_state {
  static constexpr std::uint32_t tables = 3;  ///< of sums: each is used when the one before is full
  static constexpr std::uint32_t rows_of(std::uint32_t nth) noexcept { return 64U << 2 * nth; }
  static constexpr std::uint32_t tally_rows = 64;
  static constexpr std::uint32_t not_armed = 0xffff;

  std::uint32_t armed = not_armed;  ///< the mask for which this is the thread's state
  clock_kind clock = clock_kind::monotonic;
  thread_port* port = nullptr;
  session_part* session = nullptr;
  operation_pool::magazine operation_magazine;
  channel_pool::magazine channel_magazine;
  row_table<collective_row> sums;
  std::uint32_t next_table;
  row_table<event_tally_row> tallies;
  known_text functions[16] = {};
  known_text methods[16] = {};
  known_text datatypes[16] = {};
  alignas(8) unsigned char tallies_index[row_table<event_tally_row>::index_bytes(tally_rows)];

  [[nodiscard]] bool add_table() noexcept;
  collective_row& sums_of(const collective_record& record) noexcept {
    const collective_row::key_type key = collective_row::key_of(record);
    collective_row* row = &sums.find_or_insert(key);
    if (row == &sums.other() && next_table < tables) [[unlikely]] {
      if (add_table()) row = &sums.find_or_insert(key);
    }
    return *row;
  }
  void count(ignored why, std::uint64_t event, std::uint64_t number = 1) noexcept;
};

inline constinit thread_state no_state{};
inline thread_local constinit thread_state* tls_state = &no_state;

struct session_part {
  std::uint32_t number = 0;
  int pid = 0;
  const fabscope_table* table = nullptr;
  std::uint16_t record_type = 0;
  std::uint32_t row_type = 0;
  std::uint32_t tally_type = 0;
  std::uint32_t reason_label[static_cast<std::size_t>(ignored::count_)] = {};
  std::uint32_t event_label[event_bits + 1] = {};  ///< the last: of unknown types
  std::uint32_t function_label[16] = {};           ///< by the low bits of collective_record::kind
  std::uint32_t foreign_label = 0;
  std::uint64_t quiet = 0;     ///< ticks after which channels that are not announced are all there
  std::uint64_t patience = 0;  ///< ticks after which an operation is given up
  std::uint32_t taken = 0;     ///< slots of operations at the last look
  thread_state* collector = nullptr;
  session_part* earlier = nullptr;

  template <class T>
  [[nodiscard]] std::uint32_t type() const noexcept {
    const fabscope_type about = describe<T>();
    return table->type(&about);
  }
  [[nodiscard]] std::uint32_t label(std::string_view text) const noexcept {
    return table->label(text.data(), text.size());
  }

  bool start(const fabscope_table* running, std::uint32_t session) noexcept {
    number = session;
    table = running;
    pid = ::getpid();
    record_type = static_cast<std::uint16_t>(type<collective_record>());
    row_type = type<collective_row>();
    tally_type = type<event_tally_row>();
    for (std::size_t i = 1; i < static_cast<std::size_t>(ignored::count_); ++i) {
      reason_label[i] = label(to_string(static_cast<ignored>(i)));
    }
    for (unsigned bit = 0; bit <= event_bits; ++bit) {
      event_label[bit] = label(event_name(std::uint64_t{1} << bit));
    }
    function_label[0] = label("unknown");
    for (std::size_t i = 1; i < static_cast<std::size_t>(collective::count_); ++i) {
      function_label[i] = label(to_string(static_cast<collective>(i)));
    }
    foreign_label = label("another process's operation");
    constexpr std::uint64_t sample = std::uint64_t{1} << 32;
    const std::uint64_t now = now_ticks(static_cast<clock_kind>(table->clock));
    const std::uint64_t ns = table->to_ns(now) - table->to_ns(now - sample);
    const double per_second =
        ns == 0 ? 1e9 : 1e9 * static_cast<double>(sample) / static_cast<double>(ns);
    quiet = static_cast<std::uint64_t>(per_second / 4);
    patience = static_cast<std::uint64_t>(per_second * 60);
    const fabscope_client client{sizeof(fabscope_client),
                                 0,
                                 "nccl",
                                 this,
                                 [](void* self) { static_cast<session_part*>(self)->tick(); },
                                 [](void* self) { static_cast<session_part*>(self)->finish(); }};
    return record_type != 0 && row_type != 0 && tally_type != 0 && table->client(&client) != 0;
  }

  /// Threads: the collector.
  void tick() noexcept;
  /// Threads: the collector, once.
  void finish() noexcept;

 private:
  void look(bool last) noexcept;
};

inline void thread_state::count(ignored why, std::uint64_t event, std::uint64_t number) noexcept {
  unsigned bit = 0;
  while (bit < event_bits && event != std::uint64_t{1} << bit) ++bit;
  const std::uint64_t key = std::uint64_t{session->event_label[bit]} << 32 |
                            session->reason_label[static_cast<std::size_t>(why)];
  relaxed_add(tallies.find_or_insert({key}).count, number);
}

/// Begins the next table of sums. What did not fit into the last one was counted nowhere yet.
FABSCOPE_NOINLINE inline bool thread_state::add_table() noexcept {
  static constexpr char keys[tables] = {};  // their addresses name the memory
  const fabscope_table& from = *session->table;
  const void* const key = &keys[next_table];
  const std::uint32_t rows = rows_of(next_table);
  auto* at = static_cast<collective_row*>(from.memory(port->thread, key, session->row_type, rows));
  void* index =
      from.memory(port->thread, key, 0,
                  static_cast<std::uint32_t>(row_table<collective_row>::index_bytes(rows)));
  if (at == nullptr || index == nullptr) {
    if (next_table != 0) next_table = tables;
    return false;
  }
  if (next_table != 0 && relaxed_load(sums.other().count) == 0) {
    release_store(sums.other().used, std::uint64_t{0});
  }
  sums = row_table<collective_row>();
  sums.attach(at, rows, index);
  ++next_table;
  return true;
}

inline constinit session_part* newest_session = nullptr;  // under control_lock

/// The part of the running session with this number; made by the first thread that asks.
/// Threads: under control_lock.
inline session_part* session_numbered(std::uint32_t session) noexcept {
  for (session_part* one = newest_session; one != nullptr; one = one->earlier) {
    if (one->number == session) return one;
  }
  const fabscope_table* table = fabscope::detail::find_session();
  if (table == nullptr ||
      session_number(__atomic_load_n(table->mask, __ATOMIC_ACQUIRE)) != session) {
    return nullptr;
  }
  auto* made = new (std::nothrow) session_part;
  if (made == nullptr) return nullptr;
  made->earlier = newest_session;
  newest_session = made;  // kept also if it cannot start, so that nobody tries again
  if (!made->start(table, session)) made->table = nullptr;
  return made;
}

/// Once per thread and session.
FABSCOPE_NOINLINE inline thread_state* arm(std::uint32_t mask) noexcept {
  thread_port* port = fabscope::detail::port_for(mask);
  if (port == nullptr) return nullptr;
  session_part* session = nullptr;
  {
    const control_guard lock;
    if (control == nullptr || !control->ready) return nullptr;
    session = session_numbered(session_number(mask));
  }
  if (session == nullptr || session->table == nullptr) return nullptr;
  static constexpr char key = 0;
  const fabscope_table& table = *session->table;
  auto* state =
      static_cast<thread_state*>(table.memory(port->thread, &key, 0, sizeof(thread_state)));
  auto* tallies = static_cast<event_tally_row*>(
      table.memory(port->thread, &key, session->tally_type, thread_state::tally_rows));
  if (state == nullptr || tallies == nullptr) return nullptr;
  state->tallies.attach(tallies, thread_state::tally_rows, state->tallies_index);
  state->port = port;
  state->session = session;
  state->next_table = 0;
  if (!state->add_table()) return nullptr;
  state->clock = port->clock;
  state->armed = mask;
  tls_state = state;
  return state;
}

/// The calling thread's state while collectives are recorded, else null.
/// Cost: two loads of the mask, one thread-local load, one comparison.
FABSCOPE_ALWAYS_INLINE thread_state* recording_thread() noexcept {
  const std::uint32_t mask = fabscope::detail::current_mask();
  thread_state* state = tls_state;
  if (__builtin_expect(state->armed != mask, 0)) {
    if ((mask & recording_collectives) == 0) return nullptr;
    return arm(mask);
  }
  return state;
}

}  // namespace nccl::detail

FABSCOPE_NAMESPACE_END

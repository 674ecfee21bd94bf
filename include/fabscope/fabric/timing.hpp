// SPDX-License-Identifier: Apache-2.0
// The operation policy that times: from the accepted call to the read completion. Layer: fabric.
#pragma once

#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>

#include <cstdint>
#include <cstring>

#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/fabric/concepts.hpp>
#include <fabscope/fabric/context_slot.hpp>
#include <fabscope/fabric/counted_operations.hpp>
#include <fabscope/fabric/session_part.hpp>
#include <fabscope/fabric/thread_state.hpp>
#include <fabscope/scope/port.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric {

namespace detail {

/// Gives the thread its part in the session. Null if it cannot record.
FABSCOPE_NOINLINE inline thread_state* set_up_thread(thread_port& port) noexcept {
  fabric_session* session = nullptr;
  if (registry* all = the_registry()) {
    const control_lock lock(all->mutex);
    session = session_part_locked(port.table);
  }
  if (session == nullptr) return nullptr;
  static constexpr char key = 0;
  void* memory = port.table->memory(port.thread, &key, 0, sizeof(thread_state));
  auto* nics =
      static_cast<nic_row*>(port.table->memory(port.thread, &key, session->nic_type, max_nics));
  void* ring = port.table->memory(port.thread, &session->number, 0,
                                  static_cast<std::uint32_t>(spsc_ring<busy_interval>::bytes_needed(
                                      thread_state::interval_slots)));
  if (memory == nullptr || nics == nullptr || ring == nullptr) return nullptr;
  auto* state = static_cast<thread_state*>(memory);
  if (!state->ready) {
    state = ::new (memory) thread_state;
    state->port = &port;
    state->clock = port.clock;
    state->session = session;
    state->session_byte = static_cast<std::uint8_t>(session->number);
    state->thread = port.thread;
    state->ring = port.ring;
    state->record_head = std::uint64_t{port.thread->id} << 32 |
                         std::uint64_t{sizeof(operation_record)} << 16 | session->operation_type;
    std::memcpy(state->gap_limit, session->gap_limit, sizeof state->gap_limit);
    if (!session->poll_gaps) {
      state->poll_clock = detail::no_clock;
      std::memset(state->gap_limit, 0, sizeof state->gap_limit);
    } else {
      state->poll_clock = port.clock;
    }
    for (std::uint32_t i = 0; i < max_nics; ++i) state->nics[i].row = &nics[i];
    state->intervals = spsc_ring<busy_interval>::place(ring, thread_state::interval_slots);
    if (!state->links.start(port, session->link_type) ||
        !state->histograms.start(port, session->histogram_type) ||
        !state->errors.start(port, session->error_type) ||
        !state->tallies.start(port, session->tally_type) ||
        !state->polls.start(port, session->cq_type)) {
      return nullptr;
    }
    state->place(state->links.capacity());
    state->ready = true;
    session->add(*state);
  }
  // What an earlier thread has left here and does not concern this one.
  state->depth = 0;
  state->retrying = 0;
  for (retry_part& retry : state->retries) retry.count = 0;
  for (queue_part& queue : state->queues) {
    if (queue.row != nullptr) relaxed_store(queue.row->last, 0);
    queue = {};
  }
  pool().prefault(64);
  port.fabric = state;
  return state;
}

/// Stands for "asked and refused", so that a thread without room does not ask at every call.
inline thread_state* refused_thread() noexcept {
  static constinit thread_state* made = nullptr;
  thread_state* known = __atomic_load_n(&made, __ATOMIC_ACQUIRE);
  if (known != nullptr) return known;
  auto* fresh = new (std::nothrow) thread_state;
  if (fresh == nullptr) return nullptr;
  fresh->depth = 1;
  if (__atomic_compare_exchange_n(&made, &known, fresh, false, __ATOMIC_ACQ_REL,
                                  __ATOMIC_ACQUIRE)) {
    return fresh;
  }
  delete fresh;
  return known;
}

}  // namespace detail

/// Times operations on the session's clock and sums them per link and NIC; see concepts.hpp for
/// what the functions mean. Threads: any.  Progress: wait-free, except beside a walk (fi_cancel,
/// fi_close of an endpoint). Cost: an operation two clock reads, a poll one; no atomic
/// read-modify-write.
struct timing {
  using thread = detail::thread_state;
  struct attempt {
    detail::context_slot* slot;
    std::uint64_t begin;
    std::uint32_t remote;
    reason why;
  };

  FABSCOPE_ALWAYS_INLINE static thread* enter() noexcept {
    const std::uint32_t mask = fabscope::detail::current_mask();
    detail::thread_head* const known = detail::tls_state;
    if (known->armed == mask && known->depth == 0) [[likely]]
      return static_cast<thread*>(known);
    return find_thread(mask);
  }

  static bool nested() noexcept {
    const auto* state = static_cast<const thread*>(fabscope::detail::tls_port->fabric);
    return state != nullptr && state->ready && state->depth != 0;
  }

  FABSCOPE_ALWAYS_INLINE static attempt issue(thread& t, endpoint& ep, request& call) noexcept {
    attempt made{nullptr, 0, remote_of(ep, call), reason::none};
    if (!is_inject(call.op)) {
      const endpoint_side& side = is_receive(call.op) ? ep.receive : ep.transmit;
      made.why = call.has_flags ? detail::judge_call(side, call.flags) : side.plain;
      if (made.why == reason::none) [[likely]] {
        made.slot = detail::pool().get(t.magazine);
        if (made.slot == nullptr) [[unlikely]]
          made.why = reason::pool_full;
      }
    }
    if (made.slot == nullptr) {
      made.begin = now_ticks(t.clock);
      return made;
    }
    const completion_level level = call.has_flags
                                       ? detail::level_of(call.flags)
                                       : (is_receive(call.op) ? ep.receive : ep.transmit).level;
    context_slot& slot = *made.slot;
    std::uint64_t amount = call.bytes;
    if (t.retrying != 0) [[unlikely]]
      amount |= retries_of(t, ep, call.op, made.remote) << 48;
    relaxed_store(slot.context, reinterpret_cast<std::uintptr_t>(call.context));
    relaxed_store(slot.amount, amount);
    relaxed_store(slot.cause, t.thread->cause);
    relaxed_store(slot.ends, relaxed_load(ep.ends));
    relaxed_store(slot.kind,
                  link_row::kind_of(made.remote, static_cast<std::uint8_t>(call.op),
                                    size_class(call.bytes), static_cast<std::uint8_t>(level)));
    call.context = &slot;
    made.begin = now_ticks(t.clock);
    relaxed_store(slot.begin, made.begin);
    // Not done, no marks. Pairs with context_slot::is_done.
    release_store(slot.state, relaxed_load(ep.slot_state));
    return made;
  }

  FABSCOPE_ALWAYS_INLINE static void issued(thread& t, endpoint& ep, const request& call,
                                            const attempt& made, std::int64_t result) noexcept {
    // From here on the slot belongs to whoever reads the completion.
    if (result == 0) [[likely]] {
      if (t.retrying != 0) [[unlikely]]
        accepted(t, ep, call, made);
      if (ep.has_counters) [[unlikely]] {
        if (count_in(t, ep, call, made)) return;
      }
      if (is_inject(call.op))
        injected(t, ep, call, made);
      else if (made.slot == nullptr) [[unlikely]]
        untimed(t, ep, call, made);
      return;
    }
    refused(t, ep, call, made, result);
  }

  static std::uint64_t wait_begins(thread& t) noexcept { return now_ticks(t.clock); }

  FABSCOPE_ALWAYS_INLINE static void polled(thread& t, completion_queue& queue,
                                            const poll& result) noexcept {
    const std::uint64_t now =
        t.poll_clock == counter_kind ? counter_ticks() : end_of_poll(t, result);
    cq_row& row = row_of(t, queue);
    counted_poll(t, row, result, now);
    if (result.count <= 0) return;
    if (result.is_error) {
      failed(t, row, result.entries, now);
    } else {
      relaxed_add(row.productive, 1);
      relaxed_add(row.entries, static_cast<std::uint64_t>(result.count));
      relaxed_max(row.most, static_cast<std::uint64_t>(result.count));
      completed(t, queue, static_cast<char*>(result.entries), result.count, result.sources, now);
    }
  }

  /// Recording is off, but operations from before are still in flight.
  FABSCOPE_NOINLINE static void restore(completion_queue& queue, const poll& result) noexcept {
    const std::uint32_t stride =
        result.is_error ? static_cast<std::uint32_t>(sizeof(fi_cq_err_entry)) : queue.entry_bytes;
    if (stride == 0) return;
    const std::int64_t count = result.is_error ? 1 : result.count;
    for (std::int64_t i = 0; i < count; ++i) {
      char* entry = static_cast<char*>(result.entries) + static_cast<std::size_t>(i) * stride;
      if (context_slot* slot = put_back(entry)) give_up(*slot);
    }
  }

  /// The application names its context; the provider knows our slot. Operations with the same
  /// context are tried from the oldest on, as a provider would.
  template <class Real>
  static ssize_t cancel(endpoint& ep, void* context, Real&& real) {
    const detail::slot_walk walk;
    std::uint64_t after = 0;
    for (;;) {
      detail::context_slot* oldest = nullptr;
      const auto look = [&](detail::context_slot& slot) noexcept {
        if (relaxed_load(slot.context) != reinterpret_cast<std::uintptr_t>(context)) return;
        if ((slot.byte_now(context_slot::marks_byte) & context_slot::cancelled) != 0) return;
        const std::uint64_t begin = relaxed_load(slot.begin);
        if (begin > after && (oldest == nullptr || begin < oldest->begin)) oldest = &slot;
      };
      walk.each(ep.number, look);
      if (ep.alias_of != 0) walk.each(ep.alias_of, look);
      if (oldest == nullptr) break;
      after = relaxed_load(oldest->begin);
      const ssize_t result = real(oldest);
      if (result == 0) {
        relaxed_store(oldest->byte(context_slot::marks_byte), context_slot::cancelled);
      }
      if (result != -FI_ENOENT) return result;
    }
    return real(context);
  }

  static void opened(endpoint& ep) noexcept {
    detail::registry* all = &detail::known_registry();
    const detail::control_lock lock(all->mutex);
    if (detail::fabric_session* session = running()) detail::label_endpoint(*session, ep);
  }

  static std::uint32_t label(std::uint32_t name) noexcept {
    detail::fabric_session* session = running();
    return session == nullptr ? 0 : session->label(detail::registry_pointer->texts[name - 1]);
  }

  /// What is still in flight will never be reported, or late: it ends here.
  static void closed(endpoint& ep) noexcept {
    thread* t = enter();
    const detail::slot_walk walk;
    const std::uint64_t now = t == nullptr ? 0 : now_ticks(t->clock);
    walk.each(ep.number, [&](detail::context_slot& slot) noexcept {
      const completion_queue* queue = is_receive(slot.op()) ? ep.receive.queue : ep.transmit.queue;
      if (t != nullptr && slot.byte_now(context_slot::session_byte) == t->session_byte) {
        abandoned(*t, slot, now);
      }
      relaxed_store(slot.byte(context_slot::marks_byte), context_slot::abandoned);
      slot.set_owner(queue == nullptr ? 0 : queue->number);
      if (queue == nullptr) walk.put(slot);
    });
  }

  /// Entries that were not read are gone.
  static void closed(completion_queue& queue) noexcept {
    const detail::slot_walk walk;
    walk.each(queue.number, [&](detail::context_slot& slot) noexcept { walk.put(slot); });
  }

  FABSCOPE_NOINLINE static void passed(thread& t, endpoint&, collective_call call) noexcept {
    t.tally(t.session->reason_label[static_cast<std::size_t>(reason::collective)],
            t.session->label(to_string(call)));
  }

  /// A counter's value was read: the operations that it counts, the oldest first, are complete.
  static void counted(thread& t, counter& from, std::uint64_t value,
                      std::uint64_t wait_begin) noexcept {
    const std::uint64_t now = now_ticks(t.clock);
    cq_row& row = row_of(t, from.polls);
    poll result;
    result.wait_begin = wait_begin;
    result.may_wait = wait_begin != 0;
    counted_poll(t, row, result, now);
    const std::uint64_t seen = relaxed_load(row.seen);
    if (value != seen) {
      relaxed_add(row.productive, 1);
      if (value > seen) {
        relaxed_add(row.entries, value - seen);
        relaxed_max(row.most, value - seen);
      }
      relaxed_store(row.seen, value);
    }
    using entry = detail::counted_operations::entry;
    const bool known = relaxed_load(from.operations->in_order) != 0;
    from.operations->conclude(
        value, [&](const entry& one) noexcept { conclude(t, one, known ? now : 0); });
  }

  /// What was not concluded never will be.
  static void closed(counter& gone) noexcept {
    thread* t = enter();
    if (t == nullptr) return;
    using entry = detail::counted_operations::entry;
    relaxed_store(gone.operations->in_order, 0U);
    gone.operations->conclude(0, [&](const entry& one) noexcept { conclude(*t, one, 0); });
  }

  /// The next poll of this queue by this thread ends a sleep and not a gap.
  FABSCOPE_NOINLINE static void may_sleep(thread& t, completion_queue& queue) noexcept {
    cq_row& row = row_of(t, queue);
    relaxed_store(row.asleep, now_ticks(t.clock));
    relaxed_store(row.last, 0);
  }

  static std::uint64_t control_begins() noexcept {
    const thread* t = enter();
    return t == nullptr ? 0 : now_ticks(t->clock);
  }
  static void connecting(endpoint& ep) noexcept { ep.connect_begin = control_begins(); }
  static void connected(endpoint& ep) noexcept {
    const thread* t = enter();
    if (t == nullptr || ep.connect_begin == 0) return;
    const std::uint64_t span = now_ticks(t->clock) - ep.connect_begin;
    ep.connect_begin = 0;
    const detail::control_lock lock(detail::known_registry().mutex);
    if (detail::fabric_session* session = running()) session->connected(ep, span);
  }
  static void registered(std::uint32_t nic, std::uint64_t bytes, std::uint64_t begin,
                         int result) noexcept {
    const thread* t = enter();
    if (t == nullptr || begin == 0) return;
    const std::uint64_t span = now_ticks(t->clock) - begin;
    const detail::control_lock lock(detail::known_registry().mutex);
    if (detail::fabric_session* session = running()) {
      session->registered(nic, bytes, span, result == 0);
    }
  }

 private:
  using context_slot = detail::context_slot;

  /// Off, inside the provider, or the first call in a session or after it was switched.
  __attribute__((noinline)) static thread* find_thread(std::uint32_t mask) noexcept {
    if ((mask & recording_fabric) == 0) return nullptr;
    fabscope::detail::thread_port* port = fabscope::detail::port_for(mask);
    if (port == nullptr) return nullptr;
    auto* state = static_cast<thread*>(port->fabric);
    if (state == nullptr) {
      state = detail::set_up_thread(*port);
      if (state == nullptr) {
        port->fabric = detail::refused_thread();
        return nullptr;
      }
    }
    if (state->depth != 0) return nullptr;
    state->armed = mask;
    detail::tls_state = state;
    return state;
  }

  static detail::fabric_session* running() noexcept {
    return detail::session_part_locked(fabscope::detail::find_session());
  }
  FABSCOPE_ALWAYS_INLINE static std::uint32_t remote_of(const endpoint& ep,
                                                        const request& call) noexcept {
    if (ep.addresses == nullptr) return relaxed_load(ep.peer_label);
    if (is_receive(call.op) && !ep.directed_receive) return 0;
    return ep.addresses->label_of(call.peer & ep.address_mask);
  }

  /// The operation of an entry that is ours, its context put back; null if the entry is not.
  FABSCOPE_ALWAYS_INLINE static context_slot* put_back(void* entry) noexcept {
    void* context;
    std::memcpy(&context, entry, sizeof context);
    if (!detail::pool().owns(context)) return nullptr;
    auto* slot = static_cast<context_slot*>(context);
    const std::uint64_t theirs = relaxed_load(slot->context);
    std::memcpy(entry, &theirs, sizeof theirs);
    return slot;
  }

  static void give_up(context_slot& slot) noexcept {
    detail::take_over(slot);
    const detail::control_lock lock(detail::walk_mutex);
    detail::pool().put(*detail::spare_magazine, &slot);
  }

  FABSCOPE_ALWAYS_INLINE static cq_row& row_of(thread& t, const completion_queue& queue) noexcept {
    detail::queue_part& part = t.queues[queue.number % thread::queue_parts];
    if (part.number != queue.number) [[unlikely]]
      find_row(t, queue, part);
    return *part.row;
  }
  /// Where the clock is not the counter, or gaps are off and an empty poll needs no clock.
  FABSCOPE_NOINLINE static std::uint64_t end_of_poll(const thread& t, const poll& result) noexcept {
    const bool needed = t.poll_clock != detail::no_clock || result.count > 0 || result.may_wait;
    return needed ? now_ticks(t.clock) : 0;
  }
  FABSCOPE_ALWAYS_INLINE static void counted_poll(thread& t, cq_row& row, const poll& result,
                                                  std::uint64_t now) noexcept {
    const std::uint64_t last = relaxed_load(row.last);
    relaxed_store(row.last, now);
    relaxed_add(row.polls, 1);
    if (result.may_wait) [[unlikely]]
      waited(row, result, now);
    const std::uint64_t gap = (result.may_wait ? result.wait_begin : now) - last;
    if (gap < t.gap_limit[0]) [[likely]]
      relaxed_add(row.gap[0], 1);
    else
      long_gap(t, row, last, gap, now);
  }
  FABSCOPE_NOINLINE static void find_row(thread& t, const completion_queue& queue,
                                         detail::queue_part& part) noexcept {
    char name[32] = "cq ";
    std::size_t size = 3;
    if (queue.is_counter) {
      std::memcpy(name, "counter ", 8);
      size = 8;
    }
    char digits[12];
    std::size_t count = 0;
    for (std::uint32_t n = queue.number; n != 0; n /= 10)
      digits[count++] = static_cast<char>('0' + n % 10);
    while (count != 0) name[size++] = digits[--count];
    const std::uint32_t nic =
        queue.nic == 0
            ? 0
            : relaxed_load(
                  t.session->nic_labels[queue.nic <= detail::max_nics ? queue.nic - 1
                                                                      : detail::max_nics - 1]);
    const std::uint32_t label = t.session->label({name, size});
    part.row = &t.polls.find({std::uint64_t{label} << 32 | nic, t.port->thread->id}, *t.port);
    part.number = queue.number;
    relaxed_store(part.row->capacity, queue.capacity);
  }

  static void waited(cq_row& row, const poll& result, std::uint64_t now) noexcept {
    relaxed_add(row.blocking, 1);
    relaxed_add(row.blocked, now - result.wait_begin);
  }
  FABSCOPE_NOINLINE static void long_gap(const thread& t, cq_row& row, std::uint64_t last,
                                         std::uint64_t gap, std::uint64_t now) noexcept {
    if (t.gap_limit[0] == 0) return;  // FABSCOPE_CQ_GAPS=0
    if (last == 0) {                  // the first poll, or the first after a sleep that was allowed
      const std::uint64_t asleep = relaxed_load(row.asleep);
      if (asleep == 0) return;
      relaxed_store(row.asleep, 0);
      relaxed_add(row.blocking, 1);
      relaxed_add(row.blocked, now - asleep);
      return;
    }
    std::size_t bucket = 1;
    while (bucket < cq_row::gap_buckets - 1 && gap >= t.gap_limit[bucket]) ++bucket;
    relaxed_add(row.gap[bucket], 1);
    if (gap > relaxed_load(row.longest)) {
      relaxed_store(row.longest, gap);
      relaxed_store(row.longest_end, now);
    }
  }

  static void completed(thread& t, const completion_queue& queue, char* entry, std::int64_t count,
                        const fi_addr_t* sources, std::uint64_t now) noexcept {
    const std::uint32_t stride = queue.entry_bytes;
    if (stride == 0) return;
    completed(t, queue, entry, sources, now);
    for (std::int64_t i = 1; i < count; ++i) {
      entry += stride;
      completed(t, queue, entry, sources == nullptr ? nullptr : sources + i, now);
    }
  }

  /// One entry, and its source where the application asked for sources.
  __attribute__((noinline, flatten)) static void completed(thread& t, const completion_queue& queue,
                                                           char* entry, const fi_addr_t* source,
                                                           std::uint64_t now) noexcept {
    context_slot* const slot = put_back(entry);
    if (slot == nullptr) return;
    detail::take_over(*slot);
    if (!is_current(t, *slot)) [[unlikely]]
      return detail::pool().put(t.magazine, slot);
    const std::uint64_t kind = relaxed_load(slot->kind);
    const std::uint64_t begin = relaxed_load(slot->begin);
    const std::uint64_t ends = relaxed_load(slot->ends);
    const std::uint64_t amount = relaxed_load(slot->amount);
    const std::uint64_t cause = relaxed_load(slot->cause);
    const std::uint8_t nic = slot->byte_now(context_slot::nic_byte);
    detail::pool().put(t.magazine, slot);
    if (is_receive(static_cast<operation>(kind >> 32 & 0xff))) {
      return received(t, queue, entry, source == nullptr ? FI_ADDR_UNSPEC : *source,
                      {kind, begin, ends, amount, cause, nic}, now);
    }
    const std::uint64_t bytes = amount << 16 >> 16;
    detail::nic_part& part = t.count(ends, kind, now - begin, bytes, nic, bytes);
    t.busy(part, begin, now);
    write(t, begin, now, bytes, cause, ends, kind, 0, 0, amount >> 48);
  }

  struct parts {
    std::uint64_t kind;
    std::uint64_t begin;
    std::uint64_t ends;
    std::uint64_t amount;
    std::uint64_t cause;
    std::uint8_t nic;
  };

  /// The entry says how much came, and the source from whom, where the application's choice of
  /// format and function makes them.
  __attribute__((noinline)) static void received(thread& t, const completion_queue& queue,
                                                 const char* entry, fi_addr_t source,
                                                 const parts& of, std::uint64_t now) noexcept {
    const auto op = static_cast<std::uint8_t>(of.kind >> 32);
    auto remote = static_cast<std::uint32_t>(of.kind);
    auto level = static_cast<std::uint8_t>(of.kind >> 48);
    std::uint64_t bytes = of.amount << 16 >> 16;
    std::uint16_t flags = 0;
    if (queue.has_length) {
      std::memcpy(&bytes, entry + offsetof(fi_cq_msg_entry, len), sizeof bytes);
    } else {
      flags = operation_record::posted_size;
      level = level_posted_size;
    }
    if (remote == 0 && queue.addresses != nullptr) remote = queue.addresses->label_of(source);
    const std::uint8_t size = flags == 0 ? size_class(bytes) : std::uint8_t{0};
    const std::uint64_t kind = link_row::kind_of(remote, op, size, level);
    t.count(of.ends, kind, now - of.begin, bytes, of.nic, flags == 0 ? bytes : 0);
    const std::uint64_t written =
        link_row::kind_of(remote, op, 0, static_cast<std::uint8_t>(of.kind >> 48));
    write(t, of.begin, now, bytes, of.cause, of.ends, written, 0, flags, of.amount >> 48);
  }

  FABSCOPE_ALWAYS_INLINE static bool is_current(const thread& t,
                                                const context_slot& slot) noexcept {
    // The session, and no mark but `cancelled`.
    return (slot.marks_and_session() & ~std::uint32_t{context_slot::cancelled}) ==
           std::uint32_t{t.session_byte} << 8;
  }

  FABSCOPE_ALWAYS_INLINE static void count_nic(thread& t, std::uint32_t nic, std::uint64_t ends,
                                               operation op, std::uint64_t bytes) noexcept {
    detail::nic_part& part = t.nics[nic];
    part.use(static_cast<std::uint32_t>(ends));
    std::uint64_t* const sums = part.row->sums_of(op);
    relaxed_add(sums[0], 1);
    relaxed_add(sums[1], bytes);
  }

  /// An operation_record, word by word. `kind` as in a link_row's key.
  FABSCOPE_ALWAYS_INLINE static void write(thread& t, std::uint64_t begin, std::uint64_t end,
                                           std::uint64_t bytes, std::uint64_t cause,
                                           std::uint64_t ends, std::uint64_t kind,
                                           std::uint32_t error, std::uint16_t flags,
                                           std::uint64_t retries) noexcept {
    t.ring.push_words(
        t.record_head, begin, end, bytes, cause, kind << 32 | ends >> 32,
        std::uint64_t{error} << 32 | (ends & 0xffffffffU),
        retries << 32 | std::uint64_t{flags} << 16 | (kind >> 40 & 0xff00U) | (kind >> 32 & 0xffU));
  }

  // The rest is rare.

  FABSCOPE_NOINLINE static void failed(thread& t, cq_row& row, void* entries,
                                       std::uint64_t now) noexcept {
    relaxed_add(row.errors, 1);
    auto* entry = static_cast<fi_cq_err_entry*>(entries);
    if (entry->err == FI_EOVERRUN) relaxed_add(row.overruns, 1);
    context_slot* slot = put_back(entry);
    if (slot == nullptr) return;
    detail::take_over(*slot);
    if (is_current(t, *slot)) {
      const auto error = static_cast<std::uint32_t>(entry->err < 0 ? -entry->err : entry->err);
      ended(t, *slot, is_receive(slot->op()) ? entry->len : slot->bytes(), now,
            failure_stage::completion, error);
    }
    detail::pool().put(t.magazine, slot);
  }

  static void abandoned(thread& t, const context_slot& slot, std::uint64_t now) noexcept {
    ended(t, slot, slot.bytes(), now, failure_stage::closed, 0);
  }

  static void ended(thread& t, const context_slot& slot, std::uint64_t bytes, std::uint64_t now,
                    failure_stage stage, std::uint32_t error) noexcept {
    const operation op = slot.op();
    count_failure(t, slot.ends, slot.remote(), op, stage, error, bytes);
    if (!is_receive(op)) t.busy(t.nics[slot.byte_now(context_slot::nic_byte)], slot.begin, now);
    write(t, slot.begin, now, bytes, slot.cause, slot.ends, slot.kind, error,
          stage == failure_stage::closed ? std::uint16_t{operation_record::abandoned}
                                         : std::uint16_t{0},
          slot.retries());
  }

  static link_error_row& count_failure(thread& t, std::uint64_t ends, std::uint32_t remote,
                                       operation op, failure_stage stage, std::uint32_t error,
                                       std::uint64_t bytes) noexcept {
    const std::uint64_t kind =
        static_cast<std::uint64_t>(stage) << 40 | static_cast<std::uint64_t>(op) << 32 | remote;
    link_error_row& row = t.errors.find({ends, kind, error}, *t.port);
    relaxed_add(row.count, 1);
    relaxed_add(row.bytes, bytes);
    return row;
  }

  static detail::retry_part* retry_of(thread& t, const endpoint& ep, operation op,
                                      std::uint32_t remote) noexcept {
    detail::retry_part& part = t.retries[ep.number % thread::retry_parts];
    const bool same = part.count != 0 && part.endpoint == ep.number && part.remote == remote &&
                      part.op == static_cast<std::uint8_t>(op);
    return same ? &part : nullptr;
  }
  FABSCOPE_NOINLINE static std::uint64_t retries_of(thread& t, const endpoint& ep, operation op,
                                                    std::uint32_t remote) noexcept {
    const detail::retry_part* retry = retry_of(t, ep, op, remote);
    if (retry == nullptr) return 0;
    return retry->count < 0xffff ? retry->count : 0xffff;
  }

  /// The call returned an error: nothing is in flight.
  FABSCOPE_NOINLINE static void refused(thread& t, const endpoint& ep, const request call,
                                        const attempt made, std::int64_t result) noexcept {
    if (made.slot != nullptr) {
      detail::take_over(*made.slot);
      detail::pool().put(t.magazine, made.slot);
    }
    const bool again = result == -FI_EAGAIN;
    const auto error = static_cast<std::uint32_t>(result < 0 ? -result : result);
    count_failure(t, relaxed_load(ep.ends), made.remote, call.op, failure_stage::issue, error,
                  again ? 0 : call.bytes);
    if (!again) return;
    if (detail::retry_part* known = retry_of(t, ep, call.op, made.remote)) {
      ++known->count;
      return;
    }
    detail::retry_part& part = t.retries[ep.number % thread::retry_parts];
    if (part.count == 0) ++t.retrying;
    part = {made.begin, ep.number, made.remote, 1, static_cast<std::uint8_t>(call.op)};
  }

  FABSCOPE_NOINLINE static void accepted(thread& t, const endpoint& ep, const request call,
                                         const attempt made) noexcept {
    detail::retry_part* part = retry_of(t, ep, call.op, made.remote);
    if (part == nullptr) return;
    const std::uint64_t kind = static_cast<std::uint64_t>(call.op) << 32 | made.remote;
    link_error_row& row =
        t.errors.find({relaxed_load(ep.ends), kind, std::uint64_t{FI_EAGAIN}}, *t.port);
    const std::uint64_t stall = made.begin - part->first;
    relaxed_add(row.stall, stall);
    relaxed_max(row.stall_max, stall);
    part->count = 0;
    --t.retrying;
  }

  /// There will be no completion: what can be timed is the call.
  FABSCOPE_NOINLINE static void injected(thread& t, const endpoint& ep, const request call,
                                         const attempt made) noexcept {
    const std::uint64_t now = now_ticks(t.clock);
    const std::uint64_t ends = relaxed_load(ep.ends);
    const std::uint64_t kind = link_row::kind_of(made.remote, static_cast<std::uint8_t>(call.op),
                                                 size_class(call.bytes), 0);
    t.count(ends, kind, now - made.begin, call.bytes, ep.nic_slot, call.bytes);
    write(t, made.begin, now, call.bytes, t.thread->cause, ends, kind, 0, 0, 0);
  }

  /// Takes part in the order in which a counter counts. True if the operation waits there for its
  /// conclusion.
  FABSCOPE_NOINLINE static bool count_in(thread& t, const endpoint& ep, const request call,
                                         const attempt made) noexcept {
    const counter* by = ep.counters[static_cast<unsigned>(counted_kind_of(call.op))];
    if (by == nullptr) return false;
    detail::counted_operations& all = *by->operations;
    const bool waits = made.slot == nullptr && !is_inject(call.op);
    const bool ordinary = made.why == reason::selective || made.why == reason::no_queue;
    // These count at another time, or another number of times.
    if (waits && !ordinary && made.why != reason::pool_full) relaxed_store(all.in_order, 0U);
    const std::uint64_t number = all.next();
    if (!waits || !ordinary || relaxed_load(all.in_order) == 0 || !all.has_room(number)) {
      return false;
    }
    const endpoint_side& side = is_receive(call.op) ? ep.receive : ep.transmit;
    const auto level =
        static_cast<std::uint8_t>(call.has_flags ? detail::level_of(call.flags) : side.level);
    detail::counted_operations::entry& one = all.at(number);
    relaxed_store(one.begin, made.begin);
    relaxed_store(one.ends, relaxed_load(ep.ends));
    relaxed_store(one.kind, link_row::kind_of(made.remote, static_cast<std::uint8_t>(call.op),
                                              size_class(call.bytes), level));
    relaxed_store(one.amount, call.bytes);
    relaxed_store(one.cause, t.thread->cause);
    relaxed_store(one.state, relaxed_load(ep.slot_state));
    release_store(one.ready, number + 1);  // pairs with counted_operations::conclude
    return true;
  }

  /// `now` 0: it is not known when it was complete.
  FABSCOPE_NOINLINE static void conclude(thread& t, const detail::counted_operations::entry& one,
                                         std::uint64_t now) noexcept {
    const std::uint64_t state = relaxed_load(one.state);
    if (static_cast<std::uint8_t>(state >> 56) != t.session_byte) return;
    const auto nic = static_cast<std::uint8_t>(state >> 32);
    const std::uint64_t kind = relaxed_load(one.kind);
    const std::uint64_t begin = relaxed_load(one.begin);
    const std::uint64_t ends = relaxed_load(one.ends);
    const std::uint64_t bytes = relaxed_load(one.amount);
    const std::uint64_t cause = relaxed_load(one.cause);
    const auto op = static_cast<operation>(kind >> 32 & 0xff);
    if (now == 0) {
      t.tally(t.session->reason_label[static_cast<std::size_t>(reason::selective)],
              t.session->op_label[static_cast<std::size_t>(op)]);
      if (is_receive(op)) return;
      constexpr std::uint64_t level = std::uint64_t{0xffff} << 48;
      const std::uint64_t untimed_kind = (kind & ~level) | std::uint64_t{level_untimed} << 48;
      t.link(ends, untimed_kind).add_untimed(bytes);
      count_nic(t, nic, ends, op, bytes);
      write(t, begin, begin, bytes, cause, ends, untimed_kind, 0, operation_record::untimed, 0);
      return;
    }
    constexpr std::uint64_t mark = std::uint64_t{level_inferred} << 48;
    std::uint16_t flags = operation_record::inferred;
    if (is_receive(op)) {
      flags |= operation_record::posted_size;
      const std::uint64_t received =
          link_row::kind_of(static_cast<std::uint32_t>(kind), static_cast<std::uint8_t>(op), 0,
                            level_posted_size | level_inferred);
      t.count(ends, received, now - begin, bytes, nic, 0);
    } else {
      detail::nic_part& part = t.count(ends, kind | mark, now - begin, bytes, nic, bytes);
      t.busy(part, begin, now);
    }
    write(t, begin, now, bytes, cause, ends, kind, 0, flags, 0);
  }

  /// Passed through untouched. A receive of that kind says nothing about what came.
  FABSCOPE_NOINLINE static void untimed(thread& t, const endpoint& ep, const request call,
                                        const attempt made) noexcept {
    t.tally(t.session->reason_label[static_cast<std::size_t>(made.why)],
            t.session->op_label[static_cast<std::size_t>(call.op)]);
    if (is_receive(call.op)) return;
    const std::uint64_t ends = relaxed_load(ep.ends);
    const std::uint64_t kind = link_row::kind_of(made.remote, static_cast<std::uint8_t>(call.op),
                                                 size_class(call.bytes), level_untimed);
    t.link(ends, kind).add_untimed(call.bytes);
    count_nic(t, ep.nic_slot, ends, call.op, call.bytes);
    write(t, made.begin, made.begin, call.bytes, t.thread->cause, ends, kind, 0,
          operation_record::untimed, 0);
  }
};
static_assert(operation_policy<timing> && operation_policy<passive_policy>);

}  // namespace fabric

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// The adapter's part in one session: numbers of types and labels, and what the collector does for
// it. Layer: fabric.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <vector>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/fabric/registry.hpp>
#include <fabscope/fabric/thread_state.hpp>
#include <fabscope/scope/link.hpp>
#include <fabscope/session/env.hpp>
#include <fabscope/stats/fabric_rows.hpp>
#include <fabscope/stats/in_flight_row.hpp>
#include <fabscope/stats/interval_union.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

/// FABSCOPE_CQ_GAPS, and where it is not set intercept_timer's name: only 0 switches gaps off.
inline bool poll_gaps_wanted(const environment& env) noexcept {
  const char* text = env.get_filled("FABSCOPE_CQ_GAPS");
  if (text == nullptr) text = env.get_filled("INTERCEPT_TIMER_CQGAP");
  return text == nullptr || trim(text) != "0";
}

/// Made by the first that needs it in a session, and kept for good: threads hold pointers to it.
struct fabric_session {
  static constexpr std::uint32_t max_connections = 256;  ///< rows; the last one is for all others
  std::uint32_t number = 0;
  const fabscope_table* table = nullptr;
  std::uint32_t link_type = 0;
  std::uint32_t error_type = 0;
  std::uint32_t nic_type = 0;
  std::uint32_t histogram_type = 0;
  std::uint32_t cq_type = 0;
  std::uint32_t tally_type = 0;
  std::uint16_t operation_type = 0;
  std::uint32_t op_label[static_cast<std::size_t>(operation::count_)] = {};
  std::uint32_t reason_label[static_cast<std::size_t>(reason::count_)] = {};
  std::uint32_t in_flight_label = 0;
  std::uint32_t no_memory_label = 0;
  std::uint64_t gap_limit[cq_row::gap_buckets - 1] = {};
  bool poll_gaps = true;  ///< false: empty polls are counted and read no clock

  nic_row* nics = nullptr;  ///< of the process: busy time, device, line rate
  tally_row* tallies = nullptr;
  std::uint32_t tally_rows = 0;
  connection_row* connections = nullptr;  ///< under the registry's lock, as registrations
  registration_row* registrations = nullptr;
  in_flight_row* waiting = nullptr;  ///< places for the oldest operations: sends and such, receives
  std::uint32_t nic_labels[max_nics] = {};
  std::uint64_t nic_devices[max_nics] = {};
  std::uint64_t nic_rates[max_nics] = {};
  thread_state* threads = nullptr;      ///< pushed at the front, never taken out
  interval_union* busy[max_nics] = {};  ///< the collector's, made when needed
  std::uint64_t last_tick = 0;
  std::vector<busy_interval> batch;
  fabric_session* earlier = nullptr;

  template <class T>
  std::uint32_t type() const noexcept {
    const fabscope_type about = describe<T>();
    return table->type(&about);
  }
  std::uint32_t label(std::string_view text) const noexcept {
    return table->label(text.data(), text.size());
  }

  /// Control path. Errors: null if there is no room for the rows of the process.
  bool start(const fabscope_table* running, std::uint32_t session) noexcept {
    number = session;
    table = running;
    poll_gaps = poll_gaps_wanted(environment::of_process());
    link_type = type<link_row>();
    error_type = type<link_error_row>();
    nic_type = type<nic_row>();
    histogram_type = type<nic_histogram_row>();
    cq_type = type<cq_row>();
    tally_type = type<tally_row>();
    operation_type = static_cast<std::uint16_t>(type<operation_record>());
    for (std::size_t i = 1; i < static_cast<std::size_t>(operation::count_); ++i) {
      op_label[i] = label(to_string(static_cast<operation>(i)));
    }
    for (std::size_t i = 1; i < static_cast<std::size_t>(reason::count_); ++i) {
      reason_label[i] = label(to_string(static_cast<reason>(i)));
    }
    in_flight_label = label("in flight at the end");
    no_memory_label = label("no memory for rows");
    // How many ticks 10 us to 100 ms are. The rate of the clock is known to far better than 1 %.
    constexpr std::uint64_t sample = std::uint64_t{1} << 32;
    const std::uint64_t from = now_ticks(static_cast<clock_kind>(table->clock));
    const std::uint64_t ns = table->to_ns(from) - table->to_ns(from - sample);
    double limit =
        ns == 0 ? 10000.0 : 10000.0 * (static_cast<double>(sample) / static_cast<double>(ns));
    for (std::uint64_t& ticks : gap_limit) {
      ticks = static_cast<std::uint64_t>(limit);
      limit *= 10;
    }
    static constexpr char key = 0;
    nics = static_cast<nic_row*>(table->memory(nullptr, &key, nic_type, max_nics));
    tally_rows = registry::max_tallies + static_cast<std::uint32_t>(operation::count_);
    tallies = static_cast<tally_row*>(table->memory(nullptr, &key, tally_type, tally_rows));
    waiting = static_cast<in_flight_row*>(
        table->memory(nullptr, &key, type<in_flight_row>(), 2 * in_flight_list::places));
    connections = static_cast<connection_row*>(
        table->memory(nullptr, &key, type<connection_row>(), max_connections));
    registrations = static_cast<registration_row*>(
        table->memory(nullptr, &key, type<registration_row>(), max_nics));
    if (connections == nullptr || registrations == nullptr) return false;
    if (nics == nullptr || tallies == nullptr || waiting == nullptr) return false;
    const fabscope_client client{sizeof(fabscope_client),
                                 0,
                                 "fabric",
                                 this,
                                 [](void* self) { static_cast<fabric_session*>(self)->tick(); },
                                 [](void* self) { static_cast<fabric_session*>(self)->finish(); }};
    return table->client(&client) != 0;
  }

  /// Threads: under the registry's lock. What has no place of its own is in the last.
  void connected(const endpoint& ep, std::uint64_t span) noexcept {
    const connection_row::key_type key{relaxed_load(ep.ends), relaxed_load(ep.peer_label)};
    connection_row* row = connections;
    connection_row* const last = connections + max_connections - 1;
    const auto other = [&](const connection_row& r) {
      const connection_row::key_type known = r.key();
      return r.used != 0 && (known.ends != key.ends || known.remote != key.remote);
    };
    while (row != last && other(*row)) ++row;
    if (row->used == 0) {
      row->set_key(key);
      release_store(row->used, row == last ? row_is_other : row_in_use);
    }
    relaxed_add(row->count, 1);
    relaxed_add(row->sum, span);
    relaxed_max(row->max, span);
  }
  void registered(std::uint32_t nic, std::uint64_t bytes, std::uint64_t span,
                  bool success) noexcept {
    const std::uint32_t slot = nic == 0 || nic > max_nics ? max_nics - 1 : nic - 1;
    registration_row& row = registrations[slot];
    if (row.used == 0) {
      row.set_key({relaxed_load(nic_labels[slot])});
      release_store(row.used, row_in_use);
    }
    if (!success) return relaxed_add(row.failed, 1);
    relaxed_add(row.count, 1);
    relaxed_add(row.bytes, bytes);
    relaxed_add(row.sum, span);
    relaxed_max(row.max, span);
  }

  void add(thread_state& thread) noexcept {
    thread.next = __atomic_load_n(&threads, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&threads, &thread.next, &thread, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {  // pairs with the load in tick
    }
  }

  /// Threads: the collector.
  void tick() noexcept {
    batch.clear();
    thread_state* const first = __atomic_load_n(&threads, __ATOMIC_ACQUIRE);
    for (thread_state* thread = first; thread != nullptr; thread = thread->next) {
      thread->intervals.consume([this, thread](std::span<const busy_interval> part) noexcept {
        for (const busy_interval& one : part) add_fresh(thread->nics[one.nic], one);
      });
      for (std::uint32_t i = 0; i < max_nics; ++i) {
        const interval open = thread->nics[i].open.current();
        if (open.length() == 0) continue;
        add_fresh(thread->nics[i], {open.begin, open.end, i});
        thread->nics[i].reported = open;
      }
    }
    add_operations_in_flight();
    // In order of time over all threads, so that nothing comes after its time was summed.
    std::sort(batch.begin(), batch.end(),
              [](const busy_interval& a, const busy_interval& b) { return a.begin < b.begin; });
    for (const busy_interval& one : batch) {
      if (busy[one.nic] == nullptr) busy[one.nic] = new (std::nothrow) interval_union;
      if (busy[one.nic] != nullptr) busy[one.nic]->add(one.begin, one.end);
    }
    for (std::uint32_t i = 0; i < max_nics; ++i) publish_nic(i, first);
    publish_tallies();
  }

  /// Threads: the collector, once. Sends that never completed count as such and are busy to the
  /// end.
  void finish() noexcept {
    tick();
    std::uint64_t left[static_cast<std::size_t>(operation::count_)] = {};
    pool().for_each_taken([&](const context_slot& slot) noexcept {
      const auto op = static_cast<std::size_t>(slot.op());
      if (in_flight(slot) && op < std::size(left)) ++left[op];
    });
    for (std::uint32_t i = 0; i < std::size(left); ++i) {
      if (left[i] == 0) continue;
      publish(tallies[registry::max_tallies + i], in_flight_label, op_label[i], left[i]);
    }
  }

 private:
  // Leaves out what was reported while the interval was still open: that may be summed already, and
  // would count as come too late.
  void add_fresh(const nic_part& part, busy_interval one) noexcept {
    const interval& known = part.reported;
    if (one.end <= known.begin || one.begin >= known.end) return batch.push_back(one);
    if (one.begin < known.begin) batch.push_back({one.begin, known.begin, one.nic});
    if (one.end > known.end) batch.push_back({known.end, one.end, one.nic});
  }

  // What is in flight now has been busy up to now: without this, a long operation would report its
  // time only at its end, after the time of shorter ones was summed.
  void add_operations_in_flight() noexcept {
    const std::uint64_t now = now_ticks(static_cast<clock_kind>(table->clock));
    in_flight_list oldest[2];  // receives wait for their peers, and would hide the others
    pool().for_each_taken([&](const context_slot& slot) noexcept {
      const std::uint32_t generation = acquire_load(slot.pool_tag.generation);
      if (!in_flight(slot)) return;
      const in_flight_row seen = seen_in(slot, now);
      const busy_interval one{seen.begin, now, slot.byte_now(context_slot::nic_byte)};
      const bool ours = slot.byte_now(context_slot::session_byte) == (number & 0xff);
      // Given back meanwhile: then begin may be another operation's.
      if (slot.is_done() || relaxed_load(slot.pool_tag.generation) != generation) return;
      if (one.begin == 0 || one.begin >= now || one.nic >= max_nics) return;
      const bool receive = is_receive(static_cast<operation>(seen.op));
      if (ours) oldest[receive ? 1 : 0].add(seen);
      if (!receive) batch.push_back({one.begin > last_tick ? one.begin : last_tick, now, one.nic});
    });
    last_tick = now;
    oldest[0].publish(waiting, 0);
    oldest[1].publish(waiting + in_flight_list::places, in_flight_list::places);
  }

  // Of an endpoint that was closed nothing is: it was counted then.
  static bool in_flight(const context_slot& slot) noexcept {
    return !slot.is_done() &&
           (slot.byte_now(context_slot::marks_byte) & context_slot::abandoned) == 0;
  }

  static in_flight_row seen_in(const context_slot& slot, std::uint64_t now) noexcept {
    const std::uint64_t ends = relaxed_load(slot.ends);
    in_flight_row out;
    out.nic = static_cast<std::uint32_t>(ends);
    out.local = static_cast<std::uint32_t>(ends >> 32);
    out.remote = slot.remote();
    out.begin = acquire_load(slot.begin);
    out.seen = now;
    out.bytes = slot.bytes();
    out.cause = relaxed_load(slot.cause);
    out.op = static_cast<std::uint8_t>(slot.op());
    return out;
  }

  void publish_nic(std::uint32_t i, const thread_state* first) noexcept {
    const std::uint32_t nic = acquire_load(nic_labels[i]);
    if (nic == 0) return;
    std::uint64_t bridged = 0;
    std::uint32_t contributors = 0;
    for (const thread_state* thread = first; thread != nullptr; thread = thread->next) {
      bridged += relaxed_load(thread->nics[i].bridged);
      contributors += relaxed_load(thread->nics[i].used) != 0 ? 1U : 0U;
    }
    if (busy[i] == nullptr) return;
    const std::uint64_t total = busy[i]->total();
    const std::uint64_t sure = total > bridged ? total - bridged : 0;
    // One thread knows its own gaps exactly.
    const std::uint64_t doubtful = contributors > 1 ? bridged : 0;
    nic_row& row = nics[i];
    relaxed_store(row.nic, nic);
    relaxed_store(row.device, relaxed_load(nic_devices[i]));
    relaxed_store(row.line_rate, relaxed_load(nic_rates[i]));
    relaxed_store(row.busy, sure);
    relaxed_store(row.busy_uncertain, doubtful + busy[i]->uncertain());
    release_store(row.used, row_in_use);
  }

  void publish(tally_row& row, std::uint32_t what, std::uint32_t subject,
               std::uint64_t count) noexcept {
    row.set_key({std::uint64_t{subject} << 32 | what});
    relaxed_store(row.count, count);
    release_store(row.used, row_in_use);
  }
  void publish_tallies() noexcept {
    const registry* all = __atomic_load_n(&registry_pointer, __ATOMIC_ACQUIRE);
    if (all == nullptr) return;
    const std::uint32_t count = acquire_load(all->tally_count);
    for (std::uint32_t i = 0; i < count; ++i) {
      const control_tally& seen = all->tallies[i];
      tally_row& row = tallies[i];
      if (row.used == 0) publish(row, label(seen.what), label(seen.subject), 0);
      relaxed_store(row.count, relaxed_load(seen.count));
    }
  }
};

inline constinit fabric_session* newest_session = nullptr;  // under the registry's lock

/// Labels of a NIC in this session.  Threads: under the registry's lock.
inline void label_nic(fabric_session& session, std::uint32_t nic) noexcept {
  const registry& all = *registry_pointer;
  if (nic == 0) return;
  const std::uint32_t slot = nic <= max_nics ? nic - 1 : max_nics - 1;
  if (relaxed_load(session.nic_labels[slot]) != 0) return;
  const nic_entry& entry = all.nics[nic - 1];
  relaxed_store(session.nic_devices[slot], std::uint64_t{session.label(entry.device)});
  relaxed_store(session.nic_rates[slot], entry.line_rate);
  const bool many = all.nics.size() > max_nics && slot == max_nics - 1;
  release_store(session.nic_labels[slot], session.label(many ? "other NICs" : entry.name));
}

/// Writes the session's labels into an endpoint.  Threads: under the registry's lock.
inline void label_endpoint(fabric_session& session, endpoint& ep) noexcept {
  const registry& all = *registry_pointer;
  label_nic(session, ep.nic);
  ep.nic_slot = static_cast<std::uint8_t>(ep.nic == 0          ? max_nics - 1
                                          : ep.nic <= max_nics ? ep.nic - 1
                                                               : max_nics - 1);
  const std::uint32_t nic = relaxed_load(session.nic_labels[ep.nic_slot]);
  const std::uint32_t local = ep.local_name == 0 ? 0 : session.label(all.texts[ep.local_name - 1]);
  relaxed_store(ep.peer_label, ep.peer_name == 0 ? 0 : session.label(all.texts[ep.peer_name - 1]));
  relaxed_store(ep.ends, std::uint64_t{local} << 32 | nic);
  relaxed_store(ep.slot_state, context_slot::pack(ep.number, ep.nic_slot,
                                                  static_cast<std::uint8_t>(session.number)));
}

/// The adapter's part in the running session, made if there is none yet. Null: no session, or no
/// room. Threads: under the registry's lock.
inline fabric_session* session_part_locked(const fabscope_table* table) noexcept {
  if (table == nullptr || registry_pointer == nullptr) return nullptr;
  const std::uint32_t number = session_number(__atomic_load_n(table->mask, __ATOMIC_ACQUIRE));
  if (number == 0) return nullptr;
  if (newest_session != nullptr && newest_session->number == number) {
    return newest_session->table == nullptr ? nullptr : newest_session;
  }
  auto* made = new (std::nothrow) fabric_session;
  if (made == nullptr) return nullptr;
  made->earlier = newest_session;
  newest_session = made;
  if (!made->start(table, number)) {
    made->table = nullptr;  // not tried again in this session
    return nullptr;
  }
  registry& all = *registry_pointer;
  for (std::uint32_t i = 1; i <= all.nics.size(); ++i) label_nic(*made, i);
  for (endpoint* ep = all.endpoints; ep != nullptr; ep = ep->next) label_endpoint(*made, *ep);
  for (address_vector* vector = all.vectors; vector != nullptr; vector = vector->next) {
    vector->addresses->relabel(
        [&](std::uint32_t name) { return made->label(all.texts[name - 1]); });
  }
  return made;
}

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END

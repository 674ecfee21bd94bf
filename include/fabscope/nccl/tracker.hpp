// SPDX-License-Identifier: Apache-2.0
// The host's callbacks, the same for all versions of the interface. Layer: nccl.
//
// No lock, no allocation, no system call after a thread's first event; no callback fails.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string_view>

#include <fabscope/event/cause.hpp>
#include <fabscope/nccl/completion.hpp>
#include <fabscope/nccl/descriptors.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nccl::detail {

/// What a text of the host stands for. Texts are literals of the host: their address is their name
/// until another host is initialised.
template <class Find>
inline std::uint32_t known(known_text (&cache)[16], const char* text, Find&& find) noexcept {
  if (text == nullptr) return find(std::string_view());
  const auto address = reinterpret_cast<std::uintptr_t>(text);
  known_text& at = cache[(address ^ address >> 4) & 15];
  const std::uint32_t epoch = relaxed_load(init_epoch);
  if (at.text == text && at.epoch == epoch) [[likely]]
    return at.number;
  at = {text, epoch, find(std::string_view(text))};
  return at.number;
}

inline std::uint32_t function_of(thread_state& mine, const char* text) noexcept {
  return known(mine.functions, text, [](std::string_view name) noexcept {
    return static_cast<std::uint32_t>(collective_named(name));
  });
}
inline std::uint32_t datatype_of(thread_state& mine, const char* text) noexcept {
  return known(mine.datatypes, text, [](std::string_view name) noexcept {
    return std::uint32_t{datatype_names.find(name)};
  });
}
inline std::uint32_t algorithm_of(thread_state& mine, const char* text) noexcept {
  return known(mine.methods, text, [](std::string_view name) noexcept {
    return std::uint32_t{algorithm_names.find(name)} | std::uint32_t{protocol_names.find(name)}
                                                           << 4;
  });
}
/// Version 1 has the host's numbers: functions by ncclFunc_t, types by ncclDataType_t, algorithms
/// and protocols by their place in the lists of NCCL 2.23.
inline std::uint32_t function_of(thread_state&, std::uint8_t number) noexcept {
  constexpr collective order[] = {collective::broadcast,  collective::reduce,
                                  collective::all_gather, collective::reduce_scatter,
                                  collective::all_reduce, collective::send_recv,
                                  collective::send,       collective::recv};
  return number < 8 ? static_cast<std::uint32_t>(order[number]) : 0;
}
inline std::uint32_t datatype_of(thread_state&, std::uint8_t number) noexcept {
  // ncclInt8, Uint8, Int32, Uint32, Int64, Uint64, Float16, Float32, Float64, Bfloat16
  return number < 10 ? number + 1U : 0;
}

/// The label of a communicator in the thread's session.
FABSCOPE_NOINLINE inline std::uint32_t label_communicator(const thread_state& mine,
                                                          communicator& one) noexcept {
  char text[256];
  const int size = std::snprintf(text, sizeof text, "0x%016llx %u %u %u %u %s",
                                 static_cast<unsigned long long>(one.id), one.rank, one.ranks,
                                 one.nodes, one.generation, one.name);
  const std::uint32_t label =
      mine.session->label({text, size > 0 ? static_cast<std::size_t>(size) : 0});
  relaxed_store(one.label, std::uint64_t{mine.session->number} << 32 | label);
  return label;
}
FABSCOPE_ALWAYS_INLINE std::uint32_t label_of(const thread_state& mine,
                                              communicator& one) noexcept {
  const std::uint64_t label = relaxed_load(one.label);
  if (label >> 32 != mine.session->number) [[unlikely]]
    return label_communicator(mine, one);
  return static_cast<std::uint32_t>(label);
}

inline std::uint64_t bits_of(const void* handle) noexcept {
  return reinterpret_cast<std::uintptr_t>(handle);
}
inline void* pointer_of(std::uint64_t bits) noexcept {
  return handle::from_bits(bits).to_pointer();
}

/// Why a handle that should be a parent is none.
inline ignored why_no_parent(const void* parent) noexcept {
  if (parent == nullptr) return ignored::no_parent;
  return handle::from_pointer(parent).is_tombstone() ? ignored::parent_dropped : ignored::stale;
}

template <class Descriptor>
inline void* start_api(thread_state& mine, bool captured) noexcept {
  const cause doing(relaxed_load(mine.port->thread->cause));
  const bool scope = doing.kind() == cause_kind::scope;
  return pointer_of(value_handle(captured ? captured_bit : 0, scope ? doing.label() : 0,
                                 scope ? doing.number() : 0));
}

/// A collective or a point-to-point operation.
template <class Descriptor>
inline void* start_operation(thread_state& mine, void* context, const Descriptor& d,
                             bool point_to_point) noexcept {
  const std::uint64_t type = point_to_point ? event_p2p : event_coll;
  communicator* const comm = communicators.find(handle::from_pointer(context));
  if (comm == nullptr) {
    mine.count(ignored::communicator_gone, type);
    return nullptr;
  }
  const std::uint64_t now = now_ticks(mine.clock);
  operation_slot* const slot = operations.get(mine.operation_magazine);
  if (slot == nullptr) {
    mine.count(ignored::pool_full, type);
    return handle::tombstone().to_pointer();
  }
  collective_record& record = slot->record;
  record.header = {};
  record.header.ticks = now;
  record.flags = 0;
  record.parent = 0;
  unsigned announced = 0;
  bool announces = false;
  std::uint32_t function = 0;
  std::uint32_t datatype = 0;
  if (point_to_point) {
    function = function_of(mine, d.p2p.func);
    datatype = datatype_of(mine, d.p2p.datatype);
    record.bytes = d.p2p.count * datatype_bytes(datatype);
    record.peer = d.p2p.peer;
    record.method = 0;
    record.sequence = __atomic_add_fetch(&comm->sends, 1U, __ATOMIC_RELAXED);
    if constexpr (Descriptor::version >= 4) {
      announced = d.p2p.channels;
      announces = true;
    }
  } else {
    function = function_of(mine, d.coll.func);
    datatype = datatype_of(mine, d.coll.datatype);
    record.bytes = d.coll.count * datatype_bytes(datatype);
    record.peer = d.coll.root;
    record.sequence = static_cast<std::uint32_t>(d.coll.sequence);
    if constexpr (Descriptor::version == 1) {
      const unsigned algorithm = d.coll.algorithm < 7U ? d.coll.algorithm + 1U : 0U;
      const unsigned protocol = d.coll.protocol < 3U ? d.coll.protocol + 1U : 0U;
      record.method = static_cast<std::uint8_t>(algorithm | protocol << 4);
    } else {
      record.method = static_cast<std::uint8_t>((algorithm_of(mine, d.coll.algorithm) & 15U) |
                                                (algorithm_of(mine, d.coll.protocol) & 0xf0U));
    }
    if constexpr (Descriptor::version >= 7) {
      if (d.coll.symmetric) {
        record.method =
            static_cast<std::uint8_t>(algorithm_names.find("SYMMETRIC") | (record.method & 0xf0U));
      }
    }
    announced = d.coll.channels;
    announces = true;
  }
  relaxed_store(record.kind, static_cast<std::uint8_t>(function | datatype << 4));
  record.communicator = label_of(mine, *comm);
  if constexpr (Descriptor::version >= 5) {
    const std::uint64_t call = bits_of(d.parent);
    if (is_value(call) && (call & proxy_bit) == 0) {
      if (value_label(call) != 0) {
        record.parent = cause(cause_kind::scope, value_label(call), value_number(call)).bits();
      }
      if ((call & captured_bit) != 0) record.flags |= collective_record::captured;
    }
  }
  // Before version 3 there are no kernel events, and nobody sends them who was not asked to.
  const bool kernels =
      Descriptor::version >= 3 && comm->mask != nullptr &&
      (static_cast<unsigned>(__atomic_load_n(comm->mask, __ATOMIC_RELAXED)) & event_kernel_ch) != 0;
  relaxed_store(slot->expected, static_cast<std::uint16_t>(kernels ? announced : 0));
  // 256 channels come as 0.
  relaxed_store(slot->unknown,
                static_cast<std::uint8_t>(kernels && (!announces || announced == 0) ? 1 : 0));
  slot->gpu_khz = comm->gpu_khz;
  relaxed_store(slot->session, mine.session->number);
  slot->stop = now;
  slot->first_cpu = slot->first_gpu = ~std::uint64_t{0};
  slot->last_cpu = slot->last_gpu = 0;
  slot->longest_cpu = slot->longest_gpu = 0;
  relaxed_store(slot->cpu_only, 0U);
  relaxed_store(slot->touched, now);
  const std::uint64_t bits = handle_of(*slot);
  release_store(slot->state, (bits >> 32) << 32 | state::started);  // pairs with look()
  return pointer_of(bits);
}

template <class Descriptor>
inline void* start_channel(thread_state& mine, const Descriptor& d) noexcept {
  const std::uint64_t parent = bits_of(d.parent);
  operation_slot* const owner = find_operation(parent);
  if (owner == nullptr) {
    mine.count(why_no_parent(d.parent), event_kernel_ch);
    return nullptr;
  }
  channel_slot* const slot = channels.get(mine.channel_magazine);
  if (slot == nullptr) {
    mine.count(ignored::pool_full, event_kernel_ch);
    return handle::tombstone().to_pointer();
  }
  const std::uint64_t now = now_ticks(mine.clock);
  std::uint64_t ignored_state = 0;
  const bool held = step(owner->state, parent, ignored_state, [](std::uint64_t s) noexcept {
    return state::open(s) == state::count_bits ? s : s + state::one_open;
  });
  if (!held) {
    channels.put(mine.channel_magazine, slot);
    mine.count(ignored::stale, event_kernel_ch);
    return nullptr;
  }
  relaxed_store(slot->operation, parent);
  relaxed_store(slot->begin, now);
  relaxed_store(slot->end, std::uint64_t{0});
  relaxed_store(slot->gpu_end, std::uint64_t{0});
  slot->gpu_begin = 0;
  relaxed_store(slot->session, mine.session->number);
  if constexpr (Descriptor::version >= 4) slot->gpu_begin = d.kernel_ch.timer;
  shared_min(owner->first_cpu, now);
  if (slot->gpu_begin != 0) shared_min(owner->first_gpu, slot->gpu_begin);
  __atomic_store_n(&owner->touched, now, __ATOMIC_RELAXED);
  const std::uint64_t bits = handle_of(*slot);
  release_store(slot->state, (bits >> 32) << 32 | state::started);
  return pointer_of(bits);
}

inline void stop_channel(thread_state& mine, std::uint64_t bits) noexcept {
  channel_slot* const slot = find_channel(bits);
  std::uint64_t closed = 0;
  if (slot == nullptr || !step(slot->state, bits, closed,
                               [](std::uint64_t s) noexcept { return s | state::closed; })) {
    return mine.count(ignored::stale, event_kernel_ch);
  }
  const std::uint64_t parent = slot->operation;
  const std::uint64_t end = slot->end != 0 ? slot->end : now_ticks(mine.clock);
  operation_slot* const owner = find_operation(parent);
  if (owner == nullptr) {
    channels.put(mine.channel_magazine, slot);
    return mine.count(ignored::stale, event_kernel_ch);
  }
  shared_max(owner->last_cpu, end);
  shared_max(owner->longest_cpu, end > slot->begin ? end - slot->begin : 0);
  // Stamps of different laps of the host's ring show as an end before the begin.
  if (slot->gpu_begin != 0 && slot->gpu_end > slot->gpu_begin) {
    shared_max(owner->last_gpu, slot->gpu_end);
    shared_max(owner->longest_gpu, slot->gpu_end - slot->gpu_begin);
  } else {
    __atomic_store_n(&owner->cpu_only, 1U, __ATOMIC_RELAXED);
  }
  channels.put(mine.channel_magazine, slot);
  __atomic_store_n(&owner->touched, end, __ATOMIC_RELAXED);
  std::uint64_t last = 0;
  const bool counted = step(owner->state, parent, last, [owner](std::uint64_t s) noexcept {
    if (state::open(s) == 0) return s;
    s -= state::one_open;
    if (state::done(s) != state::count_bits) s += state::one_done;
    return is_complete(s, *owner) ? s | state::closed : s;
  });
  if (!counted) return mine.count(ignored::stale, event_kernel_ch);
  if ((last & state::closed) != 0) write_operation(mine, *owner, last);
}

inline void stop_operation(thread_state& mine, std::uint64_t bits) noexcept {
  operation_slot* const slot = operations.find(handle::from_bits(bits));
  if (slot == nullptr) return mine.count(ignored::stale, event_coll);
  const std::uint64_t now = now_ticks(mine.clock);
  const auto function = static_cast<collective>(relaxed_load(slot->record.kind) & 15U);
  const std::uint64_t type = is_point_to_point(function) ? event_p2p : event_coll;
  std::uint64_t last = 0;
  bool repeated = false;
  const bool stopped = step(slot->state, bits, last, [&](std::uint64_t s) noexcept {
    repeated = (s & state::started) == 0;
    if (repeated) return s;
    relaxed_store(slot->stop, now);
    __atomic_store_n(&slot->touched, now, __ATOMIC_RELAXED);
    s &= ~state::started;
    return is_complete(s, *slot) ? s | state::closed : s;
  });
  if (!stopped) return mine.count(repeated ? ignored::duplicate : ignored::stale, type);
  if ((last & state::closed) != 0) write_operation(mine, *slot, last);
}

/// What an operation of the proxy thread, and each of its steps, is called: the cause of fabric
/// operations that it issues.
template <class Descriptor>
inline void* start_proxy_op(thread_state& mine, const Descriptor& d) noexcept {
  std::uint32_t label = mine.session->foreign_label;
  if (d.proxy_op.pid != mine.session->pid) {
    mine.count(ignored::foreign, event_proxy_op);  // parent and context are another process's
  } else if (const operation_slot* owner = find_operation(bits_of(d.parent)); owner != nullptr) {
    label = mine.session->function_label[relaxed_load(owner->record.kind) & 15U];
  } else {
    mine.count(why_no_parent(d.parent), event_proxy_op);
    return nullptr;
  }
  return pointer_of(value_handle(proxy_bit, label, 0));
}
inline void set_cause(thread_state& mine, std::uint64_t step) noexcept {
  relaxed_store(mine.port->thread->cause,
                cause(cause_kind::proxy_step, value_label(step), value_number(step)).bits());
}
template <class Descriptor>
inline void* start_proxy_step(thread_state& mine, const Descriptor& d) noexcept {
  const std::uint64_t parent = bits_of(d.parent);
  if (!is_value(parent) || (parent & proxy_bit) == 0) {
    mine.count(why_no_parent(d.parent), event_proxy_step);
    return nullptr;
  }
  const std::uint64_t step = value_handle(proxy_bit | step_bit, value_label(parent),
                                          static_cast<std::uint32_t>(d.proxy_step.step));
  set_cause(mine, step);
  return pointer_of(step);
}
inline bool is_step(std::uint64_t bits) noexcept {
  return is_value(bits) && (bits & (proxy_bit | step_bit)) == (proxy_bit | step_bit);
}

template <class Descriptor>
int start_event(void* context, void** out, Descriptor* given) noexcept {
  if (out == nullptr) return success;
  *out = nullptr;
  if (given == nullptr) return success;
  thread_state* const mine = recording_thread();
  if (mine == nullptr) return success;
  const Descriptor& d = *given;
  switch (static_cast<std::uint64_t>(d.type)) {
    case event_coll: *out = start_operation(*mine, context, d, false); break;
    case event_p2p: *out = start_operation(*mine, context, d, true); break;
    case event_kernel_ch:
      if constexpr (Descriptor::version >= 3) *out = start_channel(*mine, d);
      break;
    case event_proxy_op: *out = start_proxy_op(*mine, d); break;
    case event_proxy_step: *out = start_proxy_step(*mine, d); break;
    case event_coll_api:
      if constexpr (Descriptor::version >= 5)
        *out = start_api<Descriptor>(*mine, d.coll_api.captured);
      break;
    case event_p2p_api:
      if constexpr (Descriptor::version >= 5)
        *out = start_api<Descriptor>(*mine, d.p2p_api.captured);
      break;
    // Not asked for, but sent as ancestors of what is.
    case event_group:
    case event_group_api:
    case event_kernel_launch:
    case event_proxy_ctrl:
    case event_net_plugin:
    case event_ce_coll:
    case event_ce_sync:
    case event_ce_batch:
    case event_bit_15: break;
    default: mine->count(ignored::unknown_type, std::uint64_t{1} << event_bits);
  }
  return success;
}

inline int stop_event(void* handle) noexcept {
  const std::uint64_t bits = bits_of(handle);
  if (bits == 0 || bits == fabscope::handle::tombstone().bits()) return success;
  thread_state* const mine = recording_thread();
  if (mine == nullptr) return success;
  if (is_value(bits)) {
    if (is_step(bits)) relaxed_store(mine->port->thread->cause, std::uint64_t{0});
  } else if (is_channel(bits)) {
    stop_channel(*mine, bits);
  } else {
    stop_operation(*mine, bits);
  }
  return success;
}

inline int record_event_state(void* handle, int which, void* arguments) noexcept {
  const std::uint64_t bits = bits_of(handle);
  if (bits == 0 || bits == fabscope::handle::tombstone().bits()) return success;
  if (is_step(bits)) {
    // The proxy thread works on many steps in turn: what it does next is for this one.
    if (thread_state* const mine = recording_thread()) set_cause(*mine, bits);
    return success;
  }
  if (which != state_kernel_ch_stop || arguments == nullptr || is_value(bits)) return success;
  thread_state* const mine = recording_thread();
  if (mine == nullptr) return success;
  channel_slot* const slot = find_channel(bits);
  const std::uint64_t seen = slot == nullptr ? 0 : acquire_load(slot->state);
  if (slot == nullptr || state::generation(seen) != static_cast<std::uint32_t>(bits >> 32) ||
      (seen & state::closed) != 0) {
    mine->count(ignored::stale, event_kernel_ch);
  } else if (relaxed_load(slot->end) != 0) {
    mine->count(ignored::duplicate, event_kernel_ch);
  } else {
    relaxed_store(slot->end, now_ticks(mine->clock));
    relaxed_store(slot->gpu_end, static_cast<const state_arguments*>(arguments)->kernel_ch.timer);
  }
  return success;
}

}  // namespace nccl::detail

FABSCOPE_NAMESPACE_END

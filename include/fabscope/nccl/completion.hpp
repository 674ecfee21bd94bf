// SPDX-License-Identifier: Apache-2.0
// When an operation is complete, and what is written then. Layer: nccl.
#pragma once

#include <cstdint>

#include <fabscope/nccl/session_part.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nccl::detail {

/// Units: the GPU's ticks at `khz` per millisecond.
constexpr std::uint64_t gpu_ns(std::uint64_t ticks, std::uint32_t khz) noexcept {
  if (khz == 1000000) return ticks;
  __extension__ using two_words = unsigned __int128;
  return static_cast<std::uint64_t>(two_words{ticks} * 1000000 / khz);
}

/// True if nothing more is to come: its own stop was there, no channel runs, and all that were
/// announced have run.
inline bool is_complete(std::uint64_t s, const operation_slot& slot) noexcept {
  // Relaxed: the slot may be another owner's already, and then the step fails.
  return (s & state::started) == 0 && state::open(s) == 0 && relaxed_load(slot.unknown) == 0 &&
         state::done(s) >= relaxed_load(slot.expected);
}

/// Writes the record and the sums of an operation that is closed, and gives its slot back.
/// Threads: the one that closed it.
inline void write_operation(thread_state& mine, operation_slot& slot,
                            std::uint64_t last_state) noexcept {
  if (slot.session != mine.session->number) {  // of a session that has ended
    operations.put(mine.operation_magazine, &slot);
    return;
  }
  collective_record& record = slot.record;
  const std::uint32_t seen = state::done(last_state);
  const fabscope_table& table = *mine.session->table;
  const auto ns = [&table](std::uint64_t from, std::uint64_t to) noexcept {
    return to > from ? table.to_ns(to) - table.to_ns(from) : 0;
  };
  timing_source source = timing_source::collective_cpu;
  if (seen == 0) {
    record.span_ns = ns(record.header.ticks, slot.stop);
    record.longest_ns = record.span_ns;
  } else if (slot.gpu_khz != 0 && relaxed_load(slot.cpu_only) == 0) {
    source = timing_source::kernel_gpu;
    record.span_ns = gpu_ns(slot.last_gpu - slot.first_gpu, slot.gpu_khz);
    record.longest_ns = gpu_ns(slot.longest_gpu, slot.gpu_khz);
  } else {
    source = timing_source::kernel_cpu;
    record.span_ns = ns(slot.first_cpu, slot.last_cpu);
    record.longest_ns = ns(slot.last_cpu - slot.longest_cpu, slot.last_cpu);
  }
  record.channels = static_cast<std::uint8_t>(seen < 255 ? seen : 255);
  record.flags = static_cast<std::uint8_t>(record.flags | static_cast<std::uint8_t>(source));
  if (seen < slot.expected || state::open(last_state) != 0) {
    record.flags |= collective_record::incomplete;
  }
  record.header.type = mine.session->record_type;
  mine.port->push(record);
  mine.sums_of(record).add(record);
  operations.put(mine.operation_magazine, &slot);
}

/// A slot that is taken may still be filled: until then its state is of an earlier owner, or zero.
inline bool is_live(std::uint64_t s) noexcept {
  return state::generation(s) != 0 && (s & state::closed) == 0;
}

/// Operations and channels that nobody will stop. An operation whose own stop was seen is written
/// with what is known of it; of the others only the number is kept.
inline void session_part::look(bool last) noexcept {
  thread_state& mine = *collector;
  const std::uint64_t now = now_ticks(mine.clock);
  // Where kernels report nothing, every operation waits: not so long that the pool fills up.
  const std::uint64_t wait_for_first = taken > operation_capacity / 2 ? quiet : patience;
  taken = 0;
  operations.for_each_taken([&](operation_slot& slot) noexcept {
    ++taken;
    const std::uint64_t seen = acquire_load(slot.state);
    if (!is_live(seen) || relaxed_load(slot.session) != number) return;
    const std::uint64_t touched = relaxed_load(slot.touched);
    const std::uint64_t idle = now > touched ? now - touched : 0;
    const bool over = (seen & state::started) == 0 && state::open(seen) == 0;
    const bool any = state::done(seen) != 0;
    const std::uint64_t wait = !over                             ? patience
                               : !any                            ? wait_for_first
                               : relaxed_load(slot.unknown) != 0 ? quiet
                                                                 : patience;
    if (!last && idle < wait) return;
    std::uint64_t closed = 0;
    const auto close = [seen](std::uint64_t s) noexcept {
      return s == seen ? s | state::closed : s;
    };
    if (!step(slot.state, seen, closed, close)) return;
    if (over) return write_operation(mine, slot, seen);
    mine.count(last ? ignored::not_complete : ignored::never_stopped,
               is_point_to_point(slot.record.function()) ? event_p2p : event_coll);
    operations.put(mine.operation_magazine, &slot);
  });
  channels.for_each_taken([&](channel_slot& slot) noexcept {
    const std::uint64_t seen = acquire_load(slot.state);
    if (!is_live(seen) || relaxed_load(slot.session) != number) return;
    const std::uint64_t begin = relaxed_load(slot.begin);
    if (!last && (now < begin || now - begin < patience)) return;
    const operation_slot* parent = find_operation(relaxed_load(slot.operation));
    if (!last && parent != nullptr) return;
    std::uint64_t closed = 0;
    const auto close = [](std::uint64_t s) noexcept { return s | state::closed; };
    if (!step(slot.state, seen, closed, close)) return;
    mine.count(last ? ignored::not_complete : ignored::never_stopped, event_kernel_ch);
    channels.put(mine.channel_magazine, &slot);
  });
}

inline void session_part::tick() noexcept {
  if (collector == nullptr) {
    const std::uint32_t mask = fabscope::detail::current_mask();
    if (session_number(mask) != number) return;
    collector = arm(mask);
  }
  if (collector != nullptr) look(false);
}

inline void session_part::finish() noexcept {
  if (collector != nullptr) look(true);
}

}  // namespace nccl::detail

FABSCOPE_NAMESPACE_END

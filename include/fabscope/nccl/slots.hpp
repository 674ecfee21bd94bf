// SPDX-License-Identifier: Apache-2.0
// What is remembered of events that the host has started, and the handles it gets. Layer: nccl.
//
// A handle is a number and never an address of ours that the host could make us follow: of a slot
// (index and generation), or for events that only say something about others, the value itself.
#pragma once

#include <cstdint>

#include <fabscope/core/handle.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/event/collective_record.hpp>
#include <fabscope/pool/slot_pool.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nccl::detail {

/// Handles by value have bit 63 and not bit 32, which handles of slots have. What they say stays
/// right for ever: graph replays bring the handles of the calls that were captured.
inline constexpr std::uint64_t value_bit = std::uint64_t{1} << 63;
inline constexpr std::uint64_t slot_bit = std::uint64_t{1} << 32;
inline constexpr std::uint64_t proxy_bit = std::uint64_t{1} << 62;  ///< else of a call of the API
inline constexpr std::uint64_t step_bit = std::uint64_t{1} << 61;
inline constexpr std::uint64_t captured_bit = std::uint64_t{1} << 61;

constexpr bool is_value(std::uint64_t bits) noexcept {
  return (bits & (value_bit | slot_bit)) == value_bit;
}
/// A label (24 bits) and a number (32 bits), as a cause has them, and flags.
constexpr std::uint64_t value_handle(std::uint64_t flags, std::uint32_t label,
                                     std::uint32_t number) noexcept {
  return value_bit | flags | std::uint64_t{label & 0xffffffU} << 33 | number;
}
constexpr std::uint32_t value_label(std::uint64_t bits) noexcept {
  return static_cast<std::uint32_t>(bits >> 33) & 0xffffffU;
}
constexpr std::uint32_t value_number(std::uint64_t bits) noexcept {
  return static_cast<std::uint32_t>(bits);
}

/// The upper half of a slot's state is its generation, so that one compare-and-swap both finds out
/// that the handle still means this owner and takes the step.
namespace state {
inline constexpr std::uint64_t closed = std::uint64_t{1} << 31;
inline constexpr std::uint64_t started = std::uint64_t{1} << 30;  ///< its own stop is to come
inline constexpr std::uint64_t one_open = 1;
inline constexpr std::uint64_t one_done = std::uint64_t{1} << 12;
inline constexpr std::uint64_t count_bits = 0xfff;
constexpr std::uint32_t open(std::uint64_t s) noexcept {
  return static_cast<std::uint32_t>(s & count_bits);
}
constexpr std::uint32_t done(std::uint64_t s) noexcept {
  return static_cast<std::uint32_t>(s >> 12 & count_bits);
}
constexpr std::uint32_t generation(std::uint64_t s) noexcept {
  return static_cast<std::uint32_t>(s >> 32);
}
}  // namespace state

/// Lowers a word that several threads may lower.
inline void shared_min(std::uint64_t& word, std::uint64_t value) noexcept {
  std::uint64_t seen = __atomic_load_n(&word, __ATOMIC_RELAXED);
  while (value < seen && !__atomic_compare_exchange_n(&word, &seen, value, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
  }
}
inline void shared_max(std::uint64_t& word, std::uint64_t value) noexcept {
  std::uint64_t seen = __atomic_load_n(&word, __ATOMIC_RELAXED);
  while (value > seen && !__atomic_compare_exchange_n(&word, &seen, value, true, __ATOMIC_RELAXED,
                                                      __ATOMIC_RELAXED)) {
  }
}

/// A collective or point-to-point operation. Its own start and each channel that runs hold it; the
/// thread that takes the last hold away writes the record.
struct operation_slot {
  slot_tag pool_tag;
  std::uint64_t state;
  std::uint64_t touched;  ///< ticks of the latest event
  collective_record record;
  std::uint64_t stop;  ///< ticks of its own stop
  std::uint64_t first_cpu;
  std::uint64_t last_cpu;
  std::uint64_t longest_cpu;
  std::uint64_t first_gpu;  ///< in the GPU's ticks
  std::uint64_t last_gpu;
  std::uint64_t longest_gpu;
  std::uint32_t gpu_khz;   ///< 0: the rate of the GPU's clock is not known
  std::uint32_t cpu_only;  ///< a channel came without usable GPU stamps
  std::uint32_t session;
  std::uint16_t expected;  ///< channels; 0: none
  std::uint8_t unknown;    ///< it is not known how many channels will come
  std::uint8_t reserved;
};

/// A channel that runs.
struct channel_slot {
  slot_tag pool_tag;
  std::uint64_t state;
  std::uint64_t operation;  ///< handle
  std::uint64_t begin;      ///< ticks
  std::uint64_t end;        ///< ticks at which its GPU stop was reported; 0: not yet
  std::uint64_t gpu_begin;
  std::uint64_t gpu_end;
  std::uint32_t session;
  std::uint32_t reserved;
};

using operation_pool = slot_pool<operation_slot>;
using channel_pool = slot_pool<channel_slot>;
inline constinit operation_pool operations;
inline constinit channel_pool channels;

inline constexpr std::uint32_t operation_capacity = 16384;
inline constexpr std::uint32_t channel_capacity = 131072;
/// Handles of channels: their index has this bit.
inline constexpr std::uint32_t channel_bit = 0x80000000;

inline std::uint64_t handle_of(const operation_slot& slot) noexcept {
  return operations.handle_of(&slot).bits();
}
inline std::uint64_t handle_of(const channel_slot& slot) noexcept {
  return channels.handle_of(&slot).bits() | channel_bit;
}
inline bool is_channel(std::uint64_t bits) noexcept { return (bits & channel_bit) != 0; }
inline operation_slot* find_operation(std::uint64_t bits) noexcept {
  return is_channel(bits) ? nullptr : operations.find(handle::from_bits(bits));
}
inline channel_slot* find_channel(std::uint64_t bits) noexcept {
  return is_channel(bits) ? channels.find(handle::from_bits(bits & ~std::uint64_t{channel_bit}))
                          : nullptr;
}

/// Takes a step if the slot still belongs to the handle and is not closed; `next` gives the new
/// state. False if it does not, or `next` gives the same state back.
template <class Next>
inline bool step(std::uint64_t& word, std::uint64_t bits, std::uint64_t& result,
                 Next&& next) noexcept {
  std::uint64_t seen = __atomic_load_n(&word, __ATOMIC_RELAXED);
  for (;;) {
    if (state::generation(seen) != static_cast<std::uint32_t>(bits >> 32) ||
        (seen & state::closed) != 0) {
      return false;
    }
    result = next(seen);
    if (result == seen) return false;
    // Acquire and release: who takes the last hold away sees what all others stored before.
    if (__atomic_compare_exchange_n(&word, &seen, result, true, __ATOMIC_ACQ_REL,
                                    __ATOMIC_RELAXED)) {
      return true;
    }
  }
}

}  // namespace nccl::detail

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// What stands in for the application's context while an operation is in flight. Layer: fabric.
#pragma once

#include <linux/membarrier.h>
#include <pthread.h>
#include <rdma/fabric.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <new>

#include <fabscope/core/config.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/event/operation_record.hpp>
#include <fabscope/pool/slot_pool.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

/// Its address goes to the provider as the operation's context. The first 64 bytes are the
/// provider's: some use them without asking for FI_CONTEXT2. Our words are written by one thread at
/// a time (issuer, then whoever reads the completion) and read by walks, hence the relaxed
/// accesses. They are packed so that an operation costs few stores.
struct alignas(64) context_slot {
  unsigned char scratch[64];
  std::uint64_t context;  ///< the application's
  std::uint64_t begin;    ///< ticks before the call that was accepted
  std::uint64_t amount;   ///< retries << 48 | bytes
  std::uint64_t cause;
  std::uint64_t ends;   ///< link_row's key: endpoint::ends at issue
  std::uint64_t kind;   ///< link_row's key: remote, op, size class, level
  std::uint64_t state;  ///< see below
  slot_tag pool_tag;

  // The bytes of `state`: one word at issue, looked at and changed one by one later.
  // owner: number of the endpoint; of an abandoned operation, of its completion queue.
  // done: 0 from issue until somebody takes the operation over as complete. marks: written by
  // walks. session: low byte of the session's number, which tells whose labels these are.
  static constexpr std::size_t nic_byte = 4;
  static constexpr std::size_t done_byte = 5;
  static constexpr std::size_t marks_byte = 6;
  static constexpr std::size_t session_byte = 7;
  static constexpr std::uint64_t pack(std::uint32_t owner, std::uint8_t nic,
                                      std::uint8_t session) noexcept {
    return std::uint64_t{session} << 56 | std::uint64_t{nic} << 32 | owner;
  }
  static constexpr std::uint8_t abandoned = 1;
  static constexpr std::uint8_t cancelled = 2;

  [[nodiscard]] std::uint8_t& byte(std::size_t n) noexcept {
    return reinterpret_cast<std::uint8_t*>(&state)[n];
  }
  [[nodiscard]] std::uint8_t byte_now(std::size_t n) const noexcept {
    return relaxed_load(reinterpret_cast<const std::uint8_t*>(&state)[n]);
  }
  /// Two bytes in one load.
  [[nodiscard]] std::uint32_t marks_and_session() const noexcept {
    using pair __attribute__((may_alias)) = std::uint16_t;
    static_assert(session_byte == marks_byte + 1 && marks_byte % 2 == 0);
    return __atomic_load_n(reinterpret_cast<const pair*>(&state) + marks_byte / 2,
                           __ATOMIC_RELAXED);
  }
  [[nodiscard]] std::uint32_t owner() const noexcept {
    return static_cast<std::uint32_t>(relaxed_load(state));
  }
  /// Threads: walks, of an operation that is not done.
  void set_owner(std::uint32_t number) noexcept {
    relaxed_store(state, (relaxed_load(state) >> 32) << 32 | number);
  }
  [[nodiscard]] bool is_done() const noexcept {
    // pairs with the release at issue
    return acquire_load(reinterpret_cast<const std::uint8_t*>(&state)[done_byte]) != 0;
  }
  [[nodiscard]] operation op() const noexcept {
    return static_cast<operation>(relaxed_load(kind) >> 32 & 0xff);
  }
  [[nodiscard]] std::uint32_t remote() const noexcept {
    return static_cast<std::uint32_t>(relaxed_load(kind));
  }
  [[nodiscard]] std::uint8_t level() const noexcept {
    return static_cast<std::uint8_t>(relaxed_load(kind) >> 48);
  }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return relaxed_load(amount) << 16 >> 16; }
  [[nodiscard]] std::uint32_t retries() const noexcept {
    return static_cast<std::uint32_t>(relaxed_load(amount) >> 48);
  }
};
static_assert(sizeof(context_slot) == 128 && offsetof(context_slot, context) == 64);
static_assert(std::endian::native == std::endian::little);

using context_pool = slot_pool<context_slot>;

/// Most operations that are followed at one time.
inline constexpr std::uint32_t max_in_flight = 1U << 18;

// Raw memory: the pool is never destroyed, because operations may be in flight when the process
// ends.
alignas(context_pool) inline constinit unsigned char pool_memory[sizeof(context_pool)] = {};

/// The one pool of this copy. owns() is false for everything until reserve_pool.
FABSCOPE_ALWAYS_INLINE context_pool& pool() noexcept {
  return *std::launder(reinterpret_cast<context_pool*>(pool_memory));
}

inline constinit pthread_mutex_t walk_mutex = PTHREAD_MUTEX_INITIALIZER;
/// Not 0 while somebody walks through the slots in flight.
inline constinit std::uint32_t walkers = 0;
/// Takes the slots that are given back by a thread that has no store of its own; under walk_mutex.
inline constinit context_pool::magazine* spare_magazine = nullptr;

/// Control path, before the first hook is made. False if the addresses cannot be had.
inline bool reserve_pool() noexcept {
  static constinit int state = 0;  // under walk_mutex; 1: there, 2: failed
  ::pthread_mutex_lock(&walk_mutex);
  if (state == 0) {
    auto* made = ::new (static_cast<void*>(pool_memory)) context_pool;
    spare_magazine = new (std::nothrow) context_pool::magazine;
    state = spare_magazine != nullptr && made->reserve(max_in_flight) == errc::ok ? 1 : 2;
    ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0U, 0);
    // A walk that another thread had begun does not go on in the child of a fork.
    ::pthread_atfork(nullptr, nullptr, [] {
      ::new (&walk_mutex) pthread_mutex_t PTHREAD_MUTEX_INITIALIZER;
      __atomic_store_n(&walkers, 0, __ATOMIC_RELEASE);
    });
  }
  const bool ready = state == 1;
  ::pthread_mutex_unlock(&walk_mutex);
  return ready;
}

/// Takes an operation over: from now on no walk touches its slot; `marks` tells what earlier ones
/// did. Cost: one store, one load of a word that hardly ever changes. How it works: a walk sets
/// `walkers` and then makes every thread pass a memory barrier (membarrier). A thread that loads
/// walkers == 0 here has stored `done` before that barrier, so the walk sees it; a thread that
/// loads anything else waits until the walk is over.
FABSCOPE_ALWAYS_INLINE void take_over(context_slot& slot) noexcept {
  release_store(slot.byte(context_slot::done_byte), std::uint8_t{1});
  __atomic_signal_fence(
      __ATOMIC_SEQ_CST);  // the compiler keeps the order; membarrier the processor
  if (__atomic_load_n(&walkers, __ATOMIC_RELAXED) != 0) [[unlikely]] {
    ::pthread_mutex_lock(&walk_mutex);
    ::pthread_mutex_unlock(&walk_mutex);
  }
}

/// While one exists, slots that were in flight when it was made and that it finds not `done` stay
/// as they are; their owners wait.  Threads: one at a time.  Cost: microseconds; control path only.
class slot_walk {
 public:
  slot_walk() noexcept {
    ::pthread_mutex_lock(&walk_mutex);
    __atomic_store_n(&walkers, 1, __ATOMIC_SEQ_CST);
    if (::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0U, 0) != 0) {
      const timespec moment{0, 1'000'000};  // no such call here: long enough for any store buffer
      ::nanosleep(&moment, nullptr);
    }
  }
  ~slot_walk() {
    __atomic_store_n(&walkers, 0, __ATOMIC_RELEASE);
    ::pthread_mutex_unlock(&walk_mutex);
  }
  slot_walk(const slot_walk&) = delete;
  slot_walk& operator=(const slot_walk&) = delete;

  /// Calls `visit(slot)` for each operation in flight of this owner.
  template <class Visit>
  void each(std::uint32_t owner, Visit&& visit) const {
    pool().for_each_taken([&](context_slot& slot) {
      if (!slot.is_done() && slot.owner() == owner) visit(slot);
    });
  }
  /// Gives back a slot that nobody else will.
  void put(context_slot& slot) const noexcept {
    relaxed_store(slot.byte(context_slot::done_byte), std::uint8_t{1});
    pool().put(*spare_magazine, &slot);
  }
};

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END

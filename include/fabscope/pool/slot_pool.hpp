// SPDX-License-Identifier: Apache-2.0
// Objects for events in flight, from one address range, through per-thread magazines. Layer: pool.
//
// Three places hold free slots: the magazines (no atomic read-modify-write), a lock-free list
// (batches of 16, one compare-and-swap each), and the part of the range that was never used, from
// which batches are carved until the cap is reached. Memory appears when a slot is first touched
// and then stays.
#pragma once

#include <sys/mman.h>

#include <concepts>
#include <cstddef>
#include <cstdint>

#include <fabscope/core/config.hpp>
#include <fabscope/core/handle.hpp>
#include <fabscope/core/result.hpp>
#include <fabscope/core/word_access.hpp>
#include <fabscope/pool/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// The pool's own words in a slot. A type that has a member `slot_tag pool_tag` lends it to the
/// pool, at a place that suits the type; otherwise the pool appends one.
struct slot_tag {
  std::uint32_t generation;  ///< odd while the slot is taken
  std::uint32_t next;        ///< in the free list: number of the next slot plus one
};

namespace detail {

template <class T>
concept lends_tag = std::same_as<decltype(T::pool_tag), slot_tag>;

template <class T>
struct pool_slot {
  T value;
  slot_tag tag;
};
template <lends_tag T>
struct pool_slot<T> {
  T value;
};

}  // namespace detail

/// A pool of T. Constant-initialised, empty until reserve().
/// Threads: get, put, find, handle_of and owns from any thread, each with the magazine of the
/// calling thread. Progress: lock-free; wait-free while the magazine has what is wanted. Errors:
/// get() gives null when all slots are taken or lie in other threads' magazines, and counts it.
/// Cost: get and put together 1 to 2 ns out of a magazine. No system call after reserve().
template <poolable T, word_accessor Access = word_access>
class FABSCOPE_VISIBLE slot_pool {
 public:
  using value_type = T;
  static constexpr std::uint32_t magazine_slots = 32;
  static constexpr std::uint32_t batch_slots = 16;

  /// A thread's store of free slots. Zeroed memory is an empty one. It has no destructor: a thread
  /// that ends leaves it to the next one or calls drain().
  class magazine {
   public:
    FABSCOPE_HIDDEN constexpr magazine() noexcept = default;
    [[nodiscard]] FABSCOPE_HIDDEN std::uint32_t size() const noexcept {
      return count_ + (latest_ != nullptr ? 1U : 0U);
    }

   private:
    friend class slot_pool;
    T* latest_ = nullptr;  // goes out next; apart, so that a put and a get need not wait for count_
    std::uint32_t count_ = 0;
    std::uint32_t reserved_ = 0;
    T* slot_[magazine_slots] = {};
  };

  FABSCOPE_HIDDEN constexpr slot_pool() noexcept = default;
  slot_pool(const slot_pool&) = delete;
  slot_pool& operator=(const slot_pool&) = delete;
  FABSCOPE_HIDDEN ~slot_pool() {
    if (base_ != 0) ::munmap(reinterpret_cast<void*>(base_), bytes_);
  }

  /// Reserves addresses for `capacity` slots, rounded up to a whole batch; takes no memory yet.
  /// Handles count generations from `seed`: a different one per process makes a handle that strayed
  /// in from another process unlikely to be taken for one of ours. Threads: once, before the pool
  /// is used.
  [[nodiscard]] FABSCOPE_HIDDEN errc reserve(std::uint32_t capacity,
                                             std::uint32_t seed = 0) noexcept {
    if (base_ != 0 || capacity == 0 || capacity > max_capacity) return errc::invalid_argument;
    capacity = (capacity + batch_slots - 1) / batch_slots * batch_slots;
    const std::size_t bytes = capacity * sizeof(slot);
    void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return errc::no_space;
    base_ = reinterpret_cast<std::uintptr_t>(memory);
    bytes_ = bytes;
    capacity_ = capacity;
    seed_ = seed & ~1U;
    return errc::ok;
  }

  /// Takes a slot. Its object is zeroed the first time, and later as the last owner left it.
  [[nodiscard]] FABSCOPE_HIDDEN T* get(magazine& mine) noexcept {
    T* object = mine.latest_;
    if (object != nullptr) [[likely]] {
      mine.latest_ = nullptr;
    } else {
      if (mine.count_ == 0 && !refill(mine)) [[unlikely]]
        return nullptr;
      object = mine.slot_[--mine.count_];
    }
    slot_tag& tag = tag_of(object);
    Access::relaxed_add(tag.generation, 1);  // odd
    return object;
  }

  /// Gives a slot back, whoever got it; all its handles are stale from now on. An address outside
  /// the pool or a slot that is not taken changes nothing and counts in misused_total().
  FABSCOPE_HIDDEN void put(magazine& mine, T* object) noexcept {
    if (!owns(object)) [[unlikely]]
      return misused();
    slot_tag& tag = tag_of(object);
    const std::uint32_t generation = Access::relaxed_load(tag.generation);
    if ((generation & 1U) == 0) [[unlikely]]
      return misused();
    Access::relaxed_store(tag.generation, generation + 1);  // even
    T* const earlier = mine.latest_;
    mine.latest_ = object;
    if (earlier != nullptr) store(mine, earlier);
  }

  /// Returns all slots of a magazine, for example of a thread that ends.
  FABSCOPE_HIDDEN void drain(magazine& mine) noexcept {
    if (mine.latest_ != nullptr) store(mine, mine.latest_);
    mine.latest_ = nullptr;
    while (mine.count_ != 0) give_back(mine, mine.count_ < batch_slots ? mine.count_ : batch_slots);
  }

  /// True if the address lies in the pool's range. Does not look at what is there.
  [[nodiscard]] FABSCOPE_HIDDEN bool owns(const void* address) const noexcept {
    return reinterpret_cast<std::uintptr_t>(address) - base_ < bytes_;
  }

  /// The handle of a taken slot; the tombstone for null.
  [[nodiscard]] FABSCOPE_HIDDEN handle handle_of(const T* object) const noexcept {
    if (object == nullptr) return handle::tombstone();
    const slot_tag& tag = tag_of(const_cast<T*>(object));
    return handle(index_of(object), Access::relaxed_load(tag.generation) + seed_);
  }

  /// The object of a handle, or null if it is null, a tombstone, foreign, or its object was put
  /// since. Speaks of the moment of the call: who may put the object meanwhile is the caller's
  /// matter.
  [[nodiscard]] FABSCOPE_HIDDEN T* find(handle name) const noexcept {
    if (!name.may_live() || name.index() >= carved()) return nullptr;
    T* object = object_at(name.index());
    const std::uint32_t generation = Access::relaxed_load(tag_of(object).generation);
    return generation + seed_ == name.generation() ? object : nullptr;
  }

  /// Number of a slot: 0 to capacity() - 1.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint32_t index_of(const T* object) const noexcept {
    return static_cast<std::uint32_t>((reinterpret_cast<std::uintptr_t>(object) - base_) /
                                      sizeof(slot));
  }

  /// Calls `visit(T&)` for every slot that is taken at that moment; its owner may be using or
  /// putting it. Threads: any.
  template <class Visit>
  FABSCOPE_HIDDEN void for_each_taken(Visit&& visit) const {
    const std::uint32_t end = carved();
    for (std::uint32_t i = 0; i < end; ++i) {
      T* object = object_at(i);
      if ((Access::relaxed_load(tag_of(object).generation) & 1U) != 0) visit(*object);
    }
  }

  /// Slots taken, exact when nobody gets or puts. Cost: a look at every slot that was ever used.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint32_t in_use() const noexcept {
    std::uint32_t taken = 0;
    for_each_taken([&taken](T&) noexcept { ++taken; });
    return taken;
  }

  /// Makes the memory of the first `slots` slots present, so that no first touch happens on the hot
  /// path: a page costs about 2 us.  Threads: any, at set-up.
  FABSCOPE_HIDDEN void prefault(std::uint32_t slots) noexcept {
    for (std::uint32_t i = 0; i < slots && i < capacity_; ++i) {
      __atomic_fetch_or(&tag_of(object_at(i)).generation, 0U, __ATOMIC_RELAXED);
    }
  }

  [[nodiscard]] FABSCOPE_HIDDEN std::uint32_t capacity() const noexcept { return capacity_; }
  /// Slots that have ever been handed to a magazine; never shrinks.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint32_t carved() const noexcept {
    return Access::relaxed_load(carved_);
  }
  /// Calls of get() that found every slot taken.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t refused_total() const noexcept {
    return Access::relaxed_load(refused_);
  }
  /// Calls of put() with something that was not a taken slot.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t misused_total() const noexcept {
    return Access::relaxed_load(misused_);
  }

 private:
  using slot = detail::pool_slot<T>;
  static constexpr std::uint32_t max_capacity = 1U << 30;

  FABSCOPE_HIDDEN void store(magazine& mine, T* object) noexcept {
    if (mine.count_ == magazine_slots) [[unlikely]]
      give_back(mine, batch_slots);
    mine.slot_[mine.count_++] = object;
  }

  [[nodiscard]] FABSCOPE_HIDDEN T* object_at(std::uint32_t index) const noexcept {
    return &reinterpret_cast<slot*>(base_ + index * sizeof(slot))->value;
  }
  // The value is the first member of its slot.
  [[nodiscard]] FABSCOPE_HIDDEN static slot_tag& tag_of(T* object) noexcept {
    if constexpr (detail::lends_tag<T>) {
      return object->pool_tag;
    } else {
      return reinterpret_cast<slot*>(object)->tag;
    }
  }

  // The free list's head: slot number plus one (0: empty) below, a count of changes above, so that
  // a head that was popped and pushed again in between is not taken for the same (until 2^32
  // changes later).
  static constexpr std::uint64_t bump = std::uint64_t{1} << 32;

  FABSCOPE_HIDDEN FABSCOPE_NOINLINE bool refill(magazine& mine) noexcept {
    std::uint64_t head = Access::acquire_load(free_);  // pairs with give_back
    while (static_cast<std::uint32_t>(head) != 0) {
      std::uint32_t number = static_cast<std::uint32_t>(head);
      std::uint32_t count = 0;
      while (number != 0 && count < batch_slots) {
        // Another thread may have taken this slot meanwhile: then what is read here is some older
        // or newer link, always a number inside the range, and the exchange below fails.
        T* object = object_at(number - 1);
        mine.slot_[count++] = object;
        number = Access::relaxed_load(tag_of(object).next);
      }
      const std::uint64_t rest = ((head & ~(bump - 1)) + bump) | number;
      if (Access::exchange_acquire(free_, head, rest)) {  // pairs with give_back
        mine.count_ = count;
        return true;
      }
    }
    return carve(mine);
  }

  FABSCOPE_HIDDEN bool carve(magazine& mine) noexcept {
    std::uint32_t first = Access::relaxed_load(carved_);
    do {
      if (first == capacity_) {
        Access::fetch_add(refused_, 1);
        return false;
      }
    } while (!Access::exchange_relaxed(carved_, first, first + batch_slots));
    for (std::uint32_t i = 0; i < batch_slots; ++i) {
      mine.slot_[i] = object_at(first + batch_slots - 1 - i);  // the lowest address goes out first
    }
    mine.count_ = batch_slots;
    return true;
  }

  // Links the oldest `count` slots of the magazine into a chain and pushes it with one exchange.
  FABSCOPE_HIDDEN FABSCOPE_NOINLINE void give_back(magazine& mine, std::uint32_t count) noexcept {
    for (std::uint32_t i = 0; i + 1 < count; ++i) {
      Access::relaxed_store(tag_of(mine.slot_[i]).next, index_of(mine.slot_[i + 1]) + 1);
    }
    slot_tag& last = tag_of(mine.slot_[count - 1]);
    const std::uint64_t first = index_of(mine.slot_[0]) + std::uint64_t{1};
    std::uint64_t head = Access::relaxed_load(free_);
    std::uint64_t pushed;
    do {
      Access::relaxed_store(last.next, static_cast<std::uint32_t>(head));
      pushed = ((head & ~(bump - 1)) + bump) | first;
    } while (!Access::exchange_release(free_, head, pushed));  // pairs with refill
    mine.count_ -= count;
    for (std::uint32_t i = 0; i < mine.count_; ++i) mine.slot_[i] = mine.slot_[i + count];
  }

  FABSCOPE_HIDDEN FABSCOPE_NOINLINE void misused() noexcept { Access::fetch_add(misused_, 1); }

  // Read by every call, written once.
  std::uintptr_t base_ = 0;
  std::size_t bytes_ = 0;
  std::uint32_t capacity_ = 0;
  std::uint32_t seed_ = 0;
  alignas(cache_line) std::uint64_t free_ = 0;
  alignas(cache_line) std::uint32_t carved_ = 0;
  std::uint64_t refused_ = 0;
  std::uint64_t misused_ = 0;
};

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// A bounded queue from many threads to one: keeps the oldest records, drops the newest. Layer:
// ring.
//
// Record number n lies in slot n & mask and belongs to round n >> log2(capacity). The turn word of
// a slot is 2 * round while the slot waits for a record of that round, and 2 * round + 1 while it
// has one. A producer claims number n by moving the tail from n to n + 1, which it tries only when
// the slot's turn has come; then it stores the record and publishes it with the turn. So the tail
// never runs into records that are still there, and the ring is full exactly when the slot at the
// tail is of an older round.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include <fabscope/core/config.hpp>
#include <fabscope/core/result.hpp>
#include <fabscope/core/word_access.hpp>
#include <fabscope/ring/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

/// Zeroed memory is an empty ring.
struct mpsc_control {
  alignas(cache_line) std::uint64_t tail;     // producers: number of the next record to claim
  alignas(cache_line) std::uint64_t dropped;  // producers
  alignas(cache_line) std::uint64_t head;     // consumer: number of the next record to take
  std::uint64_t abandoned;                    // consumer
};

template <class T>
struct mpsc_slot {
  std::uint64_t turn;
  T record;
};

}  // namespace detail

/// A ring of trivially copyable records in memory of its own (create) or in memory it is given
/// (place, attach), for example shared between processes.
/// Threads: any number of producers (try_push, try_claim, publish), one consumer (pop_batch,
/// consume, abandon_oldest), any number of observers.
/// Progress: lock-free for producers, wait-free for the consumer. A producer that was stopped
/// between claim and publish stops nobody, but the consumer hands out nothing behind its record:
/// when the ring is full of what waits there, records are dropped and counted, until it goes on.
/// One that died there never does; abandon_oldest() then gives its slot back.
/// Errors: a record that finds the ring full is dropped and counted. At rest, what producers tried
/// is popped_total() + approx_size() + abandoned_total() + dropped_total().
template <class T, word_accessor Access = word_access>
  requires std::is_trivially_copyable_v<T>
class FABSCOPE_VISIBLE mpsc_ring {
 public:
  using value_type = T;

  /// A slot that one producer fills.
  struct FABSCOPE_VISIBLE claim {
    T* record = nullptr;  ///< to be written; null if the ring was full
    std::uint64_t number = 0;
    FABSCOPE_HIDDEN explicit operator bool() const noexcept { return record != nullptr; }
  };

  /// No ring: only assigning to it and `operator bool` are allowed.
  FABSCOPE_HIDDEN constexpr mpsc_ring() noexcept = default;
  FABSCOPE_HIDDEN mpsc_ring(mpsc_ring&& other) noexcept { swap(other); }
  FABSCOPE_HIDDEN mpsc_ring& operator=(mpsc_ring&& other) noexcept {
    swap(other);
    return *this;
  }
  FABSCOPE_HIDDEN ~mpsc_ring() {
    if (owned_ != nullptr) ::operator delete (owned_, std::align_val_t{alignment});
  }

  /// A ring of at least `capacity` records (rounded up to a power of two) in memory of its own,
  /// which is written once so that its pages are present.  Cost: one allocation.
  [[nodiscard]] FABSCOPE_HIDDEN static result<mpsc_ring> create(std::size_t capacity) noexcept {
    if (!allowed(capacity)) return errc::invalid_argument;
    void* memory =
        ::operator new (bytes_needed(capacity), std::align_val_t{alignment}, std::nothrow);
    if (memory == nullptr) return errc::no_space;
    mpsc_ring ring = place(memory, capacity);
    ring.owned_ = memory;
    return result<mpsc_ring>(std::move(ring));
  }

  /// Bytes that place() needs for at least `capacity` records.
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr std::size_t bytes_needed(
      std::size_t capacity) noexcept {
    return slots_at + std::bit_ceil(capacity) * sizeof(slot);
  }
  static constexpr std::size_t alignment = alignof(T) > cache_line ? alignof(T) : cache_line;

  /// A new, empty ring in given memory, which must outlive it.
  [[nodiscard]] FABSCOPE_HIDDEN static mpsc_ring place(void* memory,
                                                       std::size_t capacity) noexcept {
    std::memset(memory, 0, bytes_needed(capacity));
    return attach(memory, capacity);
  }
  /// A second view of a ring that was placed in this memory with this capacity.
  [[nodiscard]] FABSCOPE_HIDDEN static mpsc_ring attach(void* memory,
                                                        std::size_t capacity) noexcept {
    mpsc_ring ring;
    ring.control_ = static_cast<detail::mpsc_control*>(memory);
    ring.slots_ = reinterpret_cast<slot*>(static_cast<unsigned char*>(memory) + slots_at);
    ring.mask_ = std::bit_ceil(capacity) - 1;
    ring.log2_ = static_cast<std::uint32_t>(std::countr_zero(ring.mask_ + 1));
    return ring;
  }
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr bool allowed(std::size_t capacity) noexcept {
    return capacity >= 1 && capacity <= (std::size_t{1} << 40) / sizeof(slot);
  }

  /// Stores one record for the consumer; false if the ring was full.  Threads: producers.
  /// Cost: one compare-and-swap, one release store; an atomic addition when the ring is full.
  [[nodiscard]] FABSCOPE_HIDDEN bool try_push(const T& record) noexcept {
    const claim mine = try_claim();
    if (!mine) [[unlikely]]
      return false;
    Access::copy(*mine.record, record);
    publish(mine);
    return true;
  }

  /// Takes a slot, to be written in place and published by the same producer.  Threads: producers.
  [[nodiscard]] FABSCOPE_HIDDEN claim try_claim() noexcept {
    std::uint64_t tail = Access::relaxed_load(control_->tail);
    for (;;) {
      slot& here = slots_[tail & mask_];
      const std::uint64_t turn = Access::acquire_load(here.turn);  // pairs with the release in take
      const std::uint64_t wanted = tail >> log2_ << 1;
      if (turn == wanted) {
        // Relaxed: what the slot holds is handed over by its turn, not by the tail.
        if (Access::exchange_relaxed(control_->tail, tail, tail + 1)) {
          return claim{&here.record, tail};
        }
      } else if (turn < wanted) {
        Access::fetch_add(control_->dropped, 1);
        return claim{};
      } else {
        tail = Access::relaxed_load(control_->tail);  // others were here meanwhile
      }
    }
  }
  /// Hands a claimed record to the consumer.  Threads: the producer that claimed it.
  FABSCOPE_HIDDEN void publish(const claim& mine) noexcept {
    // Pairs with the acquire in take.
    Access::release_store(slots_[mine.number & mask_].turn, (mine.number >> log2_ << 1) + 1);
  }

  /// Shows the stored records, oldest first, as spans of one, and takes them out; returns how many.
  /// Threads: the consumer.
  template <class Consumer>
  FABSCOPE_HIDDEN std::size_t consume(Consumer&& consumer) noexcept {
    return take(~std::size_t{0}, consumer);
  }

  /// Moves up to out.size() records, oldest first, into `out`; returns how many.  Threads: the
  /// consumer.
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t pop_batch(std::span<T> out) noexcept {
    T* to = out.data();
    return take(out.size(),
                [&to](std::span<const T> one) noexcept { Access::copy(*to++, one.front()); });
  }

  /// Gives up the oldest record if it was claimed and not published, so that those behind it come
  /// out; false if there is none. To be called when the producer is known to be dead: one that is
  /// alive after all would write into a slot that has another owner.  Threads: the consumer.
  FABSCOPE_HIDDEN bool abandon_oldest() noexcept {
    const std::uint64_t head = Access::relaxed_load(control_->head);
    slot& here = slots_[head & mask_];
    const std::uint64_t waiting = head >> log2_ << 1;
    if (head == pushed_total() || Access::acquire_load(here.turn) != waiting) return false;
    Access::release_store(control_->head, head + 1);  // pairs with approx_size
    Access::release_store(control_->abandoned,
                          Access::relaxed_load(control_->abandoned) + 1);  // and popped_total
    Access::release_store(here.turn, waiting + 2);  // pairs with the acquire in try_claim
    return true;
  }

  FABSCOPE_HIDDEN explicit operator bool() const noexcept { return control_ != nullptr; }
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t capacity() const noexcept {
    return static_cast<std::size_t>(mask_ + 1);
  }
  /// Records refused because the ring was full.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t dropped_total() const noexcept {
    return Access::relaxed_load(control_->dropped);
  }
  /// Records accepted, published or not.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t pushed_total() const noexcept {
    return Access::relaxed_load(control_->tail);
  }
  /// Records taken out.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t popped_total() const noexcept {
    const std::uint64_t gone =
        Access::acquire_load(control_->abandoned);  // first: it follows the head
    return Access::relaxed_load(control_->head) - gone;
  }
  /// Records that a dead producer left unfinished.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t abandoned_total() const noexcept {
    return Access::relaxed_load(control_->abandoned);
  }
  /// Old by the time it is returned, unless the caller is the only one at work.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN bool was_empty() const noexcept { return approx_size() == 0; }
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t approx_size() const noexcept {
    const std::uint64_t head =
        Access::acquire_load(control_->head);  // first: it never passes the tail
    return static_cast<std::size_t>(pushed_total() - head);
  }

 private:
  using slot = detail::mpsc_slot<T>;
  static constexpr std::size_t slots_at =
      (sizeof(detail::mpsc_control) + alignment - 1) / alignment * alignment;

  template <class Consumer>
  FABSCOPE_HIDDEN std::size_t take(std::size_t most, Consumer&& consumer) noexcept {
    const std::uint64_t begin = Access::relaxed_load(control_->head);
    std::uint64_t head = begin;
    for (; head - begin < most; ++head) {
      slot& here = slots_[head & mask_];
      const std::uint64_t stored = (head >> log2_ << 1) + 1;
      if (Access::acquire_load(here.turn) != stored) break;  // pairs with the release in publish
      consumer(std::span<const T>(&here.record, 1));
      Access::release_store(control_->head, head + 1);  // pairs with approx_size
      Access::release_store(here.turn, stored + 1);     // may be overwritten; pairs with try_claim
    }
    return static_cast<std::size_t>(head - begin);
  }
  FABSCOPE_HIDDEN void swap(mpsc_ring& other) noexcept {
    std::swap(control_, other.control_);
    std::swap(slots_, other.slots_);
    std::swap(mask_, other.mask_);
    std::swap(log2_, other.log2_);
    std::swap(owned_, other.owned_);
  }

  detail::mpsc_control* control_ = nullptr;
  slot* slots_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint32_t log2_ = 0;
  void* owned_ = nullptr;
};

FABSCOPE_NAMESPACE_END

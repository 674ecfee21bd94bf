// SPDX-License-Identifier: Apache-2.0
// A bounded queue from one thread to another: keeps the oldest records, drops the newest. Layer:
// ring.
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

/// Each side's words on a line of their own; a side looks at the other's index only when its copy
/// of it runs out. Zeroed memory is an empty ring.
struct spsc_control {
  alignas(cache_line) std::uint64_t tail;  // producer: number of the next record to store
  std::uint64_t head_seen;                 // producer: head as it last looked
  std::uint64_t dropped;                   // producer
  alignas(cache_line) std::uint64_t head;  // consumer: number of the next record to take
  std::uint64_t tail_seen;                 // consumer: tail as it last looked
};

}  // namespace detail

/// A ring of trivially copyable records in memory of its own (create) or in memory it is given
/// (place, attach), for example shared between processes.
/// Threads: one producer (try_push), one consumer (pop_batch, consume), any number of observers.
/// Progress: wait-free.  Errors: a record that finds the ring full is dropped and counted.
template <class T, word_accessor Access = word_access>
  requires std::is_trivially_copyable_v<T>
class FABSCOPE_VISIBLE spsc_ring {
 public:
  using value_type = T;

  /// No ring: only assigning to it and `operator bool` are allowed.
  FABSCOPE_HIDDEN constexpr spsc_ring() noexcept = default;
  FABSCOPE_HIDDEN spsc_ring(spsc_ring&& other) noexcept { swap(other); }
  FABSCOPE_HIDDEN spsc_ring& operator=(spsc_ring&& other) noexcept {
    swap(other);
    return *this;
  }
  FABSCOPE_HIDDEN ~spsc_ring() {
    if (owned_ != nullptr) ::operator delete (owned_, std::align_val_t{alignment});
  }

  /// A ring of at least `capacity` records (rounded up to a power of two) in memory of its own,
  /// which is written once so that its pages are present.  Cost: one allocation.
  [[nodiscard]] FABSCOPE_HIDDEN static result<spsc_ring> create(std::size_t capacity) noexcept {
    if (!allowed(capacity)) return errc::invalid_argument;
    void* memory =
        ::operator new (bytes_needed(capacity), std::align_val_t{alignment}, std::nothrow);
    if (memory == nullptr) return errc::no_space;
    std::memset(memory, 0, bytes_needed(capacity));
    spsc_ring ring = place(memory, capacity);
    ring.owned_ = memory;
    return result<spsc_ring>(std::move(ring));
  }

  /// Bytes that place() needs for at least `capacity` records.
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr std::size_t bytes_needed(
      std::size_t capacity) noexcept {
    return records_at + std::bit_ceil(capacity) * sizeof(T);
  }
  static constexpr std::size_t alignment = alignof(T) > cache_line ? alignof(T) : cache_line;

  /// A new, empty ring in given memory, which must outlive it.
  [[nodiscard]] FABSCOPE_HIDDEN static spsc_ring place(void* memory,
                                                       std::size_t capacity) noexcept {
    ::new (memory) detail::spsc_control{};
    return attach(memory, capacity);
  }
  /// A second view of a ring that was placed in this memory with this capacity.
  [[nodiscard]] FABSCOPE_HIDDEN static spsc_ring attach(void* memory,
                                                        std::size_t capacity) noexcept {
    spsc_ring ring;
    ring.control_ = static_cast<detail::spsc_control*>(memory);
    ring.slots_ = reinterpret_cast<T*>(static_cast<unsigned char*>(memory) + records_at);
    ring.mask_ = std::bit_ceil(capacity) - 1;
    return ring;
  }
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr bool allowed(std::size_t capacity) noexcept {
    return capacity >= 1 && capacity <= (std::size_t{1} << 40) / sizeof(T);
  }

  /// Stores one record for the consumer; false if the ring was full.  Threads: the producer.
  /// Cost: one release store; one acquire load when the ring looks full.
  [[nodiscard]] FABSCOPE_HIDDEN bool try_push(const T& record) noexcept {
    detail::spsc_control& c = *control_;
    const std::uint64_t tail = Access::relaxed_load(c.tail);
    if (tail - c.head_seen > mask_) [[unlikely]] {
      c.head_seen = Access::acquire_load(c.head);  // pairs with the release in consume
      if (tail - c.head_seen > mask_) {
        Access::relaxed_add(c.dropped, 1);
        return false;
      }
    }
    Access::copy(slots_[tail & mask_], record);
    Access::release_store(c.tail, tail + 1);  // pairs with the acquire in consume
    return true;
  }

  /// Shows the stored records, oldest first, as at most two spans, and takes them out; returns how
  /// many. Threads: the consumer.  Cost: one release store for all of them.
  template <class Consumer>
  FABSCOPE_HIDDEN std::size_t consume(Consumer&& consumer) noexcept {
    return take(~std::size_t{0}, consumer);
  }

  /// Moves up to out.size() records, oldest first, into `out`; returns how many.  Threads: the
  /// consumer.
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t pop_batch(std::span<T> out) noexcept {
    T* to = out.data();
    return take(out.size(), [&to](std::span<const T> part) noexcept {
      for (const T& record : part) Access::copy(*to++, record);
    });
  }

  FABSCOPE_HIDDEN explicit operator bool() const noexcept { return control_ != nullptr; }
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t capacity() const noexcept {
    return static_cast<std::size_t>(mask_ + 1);
  }
  /// Records refused because the ring was full.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t dropped_total() const noexcept {
    return Access::relaxed_load(control_->dropped);
  }
  /// Records accepted.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t pushed_total() const noexcept {
    return Access::relaxed_load(control_->tail);
  }
  /// Records taken out.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t popped_total() const noexcept {
    return Access::relaxed_load(control_->head);
  }
  /// Old by the time it is returned, unless the caller is the only one at work.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN bool was_empty() const noexcept {
    return pushed_total() == popped_total();
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t approx_size() const noexcept {
    const std::uint64_t head = popped_total();  // first: it never passes the tail
    return static_cast<std::size_t>(pushed_total() - head);
  }

 private:
  static constexpr std::size_t records_at =
      (sizeof(detail::spsc_control) + alignment - 1) / alignment * alignment;

  template <class Consumer>
  FABSCOPE_HIDDEN std::size_t take(std::size_t most, Consumer&& consumer) noexcept {
    detail::spsc_control& c = *control_;
    const std::uint64_t head = Access::relaxed_load(c.head);
    std::uint64_t available = c.tail_seen - head;
    if (available < most) {
      c.tail_seen = Access::acquire_load(c.tail);  // pairs with the release in try_push
      available = c.tail_seen - head;
    }
    if (available == 0) return 0;
    const std::size_t count = available < most ? static_cast<std::size_t>(available) : most;
    const std::size_t first = static_cast<std::size_t>(head & mask_);
    const std::size_t to_end = capacity() - first;
    const std::size_t front = count < to_end ? count : to_end;
    consumer(std::span<const T>(slots_ + first, front));
    if (front < count) consumer(std::span<const T>(slots_, count - front));
    Access::release_store(c.head,
                          head + count);  // the slots may be overwritten; pairs with try_push
    return count;
  }
  FABSCOPE_HIDDEN void swap(spsc_ring& other) noexcept {
    std::swap(control_, other.control_);
    std::swap(slots_, other.slots_);
    std::swap(mask_, other.mask_);
    std::swap(owned_, other.owned_);
  }

  detail::spsc_control* control_ = nullptr;
  T* slots_ = nullptr;
  std::uint64_t mask_ = 0;
  void* owned_ = nullptr;
};

FABSCOPE_NAMESPACE_END

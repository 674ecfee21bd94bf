// SPDX-License-Identifier: Apache-2.0
// Boost.Lockfree's queue from one thread to another as a ring. Layer: boost.
#pragma once

#include <boost/lockfree/spsc_queue.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/ring/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A ring of Capacity records inside the object.
/// Threads: one producer (try_push), one consumer (pop_batch, consume), any number of observers of
/// dropped_total. Progress: wait-free.  Errors: a record that finds the ring full is dropped and
/// counted.
template <class T, std::size_t Capacity>
  requires(std::is_trivially_copyable_v<T>&& Capacity >= 1)
class FABSCOPE_VISIBLE boost_spsc_ring {
 public:
  using value_type = T;

  FABSCOPE_HIDDEN boost_spsc_ring() noexcept = default;
  FABSCOPE_HIDDEN ~boost_spsc_ring() = default;

  /// Threads: the producer.
  [[nodiscard]] FABSCOPE_HIDDEN bool try_push(const T& record) noexcept {
    if (queue_.push(record)) [[likely]]
      return true;
    relaxed_add(dropped_, 1);
    return false;
  }

  /// Moves up to out.size() records, oldest first, into `out`; returns how many.  Threads: the
  /// consumer.
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t pop_batch(std::span<T> out) noexcept {
    return out.empty() ? 0 : queue_.pop(out.data(), out.size());
  }

  /// Shows the stored records, oldest first, as spans of one, and takes them out; returns how many.
  /// Threads: the consumer.
  template <class Consumer>
  FABSCOPE_HIDDEN std::size_t consume(Consumer&& consumer) noexcept {
    return queue_.consume_all(
        [&consumer](const T& record) { consumer(std::span<const T>(&record, 1)); });
  }

  [[nodiscard]] FABSCOPE_HIDDEN static constexpr std::size_t capacity() noexcept {
    return Capacity;
  }
  /// Records refused because the ring was full.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t dropped_total() const noexcept {
    return relaxed_load(dropped_);
  }

 private:
  ::boost::lockfree::spsc_queue<T, ::boost::lockfree::capacity<Capacity>> queue_;
  std::uint64_t dropped_ = 0;
};

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// Boost.Lockfree's queue between any threads as a ring. Layer: boost.
#pragma once

#include <boost/lockfree/queue.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include <fabscope/core/config.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/ring/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A ring of Capacity records inside the object.
/// Threads: any number of producers (try_push) and consumers (pop_batch, consume). Progress:
/// lock-free. A thread sanitizer reports the queue: it reads nodes that another thread may have
/// taken, and discards what it read.  Errors: a record that finds the ring full is dropped and
/// counted. Cost: two to three compare-and-swaps per call, and a node of a cache line per record.
template <class T, std::size_t Capacity>
  requires(std::is_trivially_copyable_v<T>&& Capacity >= 1 && Capacity <= 65534)
class FABSCOPE_VISIBLE boost_mpmc_ring {
 public:
  using value_type = T;

  FABSCOPE_HIDDEN boost_mpmc_ring() noexcept = default;
  FABSCOPE_HIDDEN ~boost_mpmc_ring() = default;

  /// Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN bool try_push(const T& record) noexcept {
    if (queue_.bounded_push(record)) [[likely]]
      return true;
    __atomic_fetch_add(&dropped_, 1, __ATOMIC_RELAXED);
    return false;
  }

  /// Moves up to out.size() records into `out`, those of one producer in their order; returns how
  /// many. Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t pop_batch(std::span<T> out) noexcept {
    std::size_t count = 0;
    while (count < out.size() && queue_.pop(out[count])) ++count;
    return count;
  }

  /// Takes out what is stored and shows it, as spans of one; returns how many.  Threads: any.
  template <class Consumer>
  FABSCOPE_HIDDEN std::size_t consume(Consumer&& consumer) noexcept {
    std::size_t count = 0;
    for (T record; queue_.pop(record); ++count) consumer(std::span<const T>(&record, 1));
    return count;
  }

  [[nodiscard]] FABSCOPE_HIDDEN static constexpr std::size_t capacity() noexcept {
    return Capacity;
  }
  /// Records refused because the ring was full.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t dropped_total() const noexcept {
    return relaxed_load(dropped_);
  }

 private:
  ::boost::lockfree::queue<T, ::boost::lockfree::capacity<Capacity>> queue_;
  alignas(cache_line) std::uint64_t dropped_ = 0;
};

FABSCOPE_NAMESPACE_END

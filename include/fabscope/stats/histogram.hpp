// SPDX-License-Identifier: Apache-2.0
// A log-linear histogram in fixed storage, written by one thread and readable live. Layer: stats.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/stats/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// The buckets: values below 2^Bits have one each; above, every power of two is cut into 2^Bits
/// equal parts. Values of 2^42 and more (over an hour, in nanoseconds) share the last bucket.
template <int Bits>
  requires(Bits >= 1 && Bits <= 12)
struct FABSCOPE_VISIBLE log_linear {
  static constexpr int top_bit = 42;
  static constexpr std::uint64_t limit = std::uint64_t{1} << top_bit;
  static constexpr std::size_t buckets = std::size_t{top_bit - Bits + 1} << Bits;

  [[nodiscard]] FABSCOPE_HIDDEN static constexpr std::size_t bucket_of(
      std::uint64_t value) noexcept {
    if (value >= limit) [[unlikely]]
      value = limit - 1;
    return bucket_below_limit(value);
  }
  /// The same for values that are known to be below the limit.
  [[nodiscard]] FABSCOPE_ALWAYS_INLINE static constexpr std::size_t bucket_below_limit(
      std::uint64_t value) noexcept {
    // With the low bits set, small values are their own buckets. Number of the highest bit set, in
    // one instruction: 63 - countl_zero gives three. Shifted up first, the value need not wait for
    // a difference; 32 bits spare an extension.
    const unsigned top =
        static_cast<unsigned>(std::countl_zero(value | ((std::uint64_t{2} << Bits) - 1))) ^ 63U;
    return (top << Bits) + static_cast<unsigned>(value << Bits >> top) - (unsigned{Bits} << Bits);
  }
  /// The smallest value of a bucket.
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr std::uint64_t low(std::size_t bucket) noexcept {
    if (bucket < (std::size_t{2} << Bits)) return bucket;
    const std::size_t shift = (bucket >> Bits) - 1;
    const std::size_t part = bucket & ((std::size_t{1} << Bits) - 1);
    return ((std::uint64_t{1} << Bits) + part) << shift;
  }
  /// The largest value of a bucket (without those that were clamped into the last).
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr std::uint64_t high(std::size_t bucket) noexcept {
    return low(bucket + 1) - 1;
  }
};

/// Adds one to a counter, which stays at its largest value rather than start again at zero.
template <std::unsigned_integral Counter>
inline void count_one(Counter& counter) noexcept {
  const auto next = static_cast<Counter>(relaxed_load(counter) + 1);
  if (next != 0) [[likely]]
    relaxed_store(counter, next);
}

namespace detail {

/// Which of `total` values in rising order, counted from 1, the quantile `q` is: ceil(q * total).
constexpr std::uint64_t rank_of(double q, std::uint64_t total) noexcept {
  const double exact = q * static_cast<double>(total);
  std::uint64_t rank = exact >= 1.0 ? static_cast<std::uint64_t>(exact) : 1;
  if (static_cast<double>(rank) < exact) ++rank;
  return rank < total ? rank : total;
}

}  // namespace detail

/// The value below which the fraction `q` (0 to 1) of the counted values lies: the middle of the
/// bucket in which the value of rank ceil(q * n) lies. It differs from the exact one by at most
/// 2^-(Bits + 1) of it (exact below 2^(Bits + 1)). 0 if nothing was counted.
template <int Bits, std::unsigned_integral Counter>
[[nodiscard]] inline std::uint64_t quantile_of(const Counter* counters, double q) noexcept {
  using scale = log_linear<Bits>;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < scale::buckets; ++i) total += relaxed_load(counters[i]);
  if (total == 0) return 0;
  const std::uint64_t rank = detail::rank_of(q, total);
  std::uint64_t below = 0;
  std::size_t bucket = 0;
  for (; bucket < scale::buckets; ++bucket) {
    below += relaxed_load(counters[bucket]);  // a live counter only grows: the rank is reached
    if (below >= rank) break;
  }
  if (bucket == scale::buckets) --bucket;
  return scale::low(bucket) + (scale::high(bucket) - scale::low(bucket)) / 2;
}

template <std::size_t Capacity, int Bits>
  requires(Capacity >= 64)
class sparse_histogram;

/// Count, sum, smallest and largest value, and 2^Bits buckets per power of two. Plain words: zeroed
/// memory is an empty histogram.  Units: the caller's.
/// Threads: one writer (record, merge into); any thread may read.  Progress: wait-free.
/// Cost: record() about 3 ns; histogram<5> has 4.9 KB (quantiles within 1.6 %), histogram<6> 9.5 KB
/// (0.8 %).
template <int Bits, std::unsigned_integral Counter = std::uint32_t>
class FABSCOPE_VISIBLE histogram {
 public:
  using scale = log_linear<Bits>;
  static constexpr double relative_error = 1.0 / static_cast<double>(2U << Bits);

  /// Counts a value of 0 to 2^63.
  FABSCOPE_HIDDEN void record(std::uint64_t value) noexcept {
    relaxed_add(count_, 1);
    relaxed_add(sum_, value);
    relaxed_max(max_, value);
    relaxed_min_inverted(inverted_min_, value);
    count_one(counter_[scale::bucket_of(value)]);
  }

  /// Adds another histogram, which may be live: then its newest values may be missing in some
  /// words.
  template <std::unsigned_integral Other>
  FABSCOPE_HIDDEN void merge(const histogram<Bits, Other>& other) noexcept {
    relaxed_add(count_, relaxed_load(other.count_));
    relaxed_add(sum_, relaxed_load(other.sum_));
    relaxed_max(max_, relaxed_load(other.max_));
    relaxed_max(inverted_min_, relaxed_load(other.inverted_min_));
    for (std::size_t i = 0; i < scale::buckets; ++i) {
      const std::uint64_t more = relaxed_load(other.counter_[i]);
      if (more == 0) continue;
      const std::uint64_t room = static_cast<Counter>(~relaxed_load(counter_[i]));
      relaxed_add(counter_[i], static_cast<Counter>(more < room ? more : room));
    }
  }

  /// See quantile_of; never below min() or above max().
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t quantile(double q) const noexcept {
    const std::uint64_t value = quantile_of<Bits>(counter_, q);
    if (value < (min)()) return (min)();
    return value > (max)() ? (max)() : value;
  }

  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t count() const noexcept {
    return relaxed_load(count_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t sum() const noexcept { return relaxed_load(sum_); }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t(max)() const noexcept { return relaxed_load(max_); }
  /// 0 if there is no value.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t(min)() const noexcept {
    const std::uint64_t inverted = relaxed_load(inverted_min_);
    return inverted == 0 ? 0 : ~inverted;
  }
  [[nodiscard]] FABSCOPE_HIDDEN Counter count_at_bucket(std::size_t bucket) const noexcept {
    return relaxed_load(counter_[bucket]);
  }

 private:
  template <int, std::unsigned_integral>
  friend class histogram;
  template <std::size_t Capacity, int Resolution>
    requires(Capacity >= 64)
  friend class sparse_histogram;

  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t inverted_min_ = 0;
  Counter counter_[scale::buckets] = {};
};

FABSCOPE_NAMESPACE_END

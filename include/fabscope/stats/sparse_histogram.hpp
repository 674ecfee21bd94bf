// SPDX-License-Identifier: Apache-2.0
// A log-linear histogram that stores only the buckets that have something in them. Layer: stats.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/stats/concepts.hpp>
#include <fabscope/stats/histogram.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A quantile and the values between which the exact one lies, both included.
struct FABSCOPE_VISIBLE quantile_estimate {
  std::uint64_t value = 0;
  std::uint64_t low = 0;
  std::uint64_t high = 0;
};

/// Count, sum, smallest and largest value, and up to Capacity buckets of the scale log_linear<Bits>
/// (each at most 2^-Bits of its values wide, so that its middle is off by at most 0.8 % with the
/// default). When a bucket more is needed than there is room for, all pairs of neighbours become
/// one, and the error doubles: relative_error() says what holds. What the buckets are depends only
/// on the values, so merging in any order gives the same. Zeroed memory is empty.
/// Threads: one.  Units: the caller's.  Cost: record() a binary search, and a shift of the buckets
/// above when the bucket is new; 12 bytes per bucket of Capacity.
template <std::size_t Capacity, int Bits = 6>
  requires(Capacity >= 64)
class FABSCOPE_VISIBLE sparse_histogram {
 public:
  using scale = log_linear<Bits>;

  /// Counts a value `times` times.
  FABSCOPE_HIDDEN void record(std::uint64_t value, std::uint64_t times = 1) noexcept {
    if (times == 0) return;
    count_ += times;
    sum_ += value * times;
    if (value > max_) max_ = value;
    if (~value > inverted_min_) inverted_min_ = ~value;
    add(static_cast<std::uint32_t>(scale::bucket_of(value)), Bits, times);
  }

  template <std::size_t Other>
  FABSCOPE_HIDDEN void merge(const sparse_histogram<Other, Bits>& other) noexcept {
    add_summary(other.count_, other.sum_, other.max_, other.inverted_min_);
    while (bits() > other.bits()) collapse();
    for (std::size_t i = 0; i < other.size_; ++i) {
      add(other.bucket_[i], other.bits(), other.times_[i]);
    }
  }
  /// Adds a dense one of the same or a higher resolution, which may be live.
  template <int DenseBits, std::unsigned_integral Counter>
    requires(DenseBits >= Bits)
  FABSCOPE_HIDDEN void merge(const histogram<DenseBits, Counter>& dense) noexcept {
    add_summary(dense.count(), dense.sum(), (dense.max)(), relaxed_load(dense.inverted_min_));
    for (std::size_t i = 0; i < log_linear<DenseBits>::buckets; ++i) {
      const Counter times = dense.count_at_bucket(i);
      if (times != 0) add(static_cast<std::uint32_t>(i), DenseBits, times);
    }
  }
  /// Adds everything to a dense one; nothing is lost while bits() is Bits, and later the middle of
  /// each bucket stands for it.  Threads: the writer of `dense`.
  template <std::unsigned_integral Counter>
  FABSCOPE_HIDDEN void add_to(histogram<Bits, Counter>& dense) const noexcept {
    relaxed_add(dense.count_, count_);
    relaxed_add(dense.sum_, sum_);
    relaxed_max(dense.max_, max_);
    relaxed_max(dense.inverted_min_, inverted_min_);
    for_each([&dense](std::uint64_t low, std::uint64_t high, std::uint64_t times) noexcept {
      Counter& counter = dense.counter_[scale::bucket_of(low + (high - low) / 2)];
      const std::uint64_t room = static_cast<Counter>(~relaxed_load(counter));
      relaxed_add(counter, static_cast<Counter>(times < room ? times : room));
    });
  }

  /// The quantile `q` (0 to 1): the middle of the bucket that has the value of rank ceil(q * n).
  /// All 0 if nothing was counted.
  [[nodiscard]] FABSCOPE_HIDDEN quantile_estimate quantile(double q) const noexcept {
    if (size_ == 0) return {};
    std::uint64_t total = 0;
    for (std::size_t i = 0; i < size_; ++i) total += times_[i];
    const std::uint64_t rank = detail::rank_of(q, total);
    std::size_t at = 0;
    for (std::uint64_t below = times_[0]; below < rank; below += times_[at]) ++at;
    quantile_estimate found;
    found.low = low_of(bucket_[at], bits());
    found.high = low_of(bucket_[at] + 1, bits()) - 1;
    if (found.high == scale::limit - 1 || found.high > (max)()) found.high = (max)();
    if (found.low < (min)()) found.low = (min)();
    if (found.low > found.high) found.low = found.high;
    found.value = found.low + (found.high - found.low) / 2;
    return found;
  }

  /// Calls `visit(low, high, times)` for each bucket that has something, in rising order.
  template <class Visit>
  FABSCOPE_HIDDEN void for_each(Visit&& visit) const {
    for (std::size_t i = 0; i < size_; ++i) {
      visit(low_of(bucket_[i], bits()), low_of(bucket_[i] + 1, bits()) - 1, times_[i]);
    }
  }

  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t count() const noexcept { return count_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t sum() const noexcept { return sum_; }
  /// 0 if there is no value.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t(min)() const noexcept {
    return count_ == 0 ? 0 : ~inverted_min_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t(max)() const noexcept { return max_; }
  /// Buckets in use.
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t size() const noexcept { return size_; }
  /// The resolution: Bits, or less after neighbours were joined.
  [[nodiscard]] FABSCOPE_HIDDEN int bits() const noexcept {
    return Bits - static_cast<int>(collapsed_);
  }
  /// How far a quantile is off at most, as a part of it, below 2^42.
  [[nodiscard]] FABSCOPE_HIDDEN double relative_error() const noexcept {
    return 1.0 / static_cast<double>(std::uint64_t{2} << bits());
  }

 private:
  template <std::size_t Other, int Resolution>
    requires(Other >= 64)
  friend class sparse_histogram;

  // log_linear with a resolution that is known at run time only.
  FABSCOPE_HIDDEN static constexpr std::uint64_t low_of(std::uint32_t bucket, int bits) noexcept {
    if (bucket < (std::uint32_t{2} << bits)) return bucket;
    const std::uint32_t shift = (bucket >> bits) - 1;
    const std::uint32_t part = bucket & ((std::uint32_t{1} << bits) - 1);
    return ((std::uint64_t{1} << bits) + part) << shift;
  }
  // The bucket of the next lower resolution that covers a bucket.
  FABSCOPE_HIDDEN static constexpr std::uint32_t coarser(std::uint32_t bucket, int bits) noexcept {
    if (bucket < (std::uint32_t{1} << bits)) return bucket;
    return (bucket >> 1) + (std::uint32_t{1} << (bits - 1));
  }

  FABSCOPE_HIDDEN void add_summary(std::uint64_t count, std::uint64_t sum, std::uint64_t max,
                                   std::uint64_t inverted_min) noexcept {
    count_ += count;
    sum_ += sum;
    if (max > max_) max_ = max;
    if (inverted_min > inverted_min_) inverted_min_ = inverted_min;
  }

  FABSCOPE_HIDDEN void add(std::uint32_t bucket, int resolution, std::uint64_t times) noexcept {
    for (;;) {
      for (; resolution > bits(); --resolution) bucket = coarser(bucket, resolution);
      std::size_t at = 0;
      for (std::size_t step = std::bit_floor(Capacity); step != 0; step /= 2) {
        if (at + step <= size_ && bucket_[at + step - 1] < bucket) at += step;
      }
      if (at < size_ && bucket_[at] == bucket) {
        times_[at] += times;
        return;
      }
      if (size_ < Capacity) {
        for (std::size_t i = size_++; i > at; --i) {
          bucket_[i] = bucket_[i - 1];
          times_[i] = times_[i - 1];
        }
        bucket_[at] = bucket;
        times_[at] = times;
        return;
      }
      collapse();
    }
  }

  // One bit less. With none left there are 43 buckets, which always fit.
  FABSCOPE_HIDDEN void collapse() noexcept {
    const int before = bits();
    ++collapsed_;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      const std::uint32_t bucket = coarser(bucket_[i], before);
      const std::uint64_t times = times_[i];
      if (kept != 0 && bucket_[kept - 1] == bucket) {
        times_[kept - 1] += times;
      } else {
        bucket_[kept] = bucket;
        times_[kept++] = times;
      }
    }
    size_ = kept;
  }

  std::uint64_t count_ = 0;
  std::uint64_t sum_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t inverted_min_ = 0;
  std::size_t size_ = 0;
  std::uint64_t collapsed_ = 0;
  std::uint64_t times_[Capacity] = {};
  std::uint32_t bucket_[Capacity] = {};
};

FABSCOPE_NAMESPACE_END

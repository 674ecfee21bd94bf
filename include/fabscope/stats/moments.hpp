// SPDX-License-Identifier: Apache-2.0
// Count, smallest, largest, mean and variance of whole numbers, exact and mergeable.
// Layer: stats.
#pragma once

#include <cstdint>

#include <fabscope/stats/concepts.hpp>
#include <fabscope/stats/detail/wide.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Sums of the values and of their squares in integers wide enough for 2^63 values of 64 bits:
/// nothing is rounded before the end, so that merging in any order gives the same bits, and values
/// far from zero keep their variance. Zeroed memory is empty.
/// Threads: one.  Cost: record() one multiplication, no division.
class FABSCOPE_VISIBLE moments {
 public:
  FABSCOPE_HIDDEN constexpr void record(std::uint64_t value) noexcept {
    const detail::wide square = detail::wide{value} * value;
    ++count_;
    add(value, square, 0);
    if (value > max_) max_ = value;
    if (~value > inverted_min_) inverted_min_ = ~value;
  }
  FABSCOPE_HIDDEN constexpr void merge(const moments& other) noexcept {
    count_ += other.count_;
    add(other.sum(), join(other.squares_[0], other.squares_[1]), other.squares_[2]);
    if (other.max_ > max_) max_ = other.max_;
    if (other.inverted_min_ > inverted_min_) inverted_min_ = other.inverted_min_;
  }

  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t count() const noexcept { return count_; }
  /// 0 without values, as everything below.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t(min)() const noexcept {
    return count_ == 0 ? 0 : ~inverted_min_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t(max)() const noexcept { return max_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double mean() const noexcept {
    return count_ == 0 ? 0.0 : detail::nearest_quotient(sum(), count_);
  }
  /// The mean square of the distances from the mean.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double variance() const noexcept {
    return count_ == 0 ? 0.0 : detail::nearest_quotient(spread(), detail::wide{count_} * count_);
  }
  /// The same for a sample of something larger: over count - 1. 0 with fewer than two values.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double sample_variance() const noexcept {
    return count_ < 2 ? 0.0
                      : detail::nearest_quotient(spread(), detail::wide{count_} * (count_ - 1));
  }
  /// The square root of variance().
  [[nodiscard]] FABSCOPE_HIDDEN double deviation() const noexcept {
    return __builtin_sqrt(variance());
  }

 private:
  FABSCOPE_HIDDEN static constexpr detail::wide join(std::uint64_t low,
                                                     std::uint64_t high) noexcept {
    return detail::wide{high} << 64 | low;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr detail::wide sum() const noexcept {
    return join(sum_[0], sum_[1]);
  }

  FABSCOPE_HIDDEN constexpr void add(detail::wide sum_more, detail::wide square_more,
                                     std::uint64_t square_top) noexcept {
    const detail::wide new_sum = sum() + sum_more;
    sum_[0] = static_cast<std::uint64_t>(new_sum);
    sum_[1] = static_cast<std::uint64_t>(new_sum >> 64);
    const detail::wide squares = join(squares_[0], squares_[1]) + square_more;
    squares_[0] = static_cast<std::uint64_t>(squares);
    squares_[1] = static_cast<std::uint64_t>(squares >> 64);
    squares_[2] += square_top + (squares < square_more ? 1U : 0U);
  }

  // n^2 times the variance: n * (sum of squares) - (sum)^2.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr detail::wider spread() const noexcept {
    detail::wider scaled = detail::product(join(squares_[0], squares_[1]), count_);
    scaled.high += detail::wide{squares_[2]} * count_;
    return detail::difference(scaled, detail::product(sum(), sum()));
  }

  std::uint64_t count_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t inverted_min_ = 0;
  std::uint64_t sum_[2] = {};      // 128 bits, low word first
  std::uint64_t squares_[3] = {};  // 192 bits
};
static_assert(accumulator<moments> && sizeof(moments) == 64);

FABSCOPE_NAMESPACE_END

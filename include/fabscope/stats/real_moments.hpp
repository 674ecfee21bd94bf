// SPDX-License-Identifier: Apache-2.0
// Count, smallest, largest, mean and variance of real numbers, such as rates. Layer: stats.
#pragma once

#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Welford's update of mean and squared distances, and Chan's to join two of them: no sum of large
/// squares, so that values far from zero keep their variance. Results of another order of merging
/// differ by rounding only. Zeroed memory is empty. For whole numbers, moments is exact.
/// Threads: one.  Errors: values that are not finite are counted and left out.
class FABSCOPE_VISIBLE real_moments {
 public:
  FABSCOPE_HIDDEN constexpr void record(double value) noexcept {
    if (!(value - value == 0.0)) {  // infinite or not a number
      ++invalid_;
      return;
    }
    if (count_ == 0 || value < min_) min_ = value;
    if (count_ == 0 || value > max_) max_ = value;
    ++count_;
    const double before = value - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (value - mean_);
  }
  FABSCOPE_HIDDEN constexpr void merge(const real_moments& other) noexcept {
    const std::uint64_t skipped = invalid_ + other.invalid_;
    if (count_ == 0) {
      *this = other;
    } else if (other.count_ != 0) {
      if (other.min_ < min_) min_ = other.min_;
      if (other.max_ > max_) max_ = other.max_;
      const auto mine = static_cast<double>(count_);
      const auto theirs = static_cast<double>(other.count_);
      const double apart = other.mean_ - mean_;
      count_ += other.count_;
      mean_ += apart * (theirs / (mine + theirs));
      squares_ += other.squares_ + apart * apart * (mine * (theirs / (mine + theirs)));
    }
    invalid_ = skipped;
  }

  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t count() const noexcept { return count_; }
  /// Values that were left out.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t invalid_total() const noexcept {
    return invalid_;
  }
  /// 0 without values, as everything below.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double(min)() const noexcept { return min_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double(max)() const noexcept { return max_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double mean() const noexcept { return mean_; }
  /// The mean square of the distances from the mean.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double variance() const noexcept {
    return count_ == 0 ? 0.0 : squares_ / static_cast<double>(count_);
  }
  /// The same for a sample of something larger: over count - 1. 0 with fewer than two values.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double sample_variance() const noexcept {
    return count_ < 2 ? 0.0 : squares_ / static_cast<double>(count_ - 1);
  }
  /// The square root of variance().
  [[nodiscard]] FABSCOPE_HIDDEN double deviation() const noexcept {
    return __builtin_sqrt(variance());
  }

 private:
  std::uint64_t count_ = 0;
  std::uint64_t invalid_ = 0;
  double min_ = 0.0;
  double max_ = 0.0;
  double mean_ = 0.0;
  double squares_ = 0.0;  // of the distances from the mean
};

FABSCOPE_NAMESPACE_END

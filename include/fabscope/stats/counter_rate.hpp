// SPDX-License-Identifier: Apache-2.0
// Samples of a hardware counter become differences, totals and rates. Layer: stats.
#pragma once

#include <cstdint>

#include <fabscope/core/version.hpp>
#include <fabscope/stats/detail/wide.hpp>

FABSCOPE_NAMESPACE_BEGIN

enum class metric_kind : std::uint8_t {
  counter,    ///< only grows; differences mean something
  gauge,      ///< a level that goes up and down
  watermark,  ///< the highest level so far, until somebody resets it
};

/// What is known of a counter.
struct FABSCOPE_VISIBLE counter_format {
  metric_kind kind = metric_kind::counter;
  std::uint8_t bits = 64;       ///< 1 to 64
  bool saturates = false;       ///< stays at its largest value; otherwise begins again at 0
  bool ones_are_error = false;  ///< all ones are what a device gives that does not answer
  /// The most it can grow in a second, 0 if that is not known. Tells a wrap from a reset.
  std::uint64_t most_per_second = 0;
  /// How old a value can be when it is read: sources that refresh now and then move in steps.
  std::uint64_t refresh_ns = 0;
};

/// What a sample says about the time since the last good one.
enum class counter_change : std::uint8_t {
  first,      ///< there was none
  grown,      ///< by the difference, which may be 0
  wrapped,    ///< by the difference, past the end of its range
  ambiguous,  ///< long enough for more than one round: the difference is the least it can be
  saturated,  ///< it stands at its largest value: the difference is the least it can be
  reset,      ///< went back, or further than it can: the difference is not known
  level,      ///< a gauge's or a watermark's value
  missing,    ///< no value
};

/// The result of one sample.
struct FABSCOPE_VISIBLE counter_step {
  counter_change change = counter_change::missing;
  std::uint32_t gap = 0;          ///< samples that are missing between this and the last good one
  std::uint64_t difference = 0;   ///< 0 where it is not known
  std::uint64_t duration_ns = 0;  ///< since the last good sample; 0 if the time did not move on

  /// The difference is what really happened.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr bool is_exact() const noexcept {
    return change == counter_change::grown || change == counter_change::wrapped;
  }
  /// Units: counts per second. 0 where it is not known: no exact difference, or no time.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double per_second() const noexcept {
    if (!is_exact() || duration_ns == 0) return 0.0;
    return detail::nearest_quotient(detail::wide{difference} * 1'000'000'000U, duration_ns);
  }
};

/// The samples of one counter. Differences over missing samples count: the counter went on.
/// A wrap and a reset look alike when a counter goes back. With `most_per_second` a difference
/// beyond what it allows is a reset; without, a difference of more than half the range is, and 64
/// bits never wrap. A reset that this takes for a wrap cannot be told from one.
/// Threads: one.  Units: nanoseconds and the counter's own.
class FABSCOPE_VISIBLE counter_rate {
 public:
  FABSCOPE_HIDDEN constexpr counter_rate() noexcept = default;
  FABSCOPE_HIDDEN constexpr explicit counter_rate(const counter_format& format) noexcept
      : format_(format) {}

  /// Takes a value. One outside the counter's width is a missing one.
  FABSCOPE_HIDDEN constexpr counter_step add(std::uint64_t time_ns, std::uint64_t value) noexcept {
    if (value > mask() || (format_.ones_are_error && value == mask())) return add_missing();
    ++samples_;
    counter_step step;
    step.gap = gap_;
    gap_ = 0;
    if (samples_ > 1 && time_ns > time_ns_) step.duration_ns = time_ns - time_ns_;
    if (format_.kind == metric_kind::counter) {
      compare(value, step);
    } else {
      level(value, step);
    }
    if (value > max_ || samples_ == 1) max_ = value;
    if (value < min_ || samples_ == 1) min_ = value;
    value_ = value;
    if (time_ns > time_ns_ || samples_ == 1) time_ns_ = time_ns;
    return step;
  }
  /// The sample could not be read.
  FABSCOPE_HIDDEN constexpr counter_step add_missing() noexcept {
    ++missing_;
    ++gap_;
    return {};
  }

  /// The sum of all differences, which is a lower bound unless is_exact().
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t total() const noexcept { return total_; }
  /// Nothing was lost to a reset, a saturated value or a sample that came too late.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr bool is_exact() const noexcept {
    return resets_ == 0 && saturated_ == 0 && ambiguous_ == 0;
  }
  /// The mean rate over the time in which differences are exact. Units: counts per second.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double per_second() const noexcept {
    if (observed_ns_ == 0) return 0.0;
    return detail::nearest_quotient(detail::wide{exact_} * 1'000'000'000U, observed_ns_);
  }
  /// A gauge's mean over the time between samples, each value counting until the next one.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr double mean_level() const noexcept {
    if (observed_ns_ == 0) return static_cast<double>(value_);
    return detail::nearest_quotient(area_, observed_ns_);
  }

  [[nodiscard]] FABSCOPE_HIDDEN constexpr const counter_format& format() const noexcept {
    return format_;
  }
  /// The newest, the smallest and the largest value; 0 before the first one.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t value() const noexcept { return value_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t(min)() const noexcept { return min_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t(max)() const noexcept { return max_; }
  /// Good samples, and how often each of the other things was seen.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t samples_total() const noexcept {
    return samples_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t missing_total() const noexcept {
    return missing_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t wraps_total() const noexcept {
    return wraps_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t resets_total() const noexcept {
    return resets_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t saturated_total() const noexcept {
    return saturated_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t ambiguous_total() const noexcept {
    return ambiguous_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t observed_ns() const noexcept {
    return observed_ns_;
  }

 private:
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t mask() const noexcept {
    return ~std::uint64_t{0} >> (64 - format_.bits);
  }

  FABSCOPE_HIDDEN constexpr void compare(std::uint64_t value, counter_step& step) noexcept {
    if (samples_ == 1) {
      step.change = counter_change::first;
      if (format_.saturates && value == mask()) ++saturated_;
      return;
    }
    const bool back = value < value_;
    const std::uint64_t difference = (value - value_) & mask();
    if (!is_possible(difference, back, step.duration_ns)) {
      step.change = counter_change::reset;
      ++resets_;
      return;
    }
    step.difference = difference;
    total_ += difference;
    if (format_.saturates && value == mask()) {
      step.change = counter_change::saturated;
      ++saturated_;
    } else if (may_go_round(step.duration_ns)) {
      step.change = counter_change::ambiguous;
      ++ambiguous_;
    } else {
      step.change = back ? counter_change::wrapped : counter_change::grown;
      wraps_ += back ? 1U : 0U;
      exact_ += step.duration_ns != 0 ? difference : 0;
      observed_ns_ += step.duration_ns;
    }
  }

  FABSCOPE_HIDDEN constexpr void level(std::uint64_t value, counter_step& step) noexcept {
    step.change = counter_change::level;
    if (format_.kind == metric_kind::watermark && samples_ > 1 && value < value_) {
      step.change = counter_change::reset;
      ++resets_;
    }
    area_ += detail::wide{value_} * step.duration_ns;
    observed_ns_ += step.duration_ns;
  }

  // The most that it can have grown since the last good sample, in billionths.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr detail::wide limit(
      std::uint64_t duration_ns) const noexcept {
    const std::uint64_t time_ns = duration_ns + format_.refresh_ns;
    return detail::wide{format_.most_per_second} *
           (time_ns >= duration_ns ? time_ns : ~std::uint64_t{0});
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr bool is_possible(
      std::uint64_t difference, bool back, std::uint64_t duration_ns) const noexcept {
    if (back && format_.saturates) return false;
    if (format_.most_per_second != 0 && duration_ns != 0) {
      return detail::wide{difference} * 1'000'000'000U <= limit(duration_ns);
    }
    return !back || (format_.bits < 64 && difference <= mask() / 2);
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr bool may_go_round(
      std::uint64_t duration_ns) const noexcept {
    return !format_.saturates && format_.most_per_second != 0 &&
           limit(duration_ns) > detail::wide{mask()} * 1'000'000'000U;
  }

  counter_format format_{};
  std::uint64_t time_ns_ = 0;
  std::uint64_t value_ = 0;
  std::uint64_t min_ = 0;
  std::uint64_t max_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t exact_ = 0;
  std::uint64_t observed_ns_ = 0;
  detail::wide area_ = 0;
  std::uint64_t samples_ = 0;
  std::uint64_t missing_ = 0;
  std::uint64_t wraps_ = 0;
  std::uint64_t resets_ = 0;
  std::uint64_t saturated_ = 0;
  std::uint64_t ambiguous_ = 0;
  std::uint32_t gap_ = 0;
};

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// How long at least one of many overlapping intervals was open. Layer: stats.
//
// Two stages. A thread joins its own intervals as they end (interval_merger) and hands out far
// fewer; the collector joins those of all threads, in any order (interval_union). No thread touches
// another's words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// From begin up to, not including, end. Empty if end <= begin.
struct FABSCOPE_VISIBLE interval {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t length() const noexcept {
    return end > begin ? end - begin : 0;
  }
};

/// Joins a thread's intervals, given in the order in which they end. Zeroed memory is a new one.
/// Threads: one writer; any thread may call current().  Progress: wait-free.
class FABSCOPE_VISIBLE interval_merger {
 public:
  /// Adds [begin, end). True if a gap lies before it: then `finished` is the joined interval before
  /// the gap, to be handed on. Empty intervals are ignored.
  [[nodiscard]] FABSCOPE_HIDDEN bool add(std::uint64_t begin, std::uint64_t end,
                                         interval& finished) noexcept {
    if (end <= begin) return false;
    const std::uint64_t open_begin = relaxed_load(begin_);
    const std::uint64_t open_end = relaxed_load(end_);
    if (open_end == 0) {
      release_store(begin_, begin);  // before end_: pairs with current()
      release_store(end_, end);
      return false;
    }
    if (end < open_begin) {  // ends long before the others: hand it on as it is
      finished = interval{begin, end};
      return true;
    }
    if (begin <= open_end) [[likely]] {
      if (begin < open_begin) release_store(begin_, begin);
      if (end > open_end) release_store(end_, end);
      return false;
    }
    finished = interval{open_begin, open_end};
    release_store(begin_, begin);
    release_store(end_, end);
    return true;
  }

  /// Hands out what is still open and starts anew; false if there is nothing.  Threads: the writer.
  [[nodiscard]] FABSCOPE_HIDDEN bool flush(interval& finished) noexcept {
    finished = interval{relaxed_load(begin_), relaxed_load(end_)};
    release_store(end_, 0);
    return finished.end != 0;
  }

  /// The joined interval that is not finished yet: all of it was covered. Empty if there is none or
  /// if it changed during the look.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN interval current() const noexcept {
    const std::uint64_t end =
        acquire_load(end_);  // first: a begin read after it is as new or newer
    return interval{acquire_load(begin_), end};
  }

 private:
  std::uint64_t begin_ = 0;
  std::uint64_t end_ = 0;  // 0: nothing open
};

/// The measure of a union of intervals that come in any order, in bounded memory: at most Capacity
/// separate intervals are kept. When there are more, the oldest quarter becomes a sum, and what is
/// later added before its end is left out and counted as uncertain.  Threads: one. Cost: near the
/// end of time constant; elsewhere linear in Capacity.
template <std::size_t Capacity>
  requires(Capacity >= 4)
class FABSCOPE_VISIBLE basic_interval_union {
 public:
  FABSCOPE_HIDDEN void add(interval more) noexcept { add(more.begin, more.end); }
  FABSCOPE_HIDDEN void add(std::uint64_t begin, std::uint64_t end) noexcept {
    if (begin < frontier_) {
      const std::uint64_t clipped = end < frontier_ ? end : frontier_;
      if (clipped > begin) uncertain_ += clipped - begin;
      begin = frontier_;
    }
    if (end <= begin) return;
    // kept_[first, last) are those that touch the new one.
    std::size_t last = size_;
    while (last > 0 && kept_[last - 1].begin > end) --last;
    std::size_t first = last;
    while (first > 0 && kept_[first - 1].end >= begin) {
      --first;
      if (kept_[first].begin < begin) begin = kept_[first].begin;
      if (kept_[first].end > end) end = kept_[first].end;
      held_ -= kept_[first].length();
    }
    if (first == last && size_ == Capacity) {
      compact();
      if (begin < frontier_) return add(begin, end);  // it lay among those that became a sum
      first -= Capacity / 4;
      last = first;
    }
    const std::size_t after = size_ - last;
    std::memmove(kept_ + first + 1, kept_ + last, after * sizeof(interval));
    size_ = first + 1 + after;
    kept_[first] = interval{begin, end};
    held_ += end - begin;
  }

  /// Length of the union; a lower bound if uncertain() is not 0.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t total() const noexcept { return summed_ + held_; }
  /// Length that came too late to be compared: the union is at most total() + uncertain().
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t uncertain() const noexcept { return uncertain_; }
  /// Separate intervals kept.
  [[nodiscard]] FABSCOPE_HIDDEN std::size_t size() const noexcept { return size_; }

 private:
  FABSCOPE_HIDDEN void compact() noexcept {
    constexpr std::size_t oldest = Capacity / 4;
    for (std::size_t i = 0; i < oldest; ++i) summed_ += kept_[i].length();
    held_ = 0;
    frontier_ = kept_[oldest - 1].end;
    size_ -= oldest;
    std::memmove(kept_, kept_ + oldest, size_ * sizeof(interval));
    for (std::size_t i = 0; i < size_; ++i) held_ += kept_[i].length();
  }

  std::uint64_t summed_ = 0;
  std::uint64_t held_ = 0;
  std::uint64_t uncertain_ = 0;
  std::uint64_t frontier_ = 0;
  std::size_t size_ = 0;
  interval kept_[Capacity];
};

/// Keeps 1024 separate intervals (16 KiB).
using interval_union = basic_interval_union<1024>;

FABSCOPE_NAMESPACE_END

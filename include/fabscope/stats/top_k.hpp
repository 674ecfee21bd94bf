// SPDX-License-Identifier: Apache-2.0
// The keys with the largest sums, out of any number of keys, in fixed storage. Layer: stats.
//
// Source: Metwally, Agrawal, El Abbadi, "Efficient computation of frequent and top-k elements in
// data streams" (space-saving), and Agarwal et al., "Mergeable summaries".
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Keeps K keys. A new key that finds no room takes the place of the one with the smallest sum and
/// begins with that sum, which is noted as its possible error.
/// What holds for every key, also after merging: its true sum lies between `sum - error` and `sum`
/// (between 0 and absent_most() if it is not kept); error and absent_most() are at most total() /
/// K. So a key with more than total() / K is always kept, and while no more than K keys came,
/// everything is exact. Zeroed memory is empty.
/// Threads: one.  Cost: a look through the keys from the largest sum on, at most K.
template <std::size_t K>
  requires(K >= 1 && K <= 65536)
class FABSCOPE_VISIBLE top_k {
 public:
  struct entry {
    std::uint64_t key = 0;
    std::uint64_t sum = 0;    ///< at most this
    std::uint64_t error = 0;  ///< and at most this less
  };

  FABSCOPE_HIDDEN constexpr void add(std::uint64_t key, std::uint64_t amount = 1) noexcept {
    total_ += amount;
    std::size_t at = 0;
    while (at < size_ && entries_[at].key != key) ++at;
    if (at == size_) {
      if (size_ < K) {
        entries_[size_++] = entry{key, absent_most_, absent_most_};
      } else {
        --at;  // the smallest
        absent_most_ = entries_[at].sum;
        entries_[at] = entry{key, absent_most_, absent_most_};
      }
    }
    entry moved = entries_[at];
    moved.sum += amount;
    for (; at > 0 && entries_[at - 1].sum < moved.sum; --at) entries_[at] = entries_[at - 1];
    entries_[at] = moved;
  }

  /// Adds another one, of the same or another stream.
  FABSCOPE_HIDDEN constexpr void merge(const top_k& other) noexcept {
    entry all[2 * K] = {};
    std::size_t count = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      entry joined = entries_[i];
      const entry* same = other.find(joined.key);
      joined.sum += same != nullptr ? same->sum : other.absent_most_;
      joined.error += same != nullptr ? same->error : other.absent_most_;
      insert(all, count++, joined);
    }
    for (std::size_t i = 0; i < other.size_; ++i) {
      entry joined = other.entries_[i];
      if (find(joined.key) != nullptr) continue;
      joined.sum += absent_most_;
      joined.error += absent_most_;
      insert(all, count++, joined);
    }
    absent_most_ += other.absent_most_;
    if (count > K && all[K].sum > absent_most_) absent_most_ = all[K].sum;
    size_ = count < K ? count : K;
    for (std::size_t i = 0; i < size_; ++i) entries_[i] = all[i];
    total_ += other.total_;
  }

  /// The entry of a key, or null if it is not kept.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr const entry* find(std::uint64_t key) const noexcept {
    for (std::size_t i = 0; i < size_; ++i) {
      if (entries_[i].key == key) return &entries_[i];
    }
    return nullptr;
  }
  /// From the largest sum to the smallest.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr const entry* begin() const noexcept { return entries_; }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr const entry* end() const noexcept {
    return entries_ + size_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::size_t size() const noexcept { return size_; }
  /// Exact sum over all keys.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t total() const noexcept { return total_; }
  /// The most that a key that is not kept can have.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr std::uint64_t absent_most() const noexcept {
    return absent_most_;
  }
  /// No key was ever dropped: all sums are exact.
  [[nodiscard]] FABSCOPE_HIDDEN constexpr bool is_exact() const noexcept {
    return absent_most_ == 0;
  }

 private:
  // Into `list`, which holds `count` entries in falling order.
  FABSCOPE_HIDDEN static constexpr void insert(entry* list, std::size_t count,
                                               const entry& more) noexcept {
    std::size_t at = count;
    for (; at > 0 && list[at - 1].sum < more.sum; --at) list[at] = list[at - 1];
    list[at] = more;
  }

  std::uint64_t total_ = 0;
  std::uint64_t absent_most_ = 0;
  std::size_t size_ = 0;
  entry entries_[K] = {};
};

FABSCOPE_NAMESPACE_END

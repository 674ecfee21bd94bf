// SPDX-License-Identifier: Apache-2.0
// A thread's table of summary rows by key, bounded, readable live. Layer: stats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/stats/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Finds the row of a key or makes one. Rows lie densely in memory that the table is given (zeroed,
/// for example in a segment), in the order in which their keys first came; row 0 takes every key
/// that found no room, so that totals stay exact. The look-up index lies apart, in private memory:
/// a miss reads one or two cache lines of it and no rows, however full the table is. `row.used` is
/// 0 for a free row, `row_in_use`, or `row_is_other` for a row 0 that was needed. Threads: one
/// writer. Any thread may read: a row whose `used` an acquire_load finds non-zero has its key; its
/// other words are read with relaxed_load.  Progress: wait-free, at most one probe per index word.
/// Cost: a multiplication, one index word, one comparison of the key; no atomic read-modify-write.
template <keyed_row Row>
class FABSCOPE_VISIBLE row_table {
 public:
  using row_type = Row;
  using key_type = typename Row::key_type;

  static constexpr std::uint32_t max_rows = 1U << 20;

  FABSCOPE_HIDDEN constexpr row_table() noexcept = default;

  /// Bytes of private, zeroed, 4-byte aligned memory for the index of `rows` rows.
  [[nodiscard]] FABSCOPE_HIDDEN static constexpr std::size_t index_bytes(
      std::uint32_t rows) noexcept {
    return std::size_t{4} << index_log2(rows);
  }

  /// Takes over `count` rows (2 to max_rows, the first is `other`) and the index memory. Rows that
  /// are in use already, left by an earlier thread, are found again. Threads: the writer, before
  /// anything else.
  FABSCOPE_HIDDEN void attach(Row* rows, std::uint32_t count, void* index) noexcept {
    rows_ = rows;
    index_ = static_cast<std::uint32_t*>(index);
    log2_ = index_log2(count);
    std::memset(index, 0, index_bytes(count));
    limit_ = count;
    next_ = 1;
    while (next_ < limit_ && relaxed_load(rows_[next_].used) != 0) {
      const std::uint64_t hash = hash_of(words(rows_[next_].key()));
      std::uint64_t place = hash >> (64 - log2_);
      while (index_[place] != 0) place = (place + 1) & index_mask();
      index_[place] = entry(hash, next_++);
    }
  }

  /// The row of `key`; row 0 if there is none and no more can be made. The table must be attached.
  [[nodiscard]] FABSCOPE_HIDDEN Row& find_or_insert(const key_type& key) noexcept {
    const key_words wanted = words(key);
    const std::uint64_t hash = hash_of(wanted);
    std::uint64_t place = hash >> (64 - log2_);
    for (;;) {
      const std::uint32_t found = index_[place];
      if (found == 0) return insert(key, hash, place);
      if (((found ^ static_cast<std::uint32_t>(hash)) & tag_mask) == 0) {
        Row& row = rows_[found & id_mask];
        if (words(row.key()) == wanted) return row;
      }
      place = (place + 1) & index_mask();
    }
  }

  /// Threads: the writer, and others for a glance.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint32_t rows_used() const noexcept {
    return relaxed_load(next_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint32_t capacity() const noexcept { return limit_; }
  /// Row 0, for events that have no key. The caller marks it with `row_is_other` if it counts
  /// there.
  [[nodiscard]] FABSCOPE_HIDDEN Row& other() noexcept { return rows_[0]; }
  /// How often a key was sent to row 0.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t refused_total() const noexcept {
    return relaxed_load(refused_);
  }
  /// How many different keys that were: a linear count over 1024 bits, within about 5 % up to 3000
  /// keys and saturating near 7000.  Threads: any.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t refused_keys() const noexcept {
    std::uint32_t zeros = 0;
    for (const std::uint64_t& word : refused_bits_) {
      zeros += static_cast<std::uint32_t>(__builtin_popcountll(~relaxed_load(word)));
    }
    const double bits = 1024.0;
    const double free = zeros == 0 ? 1.0 : static_cast<double>(zeros);
    return static_cast<std::uint64_t>(bits * __builtin_log(bits / free) + 0.5);
  }

 private:
  struct key_words {
    std::uint64_t word[3];
    friend constexpr bool operator==(const key_words& a, const key_words& b) noexcept {
      return ((a.word[0] ^ b.word[0]) | (a.word[1] ^ b.word[1]) | (a.word[2] ^ b.word[2])) == 0;
    }
  };

  static constexpr std::uint32_t id_mask = max_rows - 1;
  static constexpr std::uint32_t tag_mask = ~id_mask;

  // At least two index words per row: a miss ends after 2.5 probes on average.
  FABSCOPE_HIDDEN static constexpr std::uint32_t index_log2(std::uint32_t rows) noexcept {
    std::uint32_t log2 = 4;
    while ((std::uint64_t{1} << log2) < std::uint64_t{rows} * 2) ++log2;
    return log2;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t index_mask() const noexcept {
    return (std::uint64_t{1} << log2_) - 1;
  }

  FABSCOPE_HIDDEN static key_words words(const key_type& key) noexcept {
    key_words out{};
    std::memcpy(&out, &key, sizeof(key));
    return out;
  }
  FABSCOPE_HIDDEN static std::uint64_t hash_of(const key_words& key) noexcept {
    std::uint64_t hash = key.word[0];
    if constexpr (sizeof(key_type) > 8) hash ^= key.word[1] << 23 | key.word[1] >> 41;
    if constexpr (sizeof(key_type) > 16) hash ^= key.word[2] << 46 | key.word[2] >> 18;
    hash ^= hash >> 32;  // a multiplication alone never carries high bits down
    return hash * 0x9E3779B97F4A7C15U;
  }
  // Twelve bits of the hash that do not choose the place, and the row's number.
  FABSCOPE_HIDDEN static std::uint32_t entry(std::uint64_t hash, std::uint32_t id) noexcept {
    return (static_cast<std::uint32_t>(hash) & tag_mask) | id;
  }

  FABSCOPE_HIDDEN __attribute__((noinline)) Row& insert(const key_type& key, std::uint64_t hash,
                                                        std::uint64_t place) noexcept {
    if (next_ == limit_) {
      relaxed_add(refused_, 1U);
      const std::uint64_t bit = ((hash ^ hash >> 29) * 0xBF58476D1CE4E5B9U) >> 54;
      std::uint64_t& bits = refused_bits_[bit / 64];
      relaxed_store(bits, bits | std::uint64_t{1} << (bit % 64));
      if (rows_[0].used == 0) release_store(rows_[0].used, row_is_other);
      return rows_[0];
    }
    Row& row = rows_[next_];
    row.set_key(key);
    release_store(row.used, row_in_use);  // a reader that sees it sees the key
    index_[place] = entry(hash, next_);
    relaxed_store(next_, next_ + 1);
    return row;
  }

  Row* rows_ = nullptr;
  std::uint32_t* index_ = nullptr;
  std::uint32_t log2_ = 4;
  std::uint32_t limit_ = 0;
  std::uint32_t next_ = 1;
  std::uint64_t refused_ = 0;
  std::uint64_t refused_bits_[16] = {};
};

FABSCOPE_NAMESPACE_END

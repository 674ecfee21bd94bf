// SPDX-License-Identifier: Apache-2.0
// Rows of all threads with equal keys become one. Layer: session.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <vector>

#include <fabscope/session/segment_view.hpp>
#include <fabscope/stats/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace detail {

template <class Number>
void merge_element(field_role role, unsigned char* into, const unsigned char* from) noexcept {
  Number a;
  Number b;
  std::memcpy(&a, into, sizeof a);
  std::memcpy(&b, from, sizeof b);
  switch (role) {
    case field_role::sum: a = static_cast<Number>(a + b); break;
    case field_role::minimum:  // stored inverted: the smallest is the largest
    case field_role::maximum:
    case field_role::last: a = a < b ? b : a; break;
    default: return;
  }
  std::memcpy(into, &a, sizeof a);
}

/// Adds a row to one with the same key, each field by its role.
FABSCOPE_NOINLINE inline void merge_row(const fabscope_type& type, unsigned char* into,
                                        const unsigned char* from) noexcept {
  for (std::uint32_t f = 0; f < type.field_count; ++f) {
    const fabscope_field& member = type.fields[f];
    const auto kind = static_cast<field_type>(member.type);
    const auto role = static_cast<field_role>(member.role);
    for (std::size_t i = 0; i < member.count; ++i) {
      const std::size_t at = member.offset + i * size_of(kind);
      switch (kind) {
        case field_type::u8: merge_element<std::uint8_t>(role, into + at, from + at); break;
        case field_type::u16: merge_element<std::uint16_t>(role, into + at, from + at); break;
        case field_type::i32: merge_element<std::int32_t>(role, into + at, from + at); break;
        case field_type::i64: merge_element<std::int64_t>(role, into + at, from + at); break;
        case field_type::f64: merge_element<double>(role, into + at, from + at); break;
        default:
          if (size_of(kind) == 4) merge_element<std::uint32_t>(role, into + at, from + at);
          if (size_of(kind) == 8) merge_element<std::uint64_t>(role, into + at, from + at);
      }
    }
  }
}

/// Rows of one type that is known at run time, one per key.
class row_merger {
 public:
  explicit row_merger(const fabscope_type& type) : type_(type), index_(16) {}

  FABSCOPE_NOINLINE void add(const void* row) {
    const auto* bytes = static_cast<const unsigned char*>(row);
    const merge_key key = key_of(bytes);
    std::size_t place = place_of(key);
    if (index_[place] != 0) {
      merge_row(type_, at(index_[place] - 1), bytes);
      return;
    }
    rows_.insert(rows_.end(), bytes, bytes + type_.bytes);
    keys_.push_back({key, keys_.size()});
    index_[place] = keys_.size();
    if (keys_.size() * 2 < index_.size()) return;
    index_.assign(index_.size() * 2, 0);
    for (std::size_t i = 0; i < keys_.size(); ++i) index_[place_of(keys_[i].key)] = i + 1;
  }

  [[nodiscard]] std::size_t size() const noexcept { return keys_.size(); }

  /// Copies the rows in the order of their keys' numbers.
  FABSCOPE_NOINLINE void copy_to(void* out) {
    if (keys_.empty()) return;
    std::qsort(keys_.data(), keys_.size(), sizeof keys_[0], [](const void* a, const void* b) {
      const merge_key& left = static_cast<const entry*>(a)->key;
      const merge_key& right = static_cast<const entry*>(b)->key;
      for (std::size_t i = 0; i < key_words; ++i) {
        if (left.word[i] != right.word[i]) return left.word[i] < right.word[i] ? -1 : 1;
      }
      return 0;
    });
    auto* to = static_cast<unsigned char*>(out);
    for (const entry& one : keys_) {
      std::memcpy(to, at(one.row), type_.bytes);
      to += type_.bytes;
    }
  }

 private:
  static constexpr std::size_t key_words = 8;
  struct merge_key {
    std::uint64_t word[key_words];
  };
  struct entry {
    merge_key key;
    std::size_t row;
  };

  unsigned char* at(std::size_t row) noexcept { return rows_.data() + row * type_.bytes; }

  /// The key fields of a row, and whether it is the row of keys that found no room.
  merge_key key_of(const unsigned char* row) const noexcept {
    merge_key key{};
    std::size_t size = 0;
    for (std::uint32_t f = 0; f < type_.field_count; ++f) {
      const fabscope_field& member = type_.fields[f];
      const std::size_t bytes = size_of(static_cast<field_type>(member.type));
      if (static_cast<field_role>(member.role) == field_role::key && size < key_words - 1) {
        std::memcpy(&key.word[size++], row + member.offset, bytes);
      }
      if (static_cast<field_role>(member.role) == field_role::used) {
        std::uint64_t used = 0;
        std::memcpy(&used, row + member.offset, bytes);
        key.word[key_words - 1] = used == row_is_other ? 1 : 0;
      }
    }
    return key;
  }
  /// Where the key is in the index, or is to be.
  [[nodiscard]] std::size_t place_of(const merge_key& key) const noexcept {
    std::uint64_t hash = 0;
    for (const std::uint64_t word : key.word)
      hash = (hash ^ word) * 0x9E3779B97F4A7C15U ^ hash >> 29;
    std::size_t place = static_cast<std::size_t>(hash >> 20) & (index_.size() - 1);
    while (index_[place] != 0 &&
           std::memcmp(&keys_[index_[place] - 1].key, &key, sizeof key) != 0) {
      place = (place + 1) & (index_.size() - 1);
    }
    return place;
  }

  const fabscope_type type_;
  std::vector<unsigned char> rows_;
  std::vector<entry> keys_;
  std::vector<std::size_t> index_;  ///< number of the key, from 1; a power of two of them
};

/// All rows of a type, merged, in the order of their keys' numbers.
template <summary_row Row>
std::vector<Row> merged_rows(const segment_view& from) {
  row_merger merger(describe<Row>());
  from.visit_rows(describe<Row>(), &merger, [](void* self, const void* row, std::uint32_t) {
    static_cast<row_merger*>(self)->add(row);
  });
  std::vector<Row> out(merger.size());
  merger.copy_to(out.data());
  return out;
}

}  // namespace detail

FABSCOPE_NAMESPACE_END

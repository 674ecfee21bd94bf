// SPDX-License-Identifier: Apache-2.0
// Summary rows of scopes, and counts by reason. Layer: stats.
//
// A row belongs to one thread, which alone writes it; readers load its words one by one and merge
// the rows of all threads by their key fields. Times are in ticks of the session's clock.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/core/config.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/stats/concepts.hpp>
#include <fabscope/stats/histogram.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// All scopes of one name in one domain: complete, whatever the rings lose.
struct scope_row {
  using scale = log_linear<3>;  ///< quantiles within 6.3 %
  struct key_type {
    std::uint64_t labels;  ///< domain << 32 | name
  };

  std::uint64_t used = 0;
  std::uint32_t name = 0;
  std::uint32_t domain = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;
  std::uint64_t inverted_min = 0;
  std::uint64_t max = 0;
  std::uint64_t range = 0;  ///< how many values lie from the minimum to the maximum or the limit
  std::uint32_t histogram[scale::buckets] = {};

  static constexpr const char* type_name = "scope_row";
  static constexpr bool is_row = true;
  static const field fields[9];

  [[nodiscard]] key_type key() const noexcept { return {std::uint64_t{domain} << 32 | name}; }
  void set_key(const key_type& key) noexcept {
    relaxed_store(name, static_cast<std::uint32_t>(key.labels));
    relaxed_store(domain, static_cast<std::uint32_t>(key.labels >> 32));
  }

  /// Counts one scope. Units: ticks, bytes.
  FABSCOPE_ALWAYS_INLINE void add(std::uint64_t span, std::uint64_t amount) noexcept {
    relaxed_add(count, 1);
    relaxed_add(bytes, amount);
    relaxed_add(sum, span);
    // One comparison for the minimum, the maximum and the histogram's limit.
    if (span + relaxed_load(inverted_min) + 1 >= relaxed_load(range)) [[unlikely]]
      return add_outside(span);
    relaxed_add(histogram[scale::bucket_below_limit(span)], 1U);
  }

 private:
  FABSCOPE_NOINLINE void add_outside(std::uint64_t span) noexcept {
    relaxed_min_inverted(inverted_min, span);
    relaxed_max(max, span);
    const std::uint64_t min = ~inverted_min;
    const std::uint64_t end = max < scale::limit ? max + 1 : scale::limit;
    relaxed_store(range, end > min ? end - min : 0);
    relaxed_add(histogram[scale::bucket_of(span)], 1U);
  }
};

inline constexpr field scope_row::fields[9] = {
    {"used", "", offsetof(scope_row, used), field_type::u64, field_role::used},
    {"name", "", offsetof(scope_row, name), field_type::label, field_role::key},
    {"domain", "", offsetof(scope_row, domain), field_type::label, field_role::key},
    {"count", "", offsetof(scope_row, count), field_type::u64, field_role::sum},
    {"bytes", "B", offsetof(scope_row, bytes), field_type::u64, field_role::sum},
    {"sum", "ns", offsetof(scope_row, sum), field_type::span, field_role::sum},
    {"min", "ns", offsetof(scope_row, inverted_min), field_type::span, field_role::minimum},
    {"max", "ns", offsetof(scope_row, max), field_type::span, field_role::maximum},
    {"histogram", "", offsetof(scope_row, histogram), field_type::u32, field_role::sum,
     scope_row::scale::buckets},
};
static_assert(keyed_row<scope_row> && summary_row<scope_row>);

FABSCOPE_NAMESPACE_END

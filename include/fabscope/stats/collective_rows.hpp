// SPDX-License-Identifier: Apache-2.0
// Summary rows of collectives, and of the host's events that could not be used. Layer: stats.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <fabscope/core/config.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/event/collective_record.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/stats/concepts.hpp>
#include <fabscope/stats/histogram.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Operations of one function, method, size class and timing source in one communicator.
/// Units: nanoseconds, bytes.
struct collective_row {
  using scale = log_linear<2>;  ///< quantiles within 12.5 %
  struct key_type {
    std::uint64_t where;  ///< communicator << 32 | source << 24 | size class << 16 | method << 8 |
                          ///< function
  };

  std::uint64_t used = 0;
  std::uint32_t communicator = 0;  ///< label
  std::uint8_t function = 0;       ///< collective
  std::uint8_t method = 0;         ///< algorithm, and protocol << 4
  std::uint8_t size = 0;           ///< bits of the largest number of bytes in the class
  std::uint8_t source = 0;         ///< timing_source
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t span = 0;
  std::uint64_t inverted_min = 0;
  std::uint64_t max = 0;
  std::uint64_t longest = 0;     ///< sum over operations of their longest channel
  std::uint64_t incomplete = 0;  ///< of which fewer channels reported than were announced
  std::uint32_t histogram[scale::buckets] = {};

  static constexpr const char* type_name = "collective_row";
  static constexpr bool is_row = true;
  static const field fields[14];

  [[nodiscard]] key_type key() const noexcept {
    return {std::uint64_t{communicator} << 32 | std::uint64_t{source} << 24 |
            std::uint64_t{size} << 16 | std::uint64_t{method} << 8 | function};
  }
  void set_key(const key_type& key) noexcept {
    relaxed_store(communicator, static_cast<std::uint32_t>(key.where >> 32));
    relaxed_store(source, static_cast<std::uint8_t>(key.where >> 24));
    relaxed_store(size, static_cast<std::uint8_t>(key.where >> 16));
    relaxed_store(method, static_cast<std::uint8_t>(key.where >> 8));
    relaxed_store(function, static_cast<std::uint8_t>(key.where));
  }
  /// The row that an operation belongs to.
  [[nodiscard]] static key_type key_of(const collective_record& record) noexcept {
    const auto bits = static_cast<std::uint64_t>(std::bit_width(record.bytes));
    return {std::uint64_t{record.communicator} << 32 |
            static_cast<std::uint64_t>(record.source()) << 24 | bits << 16 |
            std::uint64_t{record.method} << 8 | static_cast<std::uint64_t>(record.function())};
  }

  void add(const collective_record& record) noexcept {
    relaxed_add(count, 1);
    relaxed_add(bytes, record.bytes);
    relaxed_add(span, record.span_ns);
    relaxed_min_inverted(inverted_min, record.span_ns);
    relaxed_max(max, record.span_ns);
    relaxed_add(longest, record.longest_ns);
    if ((record.flags & collective_record::incomplete) != 0) relaxed_add(incomplete, 1);
    relaxed_add(histogram[scale::bucket_of(record.span_ns)], 1U);
  }
};
inline constexpr field collective_row::fields[14] = {
    {"used", "", offsetof(collective_row, used), field_type::u64, field_role::used},
    {"communicator", "", offsetof(collective_row, communicator), field_type::label,
     field_role::key},
    {"function", "", offsetof(collective_row, function), field_type::u8, field_role::key},
    {"method", "", offsetof(collective_row, method), field_type::u8, field_role::key},
    {"size", "", offsetof(collective_row, size), field_type::u8, field_role::key},
    {"source", "", offsetof(collective_row, source), field_type::u8, field_role::key},
    {"count", "", offsetof(collective_row, count), field_type::u64, field_role::sum},
    {"bytes", "B", offsetof(collective_row, bytes), field_type::u64, field_role::sum},
    {"span", "ns", offsetof(collective_row, span), field_type::u64, field_role::sum},
    {"min", "ns", offsetof(collective_row, inverted_min), field_type::u64, field_role::minimum},
    {"max", "ns", offsetof(collective_row, max), field_type::u64, field_role::maximum},
    {"longest", "ns", offsetof(collective_row, longest), field_type::u64, field_role::sum},
    {"incomplete", "", offsetof(collective_row, incomplete), field_type::u64, field_role::sum},
    {"histogram", "", offsetof(collective_row, histogram), field_type::u32, field_role::sum,
     collective_row::scale::buckets},
};

/// Events of the host that were not used, by reason and kind of event.
struct event_tally_row {
  struct key_type {
    std::uint64_t labels;  ///< event << 32 | reason
  };
  std::uint64_t used = 0;
  std::uint32_t reason = 0;  ///< label
  std::uint32_t event = 0;   ///< label
  std::uint64_t count = 0;

  static constexpr const char* type_name = "event_tally_row";
  static constexpr bool is_row = true;
  static const field fields[4];

  [[nodiscard]] key_type key() const noexcept { return {std::uint64_t{event} << 32 | reason}; }
  void set_key(const key_type& key) noexcept {
    relaxed_store(reason, static_cast<std::uint32_t>(key.labels));
    relaxed_store(event, static_cast<std::uint32_t>(key.labels >> 32));
  }
};
inline constexpr field event_tally_row::fields[4] = {
    {"used", "", offsetof(event_tally_row, used), field_type::u64, field_role::used},
    {"reason", "", offsetof(event_tally_row, reason), field_type::label, field_role::key},
    {"event", "", offsetof(event_tally_row, event), field_type::label, field_role::key},
    {"count", "", offsetof(event_tally_row, count), field_type::u64, field_role::sum},
};
static_assert(keyed_row<collective_row> && summary_row<collective_row> &&
              keyed_row<event_tally_row> && summary_row<event_tally_row>);

FABSCOPE_NAMESPACE_END

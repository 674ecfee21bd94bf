// SPDX-License-Identifier: Apache-2.0
// A fabric operation that has not completed, as the collector saw it last. Layer: stats.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/stats/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// One of the oldest operations in flight. The collector writes these rows anew in every round, so
/// that they are there when the process is killed or hangs.
struct in_flight_row {
  std::uint64_t used = 0;
  std::uint32_t place = 0;   ///< its number in the table
  std::uint32_t nic = 0;     ///< label
  std::uint32_t local = 0;   ///< label: address of the own endpoint
  std::uint32_t remote = 0;  ///< label: address of the peer; 0: unknown or any
  std::uint64_t begin = 0;   ///< ticks before the call that was accepted
  std::uint64_t seen = 0;    ///< ticks of the round in which it was still in flight
  std::uint64_t bytes = 0;
  std::uint64_t cause = 0;  ///< what its thread was doing
  std::uint8_t op = 0;      ///< operation
  std::uint8_t reserved[7] = {};

  static constexpr const char* type_name = "in_flight_row";
  static constexpr bool is_row = true;
  static const field fields[10];
};
inline constexpr field in_flight_row::fields[10] = {
    {"used", "", offsetof(in_flight_row, used), field_type::u64, field_role::used},
    {"place", "", offsetof(in_flight_row, place), field_type::u32, field_role::key},
    {"nic", "", offsetof(in_flight_row, nic), field_type::label, field_role::last},
    {"local", "", offsetof(in_flight_row, local), field_type::label, field_role::last},
    {"remote", "", offsetof(in_flight_row, remote), field_type::label, field_role::last},
    {"begin", "ns", offsetof(in_flight_row, begin), field_type::ticks, field_role::last},
    {"seen", "ns", offsetof(in_flight_row, seen), field_type::ticks, field_role::last},
    {"bytes", "B", offsetof(in_flight_row, bytes), field_type::u64, field_role::last},
    {"cause", "", offsetof(in_flight_row, cause), field_type::cause, field_role::last},
    {"op", "", offsetof(in_flight_row, op), field_type::u8, field_role::last},
};
static_assert(summary_row<in_flight_row>);

/// The oldest of what it is given, the oldest first.  Threads: one.
class FABSCOPE_VISIBLE in_flight_list {
 public:
  static constexpr std::uint32_t places = 32;

  FABSCOPE_HIDDEN void add(const in_flight_row& row) noexcept {
    std::uint32_t at = count_;
    if (at == places) {
      if (row_[at - 1].begin <= row.begin) return;
      --at;
    } else {
      ++count_;
    }
    for (; at != 0 && row_[at - 1].begin > row.begin; --at) row_[at] = row_[at - 1];
    row_[at] = row;
  }

  /// Writes them over `places` rows that are numbered from `first`. A row is not in use while it is
  /// changed, so that whoever finds it later finds it whole.
  FABSCOPE_HIDDEN void publish(in_flight_row* to, std::uint32_t first) const noexcept {
    for (std::uint32_t i = 0; i < places; ++i, ++to) {
      if (i >= count_ && relaxed_load(to->used) == 0) continue;
      __atomic_exchange_n(&to->used, 0, __ATOMIC_ACQ_REL);  // before the words below
      if (i >= count_) continue;
      const in_flight_row& from = row_[i];
      relaxed_store(to->place, first + i);
      relaxed_store(to->nic, from.nic);
      relaxed_store(to->local, from.local);
      relaxed_store(to->remote, from.remote);
      relaxed_store(to->begin, from.begin);
      relaxed_store(to->seen, from.seen);
      relaxed_store(to->bytes, from.bytes);
      relaxed_store(to->cause, from.cause);
      relaxed_store(to->op, from.op);
      release_store(to->used, row_in_use);
    }
  }

 private:
  in_flight_row row_[places];
  std::uint32_t count_ = 0;
};

FABSCOPE_NAMESPACE_END

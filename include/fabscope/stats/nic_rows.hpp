// SPDX-License-Identifier: Apache-2.0
// Rows of a NIC's hardware counters, and what is known of the sampler. Layer: stats.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/stats/concepts.hpp>
#include <fabscope/stats/histogram.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// What a counter is about. The numbers stand in rows: new ones are appended.
enum class nic_role : std::uint8_t {
  other,
  tx_bytes,
  rx_bytes,
  tx_packets,
  rx_packets,
  pause,    ///< the link or a queue was told to wait, or told the other end to
  retry,    ///< something was sent again
  timeout,  ///< an answer did not come in time
  drop,     ///< something was thrown away
  ecn,      ///< congestion was marked or notified
  error,
};

/// Properties of a counter, as bits.
enum nic_flag : std::uint8_t {
  nic_saturates = 1,       ///< stays at its largest value
  nic_should_be_zero = 2,  ///< anything that moves it is worth a look
  nic_twin = 4,            ///< counts the same events as another column: never add the two
  nic_no_total = 8,        ///< left out of totals over devices (lo)
};

/// One counter of one NIC: the differences of all samples, by what is known of it.
/// Threads: the sampler writes.
struct nic_counter_row {
  std::uint64_t used = 0;
  std::uint32_t device = 0;
  std::uint32_t name = 0;
  std::uint32_t unit = 0;
  std::uint32_t source = 0;  ///< directory or interface that it is read from
  std::uint32_t column = 0;  ///< number in the samples
  std::uint8_t kind = 0;     ///< metric_kind
  std::uint8_t bits = 64;
  std::uint8_t role = 0;    ///< nic_role
  std::uint8_t flags = 0;   ///< nic_flag
  std::uint64_t scale = 1;  ///< value * scale is in `unit`; values are kept as they are read
  std::uint64_t refresh_ns = 0;
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::uint64_t min = 0;
  std::uint64_t max = 0;
  std::uint64_t total = 0;     ///< sum of differences; the least it can be after a reset
  std::uint64_t fastest = 0;   ///< per second, between two samples
  std::uint64_t observed = 0;  ///< nanoseconds over which differences are known
  std::uint64_t samples = 0;   ///< with a value
  std::uint64_t missing = 0;
  std::uint64_t invalid = 0;
  std::uint64_t resets = 0;
  std::uint64_t wraps = 0;
  std::uint64_t saturated = 0;
  std::uint64_t sampler = 0;  ///< pid of the process that read it

  static constexpr const char* type_name = "nic_counter_row";
  static constexpr bool is_row = true;
  static const field fields[26];
};
inline constexpr field nic_counter_row::fields[26] = {
    {"used", "", offsetof(nic_counter_row, used), field_type::u64, field_role::used},
    {"device", "", offsetof(nic_counter_row, device), field_type::label, field_role::key},
    {"name", "", offsetof(nic_counter_row, name), field_type::label, field_role::key},
    {"unit", "", offsetof(nic_counter_row, unit), field_type::label, field_role::last},
    {"source", "", offsetof(nic_counter_row, source), field_type::label, field_role::last},
    {"column", "", offsetof(nic_counter_row, column), field_type::u32, field_role::last},
    {"kind", "", offsetof(nic_counter_row, kind), field_type::u8, field_role::last},
    {"bits", "", offsetof(nic_counter_row, bits), field_type::u8, field_role::last},
    {"role", "", offsetof(nic_counter_row, role), field_type::u8, field_role::last},
    {"flags", "", offsetof(nic_counter_row, flags), field_type::u8, field_role::last},
    {"scale", "", offsetof(nic_counter_row, scale), field_type::u64, field_role::last},
    {"refresh", "", offsetof(nic_counter_row, refresh_ns), field_type::u64, field_role::last},
    {"first", "", offsetof(nic_counter_row, first), field_type::u64, field_role::last},
    {"last", "", offsetof(nic_counter_row, last), field_type::u64, field_role::last},
    {"min", "", offsetof(nic_counter_row, min), field_type::u64, field_role::last},
    {"max", "", offsetof(nic_counter_row, max), field_type::u64, field_role::last},
    {"total", "", offsetof(nic_counter_row, total), field_type::u64, field_role::sum},
    {"fastest", "1/s", offsetof(nic_counter_row, fastest), field_type::u64, field_role::maximum},
    {"observed", "", offsetof(nic_counter_row, observed), field_type::u64, field_role::sum},
    {"samples", "", offsetof(nic_counter_row, samples), field_type::u64, field_role::sum},
    {"missing", "", offsetof(nic_counter_row, missing), field_type::u64, field_role::sum},
    {"invalid", "", offsetof(nic_counter_row, invalid), field_type::u64, field_role::sum},
    {"resets", "", offsetof(nic_counter_row, resets), field_type::u64, field_role::sum},
    {"wraps", "", offsetof(nic_counter_row, wraps), field_type::u64, field_role::sum},
    {"saturated", "", offsetof(nic_counter_row, saturated), field_type::u64, field_role::sum},
    {"sampler", "", offsetof(nic_counter_row, sampler), field_type::u64, field_role::last},
};

/// Bytes per second of one counter between each two samples.
struct nic_rate_row {
  using scale = log_linear<3>;  ///< quantiles within 6.3 %
  std::uint64_t used = 0;
  std::uint32_t device = 0;
  std::uint32_t name = 0;
  std::uint64_t count = 0;
  std::uint32_t histogram[scale::buckets] = {};

  static constexpr const char* type_name = "nic_rate_row";
  static constexpr bool is_row = true;
  static const field fields[5];

  void add(std::uint64_t per_second) noexcept {
    relaxed_add(count, 1);
    count_one(histogram[scale::bucket_of(per_second)]);
  }
};
inline constexpr field nic_rate_row::fields[5] = {
    {"used", "", offsetof(nic_rate_row, used), field_type::u64, field_role::used},
    {"device", "", offsetof(nic_rate_row, device), field_type::label, field_role::key},
    {"name", "", offsetof(nic_rate_row, name), field_type::label, field_role::key},
    {"count", "", offsetof(nic_rate_row, count), field_type::u64, field_role::sum},
    {"histogram", "", offsetof(nic_rate_row, histogram), field_type::u32, field_role::sum,
     nic_rate_row::scale::buckets},
};

/// A NIC that was selected.
struct nic_device_row {
  std::uint64_t used = 0;
  std::uint32_t device = 0;
  std::uint32_t device_class = 0;
  std::uint32_t driver = 0;
  std::uint32_t pci = 0;
  std::uint32_t about = 0;  ///< nid, state and link as texts, for example "nid=0x1a"
  std::int32_t numa = -1;
  std::int64_t speed_mbps = -1;  ///< -1: unknown
  std::uint64_t sampler = 0;     ///< pid of the process that samples it; 0: nobody yet
  std::uint64_t taken_over = 0;  ///< times that this process took it over from another
  std::uint64_t gone = 0;        ///< times that it went
  std::uint64_t back = 0;        ///< times that it returned
  std::uint64_t gone_at = 0;     ///< ticks, the last time
  std::uint64_t back_at = 0;

  static constexpr const char* type_name = "nic_device_row";
  static constexpr bool is_row = true;
  static const field fields[14];
};
inline constexpr field nic_device_row::fields[14] = {
    {"used", "", offsetof(nic_device_row, used), field_type::u64, field_role::used},
    {"device", "", offsetof(nic_device_row, device), field_type::label, field_role::key},
    {"class", "", offsetof(nic_device_row, device_class), field_type::label, field_role::key},
    {"driver", "", offsetof(nic_device_row, driver), field_type::label, field_role::last},
    {"pci", "", offsetof(nic_device_row, pci), field_type::label, field_role::last},
    {"about", "", offsetof(nic_device_row, about), field_type::label, field_role::last},
    {"numa", "", offsetof(nic_device_row, numa), field_type::i32, field_role::last},
    {"speed", "Mb/s", offsetof(nic_device_row, speed_mbps), field_type::i64, field_role::last},
    {"sampler", "", offsetof(nic_device_row, sampler), field_type::u64, field_role::last},
    {"taken_over", "", offsetof(nic_device_row, taken_over), field_type::u64, field_role::sum},
    {"gone", "", offsetof(nic_device_row, gone), field_type::u64, field_role::sum},
    {"back", "", offsetof(nic_device_row, back), field_type::u64, field_role::sum},
    {"gone_at", "ns", offsetof(nic_device_row, gone_at), field_type::ticks, field_role::last},
    {"back_at", "ns", offsetof(nic_device_row, back_at), field_type::ticks, field_role::last},
};

/// How the sampler kept its time. samples + missed == grid points that have passed.
struct nic_sampler_row {
  using scale = log_linear<3>;
  std::uint64_t used = 0;
  std::uint64_t period_ns = 0;
  std::uint64_t columns = 0;
  std::uint64_t samples = 0;
  std::uint64_t missed = 0;    ///< ticks skipped because the sampler was late
  std::uint64_t begin = 0;     ///< ticks of the first sample
  std::uint64_t latest = 0;    ///< ticks of the newest
  std::uint64_t sweep_ns = 0;  ///< sum over samples: from the first to the last read
  std::uint64_t sweep_max_ns = 0;
  std::uint64_t cpu_ns = 0;                     ///< of the sampler's threads
  std::uint64_t written = 0;                    ///< samples in nic.csv
  std::uint64_t overwritten = 0;                ///< gone before they could be written
  std::uint64_t dropped = 0;                    ///< the file could not take them
  std::uint64_t filtered = 0;                   ///< nobody asked for nic.csv
  std::uint32_t late[scale::buckets] = {};      ///< ns behind the grid
  std::uint32_t interval[scale::buckets] = {};  ///< ns between two begins

  static constexpr const char* type_name = "nic_sampler_row";
  static constexpr bool is_row = true;
  static const field fields[16];
};
inline constexpr field nic_sampler_row::fields[16] = {
    {"used", "", offsetof(nic_sampler_row, used), field_type::u64, field_role::used},
    {"period", "", offsetof(nic_sampler_row, period_ns), field_type::u64, field_role::last},
    {"columns", "", offsetof(nic_sampler_row, columns), field_type::u64, field_role::last},
    {"samples", "", offsetof(nic_sampler_row, samples), field_type::u64, field_role::sum},
    {"missed", "", offsetof(nic_sampler_row, missed), field_type::u64, field_role::sum},
    {"begin", "ns", offsetof(nic_sampler_row, begin), field_type::ticks, field_role::last},
    {"latest", "ns", offsetof(nic_sampler_row, latest), field_type::ticks, field_role::last},
    {"sweep", "", offsetof(nic_sampler_row, sweep_ns), field_type::u64, field_role::sum},
    {"sweep_max", "", offsetof(nic_sampler_row, sweep_max_ns), field_type::u64,
     field_role::maximum},
    {"cpu", "", offsetof(nic_sampler_row, cpu_ns), field_type::u64, field_role::last},
    {"written", "", offsetof(nic_sampler_row, written), field_type::u64, field_role::sum},
    {"overwritten", "", offsetof(nic_sampler_row, overwritten), field_type::u64, field_role::sum},
    {"dropped", "", offsetof(nic_sampler_row, dropped), field_type::u64, field_role::sum},
    {"filtered", "", offsetof(nic_sampler_row, filtered), field_type::u64, field_role::sum},
    {"late", "", offsetof(nic_sampler_row, late), field_type::u32, field_role::sum,
     nic_sampler_row::scale::buckets},
    {"interval", "", offsetof(nic_sampler_row, interval), field_type::u32, field_role::sum,
     nic_sampler_row::scale::buckets},
};

static_assert(summary_row<nic_counter_row> && summary_row<nic_rate_row>);
static_assert(summary_row<nic_device_row> && summary_row<nic_sampler_row>);

FABSCOPE_NAMESPACE_END

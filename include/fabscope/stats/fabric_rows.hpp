// SPDX-License-Identifier: Apache-2.0
// The summary rows of the fabric adapter: links, NICs, completion queues, what went wrong.
// Layer: stats.
//
// Times are in ticks of the session's clock. Rows of a type whose keys are equal are one row,
// whichever threads and tables they lie in: a table that is full is followed by a larger one, which
// may hold some keys again.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fabscope/core/config.hpp>
#include <fabscope/core/relaxed.hpp>
#include <fabscope/event/operation_record.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/stats/histogram.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// A row's level where only the issue of the operations was seen: it has count and bytes, and no
/// times.
inline constexpr std::uint8_t level_untimed = 15;
/// A receive row's level where completions do not say how much came: its bytes are those of the
/// posted buffers, an upper bound, and its size class is 0. The bytes are not in nic_row.
inline constexpr std::uint8_t level_posted_size = 14;
/// Set in a row's level where the completions were concluded from a counter, in the order of issue.
inline constexpr std::uint8_t level_inferred = 16;

constexpr bool is_posted_size(std::uint8_t level) noexcept {
  return (level & ~level_inferred) == level_posted_size;
}

/// Power-of-two class of a size: 0 for 0 bytes, k for 2^(k-1) to 2^k - 1 bytes.
constexpr std::uint8_t size_class(std::uint64_t bytes) noexcept {
  return static_cast<std::uint8_t>(std::bit_width(bytes));
}
/// Smallest size of a class.
constexpr std::uint64_t size_class_low(std::uint8_t size) noexcept {
  return size == 0 ? 0 : std::uint64_t{1} << (size - 1);
}

/// Sixteen buckets in powers of four: bucket 0 below 2^8, bucket b from 2^(2b+6) to 2^(2b+8) - 1,
/// the last without end. Units: those of the value.
struct coarse_scale {
  static constexpr std::size_t buckets = 16;
  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    const auto width = static_cast<std::size_t>(std::bit_width(value | 0x80));
    const std::size_t bucket = (width - 7) / 2;
    return bucket < buckets ? bucket : buckets - 1;
  }
  /// The smallest value of a bucket.
  [[nodiscard]] static constexpr std::uint64_t low(std::size_t bucket) noexcept {
    return bucket == 0 ? 0 : std::uint64_t{1} << (2 * bucket + 6);
  }
};

/// All successful operations of one kind, size class and completion level between two addresses.
/// The size class is part of the key and the exact size is not, so that rows are bounded however
/// sizes vary; bytes / count is the exact size where all were equal. Receives: from posting to
/// completion, which says when the peer sent, not how long the data took. Inject calls: the time of
/// the call. Level `level_untimed`: no times.
struct link_row {
  struct key_type {
    std::uint64_t ends;  ///< local << 32 | nic
    std::uint64_t kind;  ///< level << 48 | size class << 40 | op << 32 | remote
  };

  std::uint64_t used = 0;
  std::uint32_t nic = 0;     ///< label
  std::uint32_t local = 0;   ///< label: address of the own endpoint
  std::uint32_t remote = 0;  ///< label: address of the peer; 0: unknown or any
  std::uint8_t op = 0;       ///< operation
  std::uint8_t size = 0;     ///< size_class of the payload, of receives of what came
  std::uint8_t level = 0;    ///< completion_level, or level_untimed
  std::uint8_t reserved = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;
  std::uint64_t inverted_min = 0;
  std::uint64_t max = 0;
  std::uint32_t histogram[coarse_scale::buckets] = {};

  static constexpr const char* type_name = "link_row";
  static constexpr bool is_row = true;
  static const field fields[13];

  static constexpr std::uint64_t kind_of(std::uint32_t remote, std::uint8_t op, std::uint8_t size,
                                         std::uint8_t level) noexcept {
    return std::uint64_t{level} << 48 | std::uint64_t{size} << 40 | std::uint64_t{op} << 32 |
           remote;
  }
  [[nodiscard]] key_type key() const noexcept {
    key_type out;
    std::memcpy(&out, reinterpret_cast<const char*>(this) + sizeof used, sizeof out);
    return out;
  }
  void set_key(const key_type& key) noexcept {
    relaxed_store(nic, static_cast<std::uint32_t>(key.ends));
    relaxed_store(local, static_cast<std::uint32_t>(key.ends >> 32));
    relaxed_store(remote, static_cast<std::uint32_t>(key.kind));
    relaxed_store(op, static_cast<std::uint8_t>(key.kind >> 32));
    relaxed_store(size, static_cast<std::uint8_t>(key.kind >> 40));
    relaxed_store(level, static_cast<std::uint8_t>(key.kind >> 48));
  }

  /// Counts one operation. Units: ticks, bytes.
  FABSCOPE_ALWAYS_INLINE void add(std::uint64_t span, std::uint64_t amount) noexcept {
    relaxed_add(count, 1);
    relaxed_add(bytes, amount);
    relaxed_add(sum, span);
    relaxed_min_inverted(inverted_min, span);
    relaxed_max(max, span);
    relaxed_add(histogram[coarse_scale::bucket_of(span)], 1U);
  }
  /// Counts one whose time is not known.
  void add_untimed(std::uint64_t amount) noexcept {
    relaxed_add(count, 1);
    relaxed_add(bytes, amount);
  }
};
inline constexpr field link_row::fields[13] = {
    {"used", "", offsetof(link_row, used), field_type::u64, field_role::used},
    {"nic", "", offsetof(link_row, nic), field_type::label, field_role::key},
    {"local", "", offsetof(link_row, local), field_type::label, field_role::key},
    {"remote", "", offsetof(link_row, remote), field_type::label, field_role::key},
    {"op", "", offsetof(link_row, op), field_type::u8, field_role::key},
    {"size", "", offsetof(link_row, size), field_type::u8, field_role::key},
    {"level", "", offsetof(link_row, level), field_type::u8, field_role::key},
    {"count", "", offsetof(link_row, count), field_type::u64, field_role::sum},
    {"bytes", "B", offsetof(link_row, bytes), field_type::u64, field_role::sum},
    {"sum", "ns", offsetof(link_row, sum), field_type::span, field_role::sum},
    {"min", "ns", offsetof(link_row, inverted_min), field_type::span, field_role::minimum},
    {"max", "ns", offsetof(link_row, max), field_type::span, field_role::maximum},
    {"histogram", "", offsetof(link_row, histogram), field_type::u32, field_role::sum,
     coarse_scale::buckets},
};
static_assert(sizeof(link_row) == 128 && offsetof(link_row, histogram) == 64);

/// Where an operation went wrong.
enum class failure_stage : std::uint8_t {
  issue = 0,       ///< the call returned an error; FI_EAGAIN: it has to be repeated
  completion = 1,  ///< an error completion
  closed = 2,      ///< the endpoint was closed before the operation completed; error 0
};

/// Operations of one kind between two addresses that did not succeed, by error. None of them is in
/// a link_row. Error FI_EAGAIN at issue: `count` retries, and `stall` is the time from the first
/// attempt to the one that was accepted, which is not part of that operation's latency.
struct link_error_row {
  struct key_type {
    std::uint64_t ends;   ///< local << 32 | nic
    std::uint64_t kind;   ///< stage << 40 | op << 32 | remote
    std::uint64_t error;  ///< as 32 bits
  };

  std::uint64_t used = 0;
  std::uint32_t nic = 0;
  std::uint32_t local = 0;
  std::uint32_t remote = 0;
  std::uint8_t op = 0;
  std::uint8_t stage = 0;  ///< failure_stage
  std::uint16_t reserved = 0;
  std::int32_t error = 0;  ///< positive fi_errno
  std::uint32_t reserved2 = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t stall = 0;
  std::uint64_t stall_max = 0;

  static constexpr const char* type_name = "link_error_row";
  static constexpr bool is_row = true;
  static const field fields[11];

  [[nodiscard]] key_type key() const noexcept {
    key_type out;
    std::memcpy(&out, reinterpret_cast<const char*>(this) + sizeof used, sizeof out);
    return out;
  }
  void set_key(const key_type& key) noexcept {
    relaxed_store(nic, static_cast<std::uint32_t>(key.ends));
    relaxed_store(local, static_cast<std::uint32_t>(key.ends >> 32));
    relaxed_store(remote, static_cast<std::uint32_t>(key.kind));
    relaxed_store(op, static_cast<std::uint8_t>(key.kind >> 32));
    relaxed_store(stage, static_cast<std::uint8_t>(key.kind >> 40));
    relaxed_store(error, static_cast<std::int32_t>(static_cast<std::uint32_t>(key.error)));
  }
};
inline constexpr field link_error_row::fields[11] = {
    {"used", "", offsetof(link_error_row, used), field_type::u64, field_role::used},
    {"nic", "", offsetof(link_error_row, nic), field_type::label, field_role::key},
    {"local", "", offsetof(link_error_row, local), field_type::label, field_role::key},
    {"remote", "", offsetof(link_error_row, remote), field_type::label, field_role::key},
    {"op", "", offsetof(link_error_row, op), field_type::u8, field_role::key},
    {"stage", "", offsetof(link_error_row, stage), field_type::u8, field_role::key},
    {"error", "", offsetof(link_error_row, error), field_type::i32, field_role::key},
    {"count", "", offsetof(link_error_row, count), field_type::u64, field_role::sum},
    {"bytes", "B", offsetof(link_error_row, bytes), field_type::u64, field_role::sum},
    {"stall", "ns", offsetof(link_error_row, stall), field_type::span, field_role::sum},
    {"stall_max", "ns", offsetof(link_error_row, stall_max), field_type::span, field_role::maximum},
};
static_assert(sizeof(link_error_row) == 64);

/// One NIC (a libfabric domain). The threads write what they did; `busy`, `busy_uncertain`,
/// `device` and `line_rate` are written by the collector. All successful operations are in it,
/// untimed ones too.
struct nic_row {
  struct key_type {
    std::uint64_t nic;
  };

  std::uint64_t used = 0;
  std::uint32_t nic = 0;  ///< label
  std::uint32_t reserved = 0;
  std::uint64_t out_ops = 0;  ///< sends and writes, injected ones too
  std::uint64_t out_bytes = 0;
  std::uint64_t in_ops = 0;  ///< reads
  std::uint64_t in_bytes = 0;
  std::uint64_t received_ops = 0;
  std::uint64_t received_bytes = 0;
  std::uint64_t device = 0;     ///< label: device or provider and domain, 0 if unknown
  std::uint64_t line_rate = 0;  ///< bits per second; 0: unknown
  std::uint64_t busy = 0;  ///< time in which at least one operation was in flight, receives apart
  std::uint64_t busy_uncertain = 0;  ///< the true time is from `busy` to busy + busy_uncertain
  std::uint64_t reserved2[4] = {};

  static constexpr const char* type_name = "nic_row";
  static constexpr bool is_row = true;
  static const field fields[12];

  [[nodiscard]] key_type key() const noexcept { return {nic}; }
  void set_key(const key_type& key) noexcept {
    relaxed_store(nic, static_cast<std::uint32_t>(key.nic));
  }

  /// Where operations of a kind are counted: their number, then their bytes.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t* sums_of(operation what) noexcept {
    return is_receive(what) ? &received_ops : is_read(what) ? &in_ops : &out_ops;
  }
};
inline constexpr field nic_row::fields[12] = {
    {"used", "", offsetof(nic_row, used), field_type::u64, field_role::used},
    {"nic", "", offsetof(nic_row, nic), field_type::label, field_role::key},
    {"out_ops", "", offsetof(nic_row, out_ops), field_type::u64, field_role::sum},
    {"out_bytes", "B", offsetof(nic_row, out_bytes), field_type::u64, field_role::sum},
    {"in_ops", "", offsetof(nic_row, in_ops), field_type::u64, field_role::sum},
    {"in_bytes", "B", offsetof(nic_row, in_bytes), field_type::u64, field_role::sum},
    {"received_ops", "", offsetof(nic_row, received_ops), field_type::u64, field_role::sum},
    {"received_bytes", "B", offsetof(nic_row, received_bytes), field_type::u64, field_role::sum},
    {"device", "", offsetof(nic_row, device), field_type::u64, field_role::maximum},
    {"line_rate", "bit/s", offsetof(nic_row, line_rate), field_type::u64, field_role::maximum},
    {"busy", "ns", offsetof(nic_row, busy), field_type::span, field_role::sum},
    {"busy_uncertain", "ns", offsetof(nic_row, busy_uncertain), field_type::span, field_role::sum},
};
static_assert(sizeof(nic_row) == 128);

/// Fine histogram of the spans of one kind of operation on one NIC, all peers together.
struct nic_histogram_row {
  using scale = log_linear<6>;  ///< quantiles within 0.8 %
  struct key_type {
    std::uint64_t kind;  ///< level << 48 | size class << 40 | op << 32 | nic
  };

  std::uint64_t used = 0;
  std::uint32_t nic = 0;
  std::uint8_t op = 0;
  std::uint8_t size = 0;
  std::uint8_t level = 0;
  std::uint8_t reserved = 0;
  std::uint32_t histogram[scale::buckets] = {};

  static constexpr const char* type_name = "nic_histogram_row";
  static constexpr bool is_row = true;
  static const field fields[6];

  [[nodiscard]] key_type key() const noexcept {
    key_type out;
    std::memcpy(&out, reinterpret_cast<const char*>(this) + sizeof used, sizeof out);
    return out;
  }
  void set_key(const key_type& key) noexcept {
    relaxed_store(nic, static_cast<std::uint32_t>(key.kind));
    relaxed_store(op, static_cast<std::uint8_t>(key.kind >> 32));
    relaxed_store(size, static_cast<std::uint8_t>(key.kind >> 40));
    relaxed_store(level, static_cast<std::uint8_t>(key.kind >> 48));
  }
};
inline constexpr field nic_histogram_row::fields[6] = {
    {"used", "", offsetof(nic_histogram_row, used), field_type::u64, field_role::used},
    {"nic", "", offsetof(nic_histogram_row, nic), field_type::label, field_role::key},
    {"op", "", offsetof(nic_histogram_row, op), field_type::u8, field_role::key},
    {"size", "", offsetof(nic_histogram_row, size), field_type::u8, field_role::key},
    {"level", "", offsetof(nic_histogram_row, level), field_type::u8, field_role::key},
    {"histogram", "", offsetof(nic_histogram_row, histogram), field_type::u32, field_role::sum,
     nic_histogram_row::scale::buckets},
};

/// One thread's polling of one completion queue. A gap runs from the return of one poll to the
/// return of the next, so that a poll costs one clock read: the time inside the provider's call is
/// part of it, the time blocked in a waiting read is not.
struct cq_row {
  static constexpr std::size_t gap_buckets =
      6;  ///< below 10 us, 100 us, 1 ms, 10 ms, 100 ms, and above
  struct key_type {
    std::uint64_t queue;   ///< cq << 32 | nic
    std::uint64_t thread;  ///< as 32 bits
  };

  std::uint64_t used = 0;
  std::uint32_t nic = 0;
  std::uint32_t cq = 0;  ///< label: names the queue within the process
  std::uint32_t thread =
      0;  ///< number in the segment, so that gaps of different threads stay apart
  std::uint32_t reserved = 0;
  std::uint64_t last = 0;  ///< when the newest poll returned
  std::uint64_t polls = 0;
  std::uint64_t gap[gap_buckets] = {};
  std::uint64_t longest = 0;      ///< the longest gap
  std::uint64_t longest_end = 0;  ///< when it ended
  std::uint64_t productive =
      0;  ///< polls that gave at least one entry; polls - productive were empty
  std::uint64_t entries = 0;
  std::uint64_t most = 0;      ///< entries of one poll
  std::uint64_t errors = 0;    ///< error entries
  std::uint64_t blocking = 0;  ///< polls that were allowed to wait, or came after fi_trywait
  std::uint64_t blocked = 0;   ///< time in them, or from fi_trywait to them
  std::uint64_t capacity = 0;  ///< entries that were asked for when the queue was opened
  std::uint64_t asleep = 0;    ///< when fi_trywait allowed to sleep; 0: it did not since `last`
  std::uint64_t seen = 0;      ///< of a counter: its newest value
  std::uint64_t overruns = 0;  ///< error entries that say that the queue was too small
  std::uint64_t reserved2[1] = {};

  static constexpr const char* type_name = "cq_row";
  static constexpr bool is_row = true;
  static const field fields[17];

  [[nodiscard]] key_type key() const noexcept { return {std::uint64_t{cq} << 32 | nic, thread}; }
  void set_key(const key_type& key) noexcept {
    relaxed_store(nic, static_cast<std::uint32_t>(key.queue));
    relaxed_store(cq, static_cast<std::uint32_t>(key.queue >> 32));
    relaxed_store(thread, static_cast<std::uint32_t>(key.thread));
  }
};
inline constexpr field cq_row::fields[17] = {
    {"used", "", offsetof(cq_row, used), field_type::u64, field_role::used},
    {"nic", "", offsetof(cq_row, nic), field_type::label, field_role::key},
    {"cq", "", offsetof(cq_row, cq), field_type::label, field_role::key},
    {"thread", "", offsetof(cq_row, thread), field_type::u32, field_role::key},
    {"last", "ns", offsetof(cq_row, last), field_type::ticks, field_role::maximum},
    {"polls", "", offsetof(cq_row, polls), field_type::u64, field_role::sum},
    {"gap", "", offsetof(cq_row, gap), field_type::u64, field_role::sum, cq_row::gap_buckets},
    {"longest", "ns", offsetof(cq_row, longest), field_type::span, field_role::maximum},
    {"longest_end", "ns", offsetof(cq_row, longest_end), field_type::ticks, field_role::maximum},
    {"productive", "", offsetof(cq_row, productive), field_type::u64, field_role::sum},
    {"entries", "", offsetof(cq_row, entries), field_type::u64, field_role::sum},
    {"most", "", offsetof(cq_row, most), field_type::u64, field_role::maximum},
    {"errors", "", offsetof(cq_row, errors), field_type::u64, field_role::sum},
    {"blocking", "", offsetof(cq_row, blocking), field_type::u64, field_role::sum},
    {"blocked", "ns", offsetof(cq_row, blocked), field_type::span, field_role::sum},
    {"capacity", "", offsetof(cq_row, capacity), field_type::u64, field_role::maximum},
    {"overruns", "", offsetof(cq_row, overruns), field_type::u64, field_role::sum},
};
static_assert(sizeof(cq_row) == 192);

/// Connections between two addresses: from fi_connect or fi_accept to the read of FI_CONNECTED.
struct connection_row {
  struct key_type {
    std::uint64_t ends;    ///< local << 32 | nic
    std::uint64_t remote;  ///< as 32 bits
  };

  std::uint64_t used = 0;
  std::uint32_t nic = 0;     ///< label
  std::uint32_t local = 0;   ///< label
  std::uint32_t remote = 0;  ///< label
  std::uint32_t reserved = 0;
  std::uint64_t count = 0;
  std::uint64_t sum = 0;
  std::uint64_t max = 0;
  std::uint64_t reserved2[2] = {};

  static constexpr const char* type_name = "connection_row";
  static constexpr bool is_row = true;
  static const field fields[7];

  [[nodiscard]] key_type key() const noexcept { return {std::uint64_t{local} << 32 | nic, remote}; }
  void set_key(const key_type& key) noexcept {
    relaxed_store(nic, static_cast<std::uint32_t>(key.ends));
    relaxed_store(local, static_cast<std::uint32_t>(key.ends >> 32));
    relaxed_store(remote, static_cast<std::uint32_t>(key.remote));
  }
};
inline constexpr field connection_row::fields[7] = {
    {"used", "", offsetof(connection_row, used), field_type::u64, field_role::used},
    {"nic", "", offsetof(connection_row, nic), field_type::label, field_role::key},
    {"local", "", offsetof(connection_row, local), field_type::label, field_role::key},
    {"remote", "", offsetof(connection_row, remote), field_type::label, field_role::key},
    {"count", "", offsetof(connection_row, count), field_type::u64, field_role::sum},
    {"sum", "ns", offsetof(connection_row, sum), field_type::span, field_role::sum},
    {"max", "ns", offsetof(connection_row, max), field_type::span, field_role::maximum},
};
static_assert(sizeof(connection_row) == 64);

/// Registrations of memory with one NIC: the calls of fi_mr_reg and its kin that succeeded.
struct registration_row {
  struct key_type {
    std::uint64_t nic;
  };

  std::uint64_t used = 0;
  std::uint32_t nic = 0;  ///< label
  std::uint32_t reserved = 0;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;  ///< time inside the calls
  std::uint64_t max = 0;
  std::uint64_t failed = 0;
  std::uint64_t reserved2 = 0;

  static constexpr const char* type_name = "registration_row";
  static constexpr bool is_row = true;
  static const field fields[7];

  [[nodiscard]] key_type key() const noexcept { return {nic}; }
  void set_key(const key_type& key) noexcept {
    relaxed_store(nic, static_cast<std::uint32_t>(key.nic));
  }
};
inline constexpr field registration_row::fields[7] = {
    {"used", "", offsetof(registration_row, used), field_type::u64, field_role::used},
    {"nic", "", offsetof(registration_row, nic), field_type::label, field_role::key},
    {"count", "", offsetof(registration_row, count), field_type::u64, field_role::sum},
    {"bytes", "B", offsetof(registration_row, bytes), field_type::u64, field_role::sum},
    {"sum", "ns", offsetof(registration_row, sum), field_type::span, field_role::sum},
    {"max", "ns", offsetof(registration_row, max), field_type::span, field_role::maximum},
    {"failed", "", offsetof(registration_row, failed), field_type::u64, field_role::sum},
};
static_assert(sizeof(registration_row) == 64);

/// How often something happened that is not measured, by reason: "selective completion" on
/// "fi_write".
struct tally_row {
  struct key_type {
    std::uint64_t labels;  ///< subject << 32 | what
  };

  std::uint64_t used = 0;
  std::uint32_t what = 0;     ///< label: the reason
  std::uint32_t subject = 0;  ///< label: the call or kind of object
  std::uint64_t count = 0;

  static constexpr const char* type_name = "tally_row";
  static constexpr bool is_row = true;
  static const field fields[4];

  [[nodiscard]] key_type key() const noexcept { return {std::uint64_t{subject} << 32 | what}; }
  void set_key(const key_type& key) noexcept {
    relaxed_store(what, static_cast<std::uint32_t>(key.labels));
    relaxed_store(subject, static_cast<std::uint32_t>(key.labels >> 32));
  }
};
inline constexpr field tally_row::fields[4] = {
    {"used", "", offsetof(tally_row, used), field_type::u64, field_role::used},
    {"what", "", offsetof(tally_row, what), field_type::label, field_role::key},
    {"subject", "", offsetof(tally_row, subject), field_type::label, field_role::key},
    {"count", "", offsetof(tally_row, count), field_type::u64, field_role::sum},
};
static_assert(summary_row<link_row> && summary_row<link_error_row> && summary_row<nic_row> &&
              summary_row<nic_histogram_row> && summary_row<cq_row> && summary_row<tally_row> &&
              summary_row<connection_row> && summary_row<registration_row>);

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// What one thread records about the fabric: its tables in the segment, its store of context slots,
// its intervals on their way to the collector. Layer: fabric.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/fabric/context_slot.hpp>
#include <fabscope/fabric/objects.hpp>
#include <fabscope/fabric/registry.hpp>
#include <fabscope/ring/spsc_ring.hpp>
#include <fabscope/scope/port.hpp>
#include <fabscope/stats/fabric_rows.hpp>
#include <fabscope/stats/interval_union.hpp>
#include <fabscope/stats/row_table.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric::detail {

using fabscope::detail::thread_port;

/// A row_table that is followed by a larger one when it is full, eight times at first and then four
/// times as large, until memory or
/// `Tables` ends. Rows of earlier tables stay where they are: readers add equal keys up.
template <keyed_row Row, std::uint32_t First, std::uint32_t Tables>
class growing_table {
 public:
  /// False if there is no memory even for the first.  Threads: the one that writes.
  bool start(const thread_port& port, std::uint32_t type) noexcept {
    type_ = type;
    return ready_ || grow(port);
  }

  /// `fresh` is called with the number of rows when a new table has begun.
  template <class Fresh>
  FABSCOPE_ALWAYS_INLINE Row& find(const typename Row::key_type& key, const thread_port& port,
                                   Fresh&& fresh) noexcept {
    Row* row = &table_.find_or_insert(key);
    if (row == &table_.other() && next_ < Tables) [[unlikely]] {
      if (grow(port)) {
        fresh(table_.capacity());
        row = &table_.find_or_insert(key);
      } else {
        next_ = Tables;
      }
    }
    return *row;
  }
  FABSCOPE_ALWAYS_INLINE Row& find(const typename Row::key_type& key,
                                   const thread_port& port) noexcept {
    return find(key, port, [](std::uint32_t) noexcept {});
  }
  /// Place of a row in the present table.
  [[nodiscard]] std::size_t index_of(const Row& row) noexcept {
    return static_cast<std::size_t>(&row - &table_.other());
  }
  [[nodiscard]] std::uint32_t capacity() const noexcept { return table_.capacity(); }

 private:
  static inline constexpr char keys_[Tables] = {};  // their addresses name the memory

  FABSCOPE_NOINLINE bool grow(const thread_port& port) noexcept {
    std::uint32_t rows = First;
    for (std::uint32_t i = 0; i < next_; ++i) rows *= i == 0 ? 8 : 4;
    const void* key = &keys_[next_];
    void* at = port.table->memory(port.thread, key, type_, rows);
    void* index = port.table->memory(port.thread, key, 0,
                                     static_cast<std::uint32_t>(row_table<Row>::index_bytes(rows)));
    if (at == nullptr || index == nullptr) return false;
    if (ready_) release_store(table_.other().used, std::uint64_t{0});  // nothing was counted there
    table_ = row_table<Row>();
    table_.attach(static_cast<Row*>(at), rows, index);
    ++next_;
    ready_ = true;
    return true;
  }

  row_table<Row> table_;
  std::uint32_t type_ = 0;
  std::uint32_t next_ = 0;
  bool ready_ = false;
};

/// A stretch of time in which a NIC had at least one operation in flight.
struct busy_interval {
  std::uint64_t begin;
  std::uint64_t end;
  std::uint64_t nic;
};

/// One thread's part in a NIC.
struct nic_part {
  nic_row* row = nullptr;
  interval_merger open;
  std::uint64_t bridged = 0;  ///< gaps that became part of an interval because the ring was full
  std::uint64_t used = 0;     ///< not 0: this thread contributed
  interval reported;          ///< the collector's: how much of `open` it has seen

  /// Counts operations of one kind, see nic_row::sums_of.
  void use(std::uint32_t nic_label) noexcept {
    if (used != 0) return;
    row->set_key({nic_label});
    release_store(row->used, row_in_use);
    relaxed_store(used, 1);
  }
};

/// Where operations of one key of a link_row are counted.
struct alignas(64) counted_link {
  link_row::key_type key{~std::uint64_t{0}, 0};  ///< no link
  link_row* link = nullptr;
  nic_histogram_row* histogram = nullptr;
  nic_part* nic = nullptr;
  std::uint64_t* nic_sums = nullptr;  ///< operations and bytes, in nic->row
};

/// One thread's polling of a queue.
struct queue_part {
  std::uint32_t number = 0;  ///< of the queue
  std::uint32_t reserved = 0;
  cq_row* row = nullptr;
};

/// An operation that got -FI_EAGAIN and is expected to be tried again.
struct retry_part {
  std::uint64_t first = 0;  ///< when it was tried first
  std::uint32_t endpoint = 0;
  std::uint32_t remote = 0;
  std::uint32_t count = 0;
  std::uint8_t op = 0;
};

struct fabric_session;

/// What the hot path looks at before it knows that there is more.
struct thread_head {
  static constexpr std::uint32_t not_armed = 0xffff;  ///< no mask: sessions number from 1
  std::uint32_t armed = not_armed;  ///< the mask for which this is the thread's state
  std::uint32_t depth = 0;          ///< not 0: inside the provider
};

/// In place of the clock of polls: they read none.
inline constexpr auto no_clock = static_cast<clock_kind>(0xff);

/// Lives in private memory of the session's thread and is taken over by the next thread there.
/// Threads: its own; the collector reads the intervals.
struct thread_state : thread_head {
  static constexpr std::uint32_t link_rows = 256;  // then 2048, 8192 and 32768
  static constexpr std::uint32_t recent_links = 64;
  static constexpr std::uint32_t queue_parts = 64;
  static constexpr std::uint32_t retry_parts = 8;
  static constexpr std::size_t interval_slots = 4096;

  thread_port* port = nullptr;
  std::uint32_t retrying = 0;  ///< entries of `retries` in use
  clock_kind clock = clock_kind::monotonic;
  std::uint8_t session_byte = 0;
  bool ready = false;
  clock_kind poll_clock = clock_kind::monotonic;  ///< or no_clock: gaps are off
  std::uint64_t record_head = 0;                  ///< first word of an operation_record
  fabscope_thread* thread = nullptr;
  overwrite_writer ring;
  counted_link recent[recent_links];  ///< by the low bits of the remote label
  std::uint32_t histogram_places = 0;
  nic_histogram_row** histogram_of = nullptr;  ///< by place in `links`; null: not looked up yet
  std::uint64_t gap_limit[cq_row::gap_buckets - 1] = {};  ///< in ticks
  growing_table<link_row, link_rows, 4> links;
  context_pool::magazine magazine;
  queue_part queues[queue_parts] = {};
  nic_part nics[max_nics] = {};
  growing_table<nic_histogram_row, 8, 2> histograms;
  growing_table<link_error_row, 32, 2> errors;
  growing_table<tally_row, 32, 2> tallies;
  growing_table<cq_row, 16, 3> polls;
  retry_part retries[retry_parts] = {};
  spsc_ring<busy_interval> intervals;
  fabric_session* session = nullptr;
  thread_state* next = nullptr;  ///< in the session's list

  /// Counts a successful operation by peer, size and level, its span by NIC, and `nic_bytes` there.
  FABSCOPE_ALWAYS_INLINE nic_part& count(std::uint64_t ends, std::uint64_t kind, std::uint64_t span,
                                         std::uint64_t bytes, std::uint8_t nic,
                                         std::uint64_t nic_bytes) noexcept {
    counted_link& at = recent[(kind ^ kind >> 38) % recent_links];
    if (((at.key.ends ^ ends) | (at.key.kind ^ kind)) != 0) [[unlikely]]
      find(at, ends, kind, nic);
    link_row& row = *at.link;
    relaxed_add(row.count, 1);
    relaxed_add(row.bytes, bytes);
    relaxed_add(row.sum, span);
    relaxed_min_inverted(row.inverted_min, span);
    relaxed_max(row.max, span);
    relaxed_add(at.nic_sums[0], 1);
    relaxed_add(at.nic_sums[1], nic_bytes);
    // Both histograms from one bit width; see log_linear<6> and coarse_scale.
    using fine = nic_histogram_row::scale;
    std::uint64_t value = span;
    if (value >= fine::limit) [[unlikely]]
      value = fine::limit - 1;
    const auto shift = static_cast<unsigned>(std::countl_zero(value | 127) ^ 63) - 6;
    std::size_t coarse = shift / 2;
    if (coarse >= coarse_scale::buckets) [[unlikely]]
      coarse = coarse_scale::buckets - 1;
    relaxed_add(row.histogram[coarse], 1U);
    relaxed_add(at.histogram->histogram[(std::size_t{shift} << 6) + (value >> shift)], 1U);
    return *at.nic;
  }
  link_row& link(std::uint64_t ends, std::uint64_t kind) noexcept {
    return links.find({ends, kind}, *port, [this](std::uint32_t rows) noexcept { place(rows); });
  }

  /// Counts something that was not measured.
  void tally(std::uint32_t what, std::uint32_t subject) noexcept {
    tally_row& row = tallies.find({std::uint64_t{subject} << 32 | what}, *port);
    relaxed_add(row.count, 1);
  }

  /// Adds a stretch of busy time and hands what is complete to the collector.
  FABSCOPE_ALWAYS_INLINE void busy(nic_part& part, std::uint64_t begin,
                                   std::uint64_t end) noexcept {
    interval finished;
    if (part.open.add(begin, end, finished)) hand_on(part, finished);
  }

  /// Makes room for the histograms of a table of links.
  void place(std::uint32_t rows) noexcept {
    static constexpr char key = 0;
    const std::uint32_t bytes = rows * static_cast<std::uint32_t>(sizeof(nic_histogram_row*));
    void* at = port->table->memory(port->thread, &key, 0, bytes);
    histogram_places = at == nullptr ? 0 : rows;
    histogram_of = static_cast<nic_histogram_row**>(at);
    for (std::uint32_t i = 0; i < histogram_places; ++i) histogram_of[i] = nullptr;
  }

 private:
  __attribute__((noinline)) void find(counted_link& to, std::uint64_t ends, std::uint64_t kind,
                                      std::uint8_t nic) noexcept {
    link_row& row = link(ends, kind);
    to.key = {ends, kind};
    to.link = &row;
    to.nic = &nics[nic];
    to.nic->use(static_cast<std::uint32_t>(ends));
    to.nic_sums = to.nic->row->sums_of(static_cast<operation>(kind >> 32 & 0xff));
    const std::size_t at = links.index_of(row);
    to.histogram = at < histogram_places ? histogram_of[at] : nullptr;
    if (to.histogram != nullptr) [[likely]]
      return;
    const std::uint64_t key = (kind & ~std::uint64_t{0xffffffff}) | (ends & 0xffffffff);
    to.histogram = &histograms.find({key}, *port);
    // Row 0 stands for many kinds and is looked up each time.
    if (at != 0 && at < histogram_places) histogram_of[at] = to.histogram;
  }

  FABSCOPE_ALWAYS_INLINE void hand_on(nic_part& part, interval finished) noexcept {
    const auto nic = static_cast<std::uint64_t>(&part - nics);
    if (!intervals.try_push({finished.begin, finished.end, nic})) [[unlikely]]
      bridge(part, finished);
  }
  // The ring is full: the gap becomes busy time, and known to be doubtful.
  FABSCOPE_NOINLINE static void bridge(nic_part& part, interval finished) noexcept {
    const interval now = part.open.current();
    if (finished.end >= now.begin) return;
    relaxed_add(part.bridged, now.begin - finished.end);
    interval nothing;
    (void)part.open.add(finished.begin, now.end, nothing);
  }
};

/// Stands in until a thread has a state, so that the hot path needs no other comparison.
inline constinit thread_head no_state{};
/// The calling thread's thread_state, or no_state.
inline thread_local constinit thread_head* tls_state = &no_state;

}  // namespace fabric::detail

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// The log of operations: selects, keeps what waits in few bytes, writes in quiet times.
// Layer: sink.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include <fabscope/sink/concepts.hpp>
#include <fabscope/sink/detail/operation_spool.hpp>
#include <fabscope/sink/operation_selection.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// In front of a sink that writes rows. Taking an operation is several times cheaper than writing
/// its row, so that a burst is taken out of the threads' rings before it is overwritten there; rows
/// are written by work(), which whoever drives the sink calls while there is nothing to take, by
/// flush() where little waits, and by finish().
/// Threads: one at a time.  Errors: nothing is lost for want of memory: above `limit` bytes, and
/// where there is none, consume() writes rows to make room, and takes as long as that takes.
template <class Rows>
class FABSCOPE_VISIBLE operation_log {
 public:
  template <class... Args>
  FABSCOPE_HIDDEN explicit operation_log(operation_selection wanted, std::uint64_t limit,
                                         Args&&... args)
      : wanted_(std::move(wanted)), waiting_(limit), rows_(std::forward<Args>(args)...) {}
  FABSCOPE_HIDDEN ~operation_log() = default;
  operation_log(const operation_log&) = delete;
  operation_log& operator=(const operation_log&) = delete;

  FABSCOPE_HIDDEN void consume(std::span<const operation_record> batch,
                               const sink_context& about) noexcept {
    for (const operation_record& record : batch) {
      ++offered_;
      switch (wanted_.ask(record, about)) {
        case operation_selection::answer::wanted: keep(record, about); break;
        case operation_selection::answer::other_nic: ++other_nic_; break;
        case operation_selection::answer::too_small: ++too_small_; break;
        case operation_selection::answer::untimed: ++untimed_; break;
      }
    }
  }

  /// Writes some of what waits. True if more does.
  FABSCOPE_HIDDEN bool work(const sink_context& about) noexcept {
    write(at_once, about);
    return !waiting_.empty();
  }
  FABSCOPE_HIDDEN void flush(const sink_context& about) noexcept {
    if (waiting_.size() <= little) write(waiting_.size(), about);
    rows_.flush(about.behind(held_back()));
  }
  FABSCOPE_HIDDEN void finish(const sink_context& about) noexcept {
    write(waiting_.size(), about);
    rows_.finish(about.behind(held_back()));
  }

  [[nodiscard]] FABSCOPE_HIDDEN errc status() const noexcept { return rows_.status(); }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept {
    return rows_.lost_total();
  }
  /// Not wanted: by name, by size, as untimed, or by the rows' sink.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t filtered_total() const noexcept {
    return held_back() + rows_.filtered_total();
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t offered_total() const noexcept { return offered_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t other_nic_total() const noexcept {
    return other_nic_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t too_small_total() const noexcept {
    return too_small_;
  }
  [[nodiscard]] FABSCOPE_HIDDEN const Rows& rows() const noexcept { return rows_; }
  [[nodiscard]] FABSCOPE_HIDDEN const operation_selection& selection() const noexcept {
    return wanted_;
  }
  /// What waits, and what it took.
  [[nodiscard]] FABSCOPE_HIDDEN const detail::operation_spool& waiting() const noexcept {
    return waiting_;
  }

 private:
  static constexpr std::size_t at_once = 256;
  static constexpr std::size_t little = 16384;

  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t held_back() const noexcept {
    return other_nic_ + too_small_ + untimed_;
  }
  FABSCOPE_HIDDEN void keep(const operation_record& record, const sink_context& about) noexcept {
    while (!waiting_.put(record)) {
      if (waiting_.empty()) return rows_.consume({&record, 1}, about.behind(held_back()));
      write(at_once, about);
    }
  }
  FABSCOPE_HIDDEN void write(std::uint64_t most, const sink_context& about) noexcept {
    operation_record batch[at_once];
    while (most != 0 && !waiting_.empty()) {
      std::size_t count = 0;
      while (count < at_once && count < most && !waiting_.empty()) batch[count++] = waiting_.take();
      most -= count;
      rows_.consume({batch, count}, about.behind(held_back()));
    }
  }

  operation_selection wanted_;
  detail::operation_spool waiting_;
  Rows rows_;
  std::uint64_t offered_ = 0;
  std::uint64_t other_nic_ = 0;
  std::uint64_t too_small_ = 0;
  std::uint64_t untimed_ = 0;
};

FABSCOPE_NAMESPACE_END

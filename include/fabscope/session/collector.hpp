// SPDX-License-Identifier: Apache-2.0
// Reads the rings of all threads and hands the records to the sinks. Layer: session.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include <fabscope/clock/clock_map.hpp>
#include <fabscope/event/record.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/session/drain_thread.hpp>
#include <fabscope/session/segment.hpp>
#include <fabscope/session/sink_binding.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Where the records went. produced == written + dropped + overwritten + filtered + unread.
struct FABSCOPE_VISIBLE record_totals {
  std::uint64_t produced = 0;     ///< by all threads
  std::uint64_t written = 0;      ///< taken by at least one sink
  std::uint64_t dropped = 0;      ///< taken by a sink that then could not write them
  std::uint64_t overwritten = 0;  ///< gone before they were read
  std::uint64_t filtered = 0;     ///< read, but no sink wants them; or flight records only
  std::uint64_t unread = 0;       ///< still in the rings
};

namespace detail {

/// Pulls records out of rings. Threads: one at a time.
class collector {
 public:
  void start(segment& memory, const sink_context& about) noexcept {
    segment_ = &memory;
    about_ = &about;
  }

  void attach(std::unique_ptr<bound_sink> sink) {
    sink->skipped = taken_ + filtered_;
    sinks_.push_back(std::move(sink));
  }
  [[nodiscard]] const std::vector<std::unique_ptr<bound_sink>>& sinks() const noexcept {
    return sinks_;
  }

  /// Reads everything that is there now. Returns the fullest ring's fill as a fraction of 256.
  std::uint32_t drain() noexcept {
    segment_format::base& base = segment_->base();
    std::uint32_t fullest = 0;
    const std::uint32_t threads = acquire_load(base.head.threads.count);
    for (std::uint32_t i = 0; i < threads; ++i) {
      const std::uint32_t fill = drain(base.threads[i]);
      if (fill > fullest) fullest = fill;
    }
    return fullest;
  }

  /// A slice of what sinks put off. True if there is more of it.
  bool work() noexcept {
    bool more = false;
    for (const auto& sink : sinks_) more |= sink->work(*about_);
    return more;
  }
  void flush() noexcept {
    for (const auto& sink : sinks_) sink->flush(*about_);
  }
  void finish() noexcept {
    for (const auto& sink : sinks_) sink->finish(*about_);
  }
  /// Lets go of all sinks; totals() has no meaning any more.
  void detach_all() noexcept { sinks_.clear(); }

  /// Exact when nobody records.
  [[nodiscard]] record_totals totals(bool flight_only) const noexcept {
    record_totals out;
    const segment_format::base& base = const_cast<segment*>(segment_)->base();
    for (std::uint32_t i = 0; i < acquire_load(base.head.threads.count); ++i) {
      const segment_format::thread_entry& thread = base.threads[i];
      const std::uint64_t head = acquire_load(thread.head);
      out.produced += head;
      out.overwritten += relaxed_load(thread.overwritten);
      (flight_only ? out.filtered : out.unread) += head - relaxed_load(thread.next);
    }
    for (const auto& sink : sinks_) out.dropped += sink->lost_total();
    // A record that two sinks lost counts twice in this sum: keep it within what was taken.
    const std::uint64_t wanted = taken_ - unwanted_;
    if (out.dropped > wanted) out.dropped = wanted;
    out.filtered += filtered_ + unwanted_;
    out.written = wanted - out.dropped;
    return out;
  }

 private:
  static constexpr std::size_t batch = 1024;

  std::uint32_t drain(segment_format::thread_entry& thread) noexcept {
    return drain_thread(thread, std::span<slot_line>(lines_, batch),
                        [this](std::span<const slot_line> records) { dispatch(records); });
  }

  void dispatch(std::span<const slot_line> records) noexcept {
    const std::uint32_t known = acquire_load(segment_->base().head.types.count);
    std::uint64_t seen = 0;  // types in this batch, by bit
    static_assert(segment_format::max_types <= 64);
    for (const slot_line& line : records) seen |= std::uint64_t{1} << ((type_of(line) - 1) & 63U);
    for (; seen != 0; seen &= seen - 1) {
      const auto number = static_cast<std::uint32_t>(__builtin_ctzll(seen)) + 1;
      std::size_t count = 0;
      const std::uint32_t bytes = number <= known ? segment_->base().types[number - 1].bytes : 0;
      for (const slot_line& line : records) {
        if (((type_of(line) - 1) & 63U) + 1 != number) continue;
        if (bytes != 0) std::memcpy(packed_ + count * bytes, line.word, bytes);
        ++count;
      }
      deliver(number, bytes, count);
    }
  }

  void deliver(std::uint32_t number, std::uint32_t bytes, std::size_t count) noexcept {
    bool taken = false;
    std::uint64_t least = count;  // filtered by the sink that filters least
    for (const auto& sink : sinks_) {
      record_route* route =
          bytes == 0 ? nullptr : sink->route(number, segment_->base().types[number - 1]);
      if (route == nullptr) {
        sink->skipped += count;
        continue;
      }
      sink->offered += count;
      const std::uint64_t before = sink->filtered_total();
      route->deliver(packed_, count, *about_);
      const std::uint64_t filtered = sink->filtered_total() - before;
      least = filtered < least ? filtered : least;
      taken = true;
    }
    (taken ? taken_ : filtered_) += count;
    if (taken) unwanted_ += least;
  }

  static std::uint32_t type_of(const slot_line& line) noexcept {
    return static_cast<std::uint32_t>(line.word[0] & 0xffff);
  }

  segment* segment_ = nullptr;
  const sink_context* about_ = nullptr;
  std::vector<std::unique_ptr<bound_sink>> sinks_;
  std::uint64_t taken_ = 0;
  std::uint64_t filtered_ = 0;  ///< of types that no sink takes
  std::uint64_t unwanted_ = 0;  ///< of those taken
  slot_line lines_[batch];
  alignas(64) unsigned char packed_[batch * slot_bytes];
};

}  // namespace detail

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// What a sink may ask while it writes a batch: times, names, threads. Layer: sink.
#pragma once

#include <cstdint>
#include <string_view>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Answers questions about numbers in records.  Threads: the one that was given it, during the
/// call.
class FABSCOPE_VISIBLE sink_context {
 public:
  /// Where the answers come from: a session, or a segment that is read later.
  struct source {
    void* self;
    std::uint64_t (*to_ns)(void* self, std::uint64_t ticks);
    std::string_view (*label)(void* self, std::uint32_t number);
    std::uint32_t (*tid)(void* self, std::uint32_t thread);
    std::uint64_t anchor_monotonic_ns;  ///< CLOCK_MONOTONIC when the session began
    std::uint64_t anchor_realtime_ns;   ///< CLOCK_REALTIME at the same moment
  };

  FABSCOPE_HIDDEN explicit sink_context(const source& from) noexcept : from_(from) {}

  /// A stamp in CLOCK_MONOTONIC nanoseconds.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t ns(std::uint64_t ticks) const noexcept {
    return from_.to_ns(from_.self, ticks);
  }
  /// The text of a label; empty for 0.
  [[nodiscard]] FABSCOPE_HIDDEN std::string_view label(std::uint32_t number) const noexcept {
    return from_.label(from_.self, number);
  }
  /// The kernel's number of the thread that a record names.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint32_t tid(std::uint32_t thread) const noexcept {
    return from_.tid(from_.self, thread);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t anchor_monotonic_ns() const noexcept {
    return from_.anchor_monotonic_ns;
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t anchor_realtime_ns() const noexcept {
    return from_.anchor_realtime_ns;
  }

 private:
  source from_;
};

FABSCOPE_NAMESPACE_END

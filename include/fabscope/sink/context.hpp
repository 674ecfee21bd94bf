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

  /// The same answers about records of which the sink in front has held some back.
  [[nodiscard]] FABSCOPE_HIDDEN sink_context behind(std::uint64_t held_back,
                                                    std::uint32_t one_in = 1,
                                                    std::uint32_t weight = 1) const noexcept {
    sink_context out(*this);
    out.held_back_ += held_back;
    out.one_in_ *= one_in;
    out.weight_ *= weight;
    return out;
  }

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

  /// How many records each one of this batch stands for, itself included: 1 unless sampled.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t weight() const noexcept { return weight_; }
  /// Sampled: one record in so many comes; 1: all of them.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t one_in() const noexcept { return one_in_; }
  /// Records that sinks in front of this one have held back so far, for the closing words.
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t held_back() const noexcept { return held_back_; }

 private:
  source from_;
  std::uint64_t held_back_ = 0;
  std::uint64_t one_in_ = 1;
  std::uint64_t weight_ = 1;
};

FABSCOPE_NAMESPACE_END

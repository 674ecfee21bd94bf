// SPDX-License-Identifier: Apache-2.0
// A sink that keeps records in memory, for tests and for programs that look at their own. Layer:
// sink.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <tuple>
#include <vector>

#include <fabscope/sink/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Keeps the first `capacity` records of each of the types.
/// Threads: one at a time.  Errors: what comes when a type's room is used up is counted as lost.
/// Cost: a copy per record; allocates when it is constructed and never again.
template <event_record... Records>
  requires(sizeof...(Records) >= 1)
class FABSCOPE_VISIBLE memory_sink {
 public:
  FABSCOPE_HIDDEN explicit memory_sink(std::size_t capacity = 65536) : capacity_(capacity) {
    (std::get<std::vector<Records>>(kept_).reserve(capacity), ...);
  }

  template <class Record>
    requires(std::same_as<Record, Records> || ...)
  FABSCOPE_HIDDEN void consume(std::span<const Record> batch, const sink_context&) noexcept {
    auto& kept = std::get<std::vector<Record>>(kept_);
    const std::size_t room = capacity_ - kept.size();
    const std::size_t taken = batch.size() < room ? batch.size() : room;
    kept.insert(kept.end(), batch.begin(), batch.begin() + static_cast<std::ptrdiff_t>(taken));
    lost_ += batch.size() - taken;
  }
  FABSCOPE_HIDDEN void flush(const sink_context&) noexcept { ++flushes_; }
  FABSCOPE_HIDDEN void finish(const sink_context&) noexcept { ++finishes_; }

  /// What came so far. Stays valid while the sink lives; later records appear behind.
  template <class Record>
    requires(std::same_as<Record, Records> || ...)
  [[nodiscard]] FABSCOPE_HIDDEN const std::vector<Record>& all() const noexcept {
    return std::get<std::vector<Record>>(kept_);
  }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t lost_total() const noexcept { return lost_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t flushes_total() const noexcept { return flushes_; }
  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t finishes_total() const noexcept { return finishes_; }

 private:
  std::tuple<std::vector<Records>...> kept_;
  std::size_t capacity_;
  std::uint64_t lost_ = 0;
  std::uint64_t flushes_ = 0;
  std::uint64_t finishes_ = 0;
};

FABSCOPE_NAMESPACE_END

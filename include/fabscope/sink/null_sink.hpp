// SPDX-License-Identifier: Apache-2.0
// A sink that takes every record and writes nothing. Layer: sink.
#pragma once

#include <cstdint>
#include <span>

#include <fabscope/sink/concepts.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// Counts what it is given.  Threads: one at a time.  Cost: one addition per batch.
class FABSCOPE_VISIBLE null_sink {
 public:
  template <event_record Record>
  FABSCOPE_HIDDEN void consume(std::span<const Record> batch, const sink_context&) noexcept {
    records_ += batch.size();
  }
  FABSCOPE_HIDDEN void flush(const sink_context&) noexcept {}

  [[nodiscard]] FABSCOPE_HIDDEN std::uint64_t records_total() const noexcept { return records_; }

 private:
  std::uint64_t records_ = 0;
};

FABSCOPE_NAMESPACE_END

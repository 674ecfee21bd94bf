// SPDX-License-Identifier: Apache-2.0
// One round of the program's main loop. Layer: scope.
#pragma once

#include <cstdint>

#include <fabscope/event/scope_record.hpp>
#include <fabscope/scope/port.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// `fabscope::step s{round};` marks what "this step was slow" is about.
/// Threads: constructed and destroyed by one thread.  Progress: wait-free.
/// Cost: two clock reads and one record.
class [[nodiscard]] FABSCOPE_VISIBLE step {
 public:
  FABSCOPE_HIDDEN explicit step(std::int64_t number) noexcept : number_(number) {
    const std::uint32_t mask = detail::current_mask();
    if ((mask & recording_scopes) == 0) return;
    port_ = detail::port_for(mask);
    if (port_ != nullptr) begin_ = now_ticks(port_->clock);
  }
  FABSCOPE_HIDDEN ~step() {
    if (port_ == nullptr) return;
    step_record record;
    record.end = now_ticks(port_->clock);
    record.header.type = port_->step_type;
    record.header.ticks = begin_;
    record.number = number_;
    port_->push(record);
  }
  step(const step&) = delete;
  step& operator=(const step&) = delete;

 private:
  detail::thread_port* port_ = nullptr;
  std::uint64_t begin_ = 0;
  std::int64_t number_;
};

FABSCOPE_NAMESPACE_END

// SPDX-License-Identifier: Apache-2.0
// A segment in memory that tests fill by hand.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fabscope/event/field.hpp>
#include <fabscope/ring/overwrite_ring.hpp>
#include <fabscope/session/segment.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/stats/fabric_rows.hpp>
#include <fabscope/stats/rows.hpp>
#include <memory>
#include <string>
#include <string_view>

namespace segment_test {
namespace {  // holds hidden types

namespace fs = fabscope;

/// Ticks are nanoseconds of CLOCK_MONOTONIC; the session began at 1 s and was last seen at 3 s.
class made_segment {
 public:
  explicit made_segment(std::uint32_t level = 2) : memory_(std::make_unique<fs::segment>()) {
    REQUIRE(memory_->create("/nowhere/at/all", "test") == fs::errc::ok);
    auto& head = base().head;
    head.state = static_cast<std::uint32_t>(fs::segment_format::state::finished);
    head.pid = 4242;
    head.level = level;
    head.clock = static_cast<std::uint32_t>(fs::clock_kind::monotonic);
    head.rank = 3;
    head.local_rank = 1;
    head.size = 8;
    std::snprintf(head.library_version, sizeof head.library_version, "%s", "0.1.0");
    std::snprintf(head.host, sizeof head.host, "%s", "node7");
    std::snprintf(head.command, sizeof head.command, "%s", "./app --size 5");
    std::snprintf(head.launcher, sizeof head.launcher, "%s", "slurm");
    head.begin = {1000000000, 1000000000, 1000000500, 1800000000123456789};
    head.latest = {3000000000, 3000000000, 3000000500, 1800000002123456789};
    head.collector_cpu_ns = 4000000;
    head.ticks_done = 200;
  }

  fs::segment_format::base& base() { return memory_->base(); }
  fs::segment& memory() { return *memory_; }
  std::uint32_t label(std::string_view text) { return memory_->add_label(text); }

  template <class T>
  std::uint32_t type() {
    const fabscope_type about = fs::describe<T>();
    return memory_->add_type(about);
  }

  /// Adds a thread with a ring; returns its number.
  std::uint32_t thread(std::uint32_t slots, std::uint32_t tid, const char* name) {
    auto& table = base().head.threads;
    const auto ring = memory_->append(std::uint64_t{slots} * sizeof(fs::slot_line));
    REQUIRE(ring.at != nullptr);
    auto& entry = base().threads[table.count];
    entry.ring_offset = ring.offset;
    entry.ring_mask = slots - 1;
    entry.live = {&entry.head, ring.at, slots - 1, 0, 0, table.count, 0};
    entry.tid = tid;
    entry.state = static_cast<std::uint32_t>(fs::segment_format::thread_state::live);
    std::snprintf(entry.name, sizeof entry.name, "%s", name);
    return table.count++;
  }

  template <fs::event_record R>
  void push(std::uint32_t thread, R record) {
    auto& entry = base().threads[thread];
    record.header.type = static_cast<std::uint16_t>(type<R>());
    record.header.size = sizeof(R);
    record.header.thread = thread;
    fs::overwrite_writer(&entry.head, entry.live.slots, entry.ring_mask).push(record);
  }

  /// Rows of one thread's table.
  template <fs::summary_row Row>
  Row* rows(std::uint32_t thread, std::uint32_t count) {
    void* at = memory_->add_block(type<Row>(), thread, count);
    REQUIRE(at != nullptr);
    return static_cast<Row*>(at);
  }

  fs::segment_view view() {
    auto view = fs::segment_view::map(memory_->descriptor());
    REQUIRE(view.has_value());
    return std::move(*view);
  }

 private:
  std::unique_ptr<fs::segment> memory_;
};

}  // namespace
}  // namespace segment_test

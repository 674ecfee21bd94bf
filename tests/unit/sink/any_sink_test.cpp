// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/sink/any_sink.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <span>
#include <utility>
#include <vector>

#include "sink_fixture.hpp"

namespace fs = fabscope;
using namespace sink_test;

namespace {

struct counts {
  int alive = 0;
  int batches = 0;
  std::uint64_t records = 0;
  int flushes = 0;
  int finishes = 0;
};

/// Has every optional member, and tells whether it lives.
class talkative {
 public:
  explicit talkative(counts& to) noexcept : to_(&to) { ++to_->alive; }
  talkative(const talkative& other) noexcept : to_(other.to_) { ++to_->alive; }
  talkative(talkative&& other) noexcept : to_(other.to_) { ++to_->alive; }
  talkative& operator=(const talkative&) = delete;
  ~talkative() { --to_->alive; }

  void consume(std::span<const fs::step_record> batch, const fs::sink_context&) noexcept {
    ++to_->batches;
    to_->records += batch.size();
  }
  void flush(const fs::sink_context&) noexcept { ++to_->flushes; }
  void finish(const fs::sink_context&) noexcept { ++to_->finishes; }
  [[nodiscard]] fs::errc status() const noexcept { return fs::errc::no_space; }
  [[nodiscard]] std::uint64_t lost_total() const noexcept { return 4; }
  [[nodiscard]] std::uint64_t filtered_total() const noexcept { return 2; }

 private:
  counts* to_;
};

struct cannot_move {
  explicit cannot_move(int start) noexcept : got(start) {}
  cannot_move(cannot_move&&) = delete;
  void consume(std::span<const fs::scope_record> batch, const fs::sink_context&) noexcept {
    got += static_cast<int>(batch.size());
  }
  void flush(const fs::sink_context&) noexcept { CHECK(got == 7); }
  int got;
};

template <class Record>
void give(fs::any_sink& sink, const fs::sink_context& about, std::size_t count) {
  const std::vector<Record> records(count);
  sink.consume(std::span<const Record>(records), about);
}

}  // namespace

TEST_CASE("sink.any_sink: a call per batch, every member reaches the sink inside") {
  answers from;
  const auto about = from.context();
  counts seen;
  {
    fs::any_sink sink{talkative(seen)};
    CHECK(seen.alive == 1);
    give<fs::step_record>(sink, about, 5);
    give<fs::step_record>(sink, about, 2);
    sink.flush(about);
    sink.finish(about);
    CHECK(sink.status() == fs::errc::no_space);
    CHECK(sink.lost_total() == 4);
    CHECK(sink.filtered_total() == 2);
    CHECK(sink.takes<fs::step_record>());
    CHECK_FALSE(sink.takes<fs::scope_record>());
    give<fs::scope_record>(sink, about, 3);  // not what it takes: counted
    CHECK(sink.filtered_total() == 5);
  }
  CHECK(seen.batches == 2);
  CHECK(seen.records == 7);
  CHECK(seen.flushes == 1);
  CHECK(seen.finishes == 1);
  CHECK(seen.alive == 0);
}

TEST_CASE("sink.any_sink: moves, and holds what cannot move") {
  answers from;
  const auto about = from.context();
  counts seen;
  fs::any_sink first{talkative(seen)};
  fs::any_sink second(std::move(first));
  give<fs::step_record>(second, about, 1);
  CHECK(seen.records == 1);
  give<fs::step_record>(first, about, 3);  // empty now
  first.flush(about);
  first.finish(about);
  CHECK(first.filtered_total() == 3);
  CHECK(first.status() == fs::errc::ok);
  CHECK_FALSE(first.takes<fs::step_record>());
  second = fs::any_sink(std::in_place_type<cannot_move>, 4);
  CHECK(seen.alive == 0);
  give<fs::scope_record>(second, about, 3);
  second.flush(about);
  CHECK(second.takes<fs::scope_record>());
}

TEST_CASE("sink.any_sink: sinks of several types in one container") {
  answers from;
  const auto about = from.context();
  std::vector<fs::any_sink> sinks;
  sinks.emplace_back(fs::memory_sink<fs::scope_record>(1));
  sinks.emplace_back(fs::memory_sink<fs::step_record, fs::scope_record>(10));
  for (fs::any_sink& one : sinks) give<fs::scope_record>(one, about, 3);
  CHECK(sinks[0].lost_total() == 2);
  CHECK(sinks[1].lost_total() == 0);
}

// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fabscope/session/replay.hpp>
#include <fabscope/session/segment_view.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <string>
#include <vector>

#include "segment_fixture.hpp"

namespace fs = fabscope;
using namespace segment_test;

namespace {

/// A tally as an older version might have it: narrower, in another order, with a member of its own.
struct old_tally {
  std::uint64_t used;
  std::uint32_t count;
  std::uint32_t what;
  std::uint64_t forgotten;
  static constexpr const char* type_name = "tally_row";
  static constexpr bool is_row = true;
  static const fs::field fields[4];
};
inline constexpr fs::field old_tally::fields[4] = {
    {"used", "", offsetof(old_tally, used), fs::field_type::u64, fs::field_role::used},
    {"count", "", offsetof(old_tally, count), fs::field_type::u32, fs::field_role::sum},
    {"what", "", offsetof(old_tally, what), fs::field_type::label, fs::field_role::key},
    {"forgotten", "", offsetof(old_tally, forgotten), fs::field_type::u64, fs::field_role::sum},
};

}  // namespace

TEST_CASE("session.segment_view: labels, types, threads as they were written") {
  made_segment made;
  const auto one = made.label("first");
  const auto two = made.label("second");
  CHECK(made.label("first") == one);
  made.type<fs::scope_record>();
  made.thread(64, 321, "worker");
  const auto view = made.view();
  CHECK(view.label(one) == "first");
  CHECK(view.label(two) == "second");
  CHECK(view.label(0).empty());
  CHECK(view.label(two + 1).empty());
  CHECK(view.label(0xffffffff).empty());
  REQUIRE(view.types().size() == 1);
  CHECK(std::string(view.types()[0].name) == "scope");
  REQUIRE(view.threads().size() == 1);
  CHECK(view.threads()[0].tid == 321);
  CHECK(view.head().pid == 4242);
}

TEST_CASE("session.segment_view: the newest records of a ring, with their numbers") {
  made_segment made;
  const auto thread = made.thread(64, 1, "t");
  const auto view = made.view();
  std::uint64_t first = 99;
  CHECK(view.records(view.threads()[thread], &first).empty());
  for (const std::uint64_t total : {5U, 64U, 1000U}) {
    while (made.base().threads[thread].head < total) {
      fs::step_record step;
      step.number = static_cast<std::int64_t>(made.base().threads[thread].head);
      made.push(thread, step);
    }
    const auto lines = view.records(view.threads()[thread], &first);
    CHECK(first == (total < 64 ? 0 : total - 63));
    REQUIRE(first + lines.size() == total);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CHECK(lines[i].word[3] == first + i);
    }
  }
}

TEST_CASE("session.segment_view: rows of all threads, and of another layout") {
  made_segment made;
  const auto reason = made.label("reason");
  auto* mine = made.rows<fs::tally_row>(0, 3);
  mine[0].used = fs::row_in_use;
  mine[0].what = reason;
  mine[0].count = 5;
  mine[2].used = fs::row_in_use;
  mine[2].what = reason;
  mine[2].count = 7;
  auto* old = made.rows<old_tally>(4, 2);
  old[1].used = fs::row_in_use;
  old[1].count = 30;
  old[1].what = reason;
  old[1].forgotten = 9;
  const auto view = made.view();
  std::vector<std::uint64_t> counts;
  std::vector<std::uint32_t> threads;
  view.rows<fs::tally_row>([&](const fs::tally_row& row, std::uint32_t thread) {
    CHECK(row.what == reason);
    CHECK(row.subject == 0);
    counts.push_back(row.count);
    threads.push_back(thread);
  });
  CHECK(counts == std::vector<std::uint64_t>{5, 7, 30});
  CHECK(threads == std::vector<std::uint32_t>{0, 0, 4});
}

TEST_CASE("session.segment_view: spans by the rate over the session, or by the map at its begin") {
  made_segment made;
  auto& head = made.base().head;
  head.begin.ticks = 1000;
  head.latest.ticks = 5000;  // 2 s in 4000 ticks
  const auto view = made.view();
  CHECK(view.span_ns(8) == doctest::Approx(4e6));
  head.latest = head.begin;
  auto& map = head.clock_map;
  map.tables[0].count = 1;
  map.tables[0].segments[0] = {1000, 1000000000, 3, 0, 0, 0};
  CHECK(view.ns(1010) == 1000000030);
  CHECK(view.span_ns(8) == doctest::Approx(24));
}

TEST_CASE("session.segment_view: a ring or block that does not lie in the file is not read") {
  made_segment made;
  const auto thread = made.thread(64, 1, "t");
  made.push(thread, fs::step_record{});
  auto* tally = made.rows<fs::tally_row>(0, 1);
  tally->used = fs::row_in_use;
  const auto view = made.view();
  auto& entry = made.base().threads[thread];
  const auto good = entry.ring_offset;
  for (const std::uint64_t bad :
       {good + (std::uint64_t{1} << 40), ~std::uint64_t{0} - 63, good + 8}) {
    entry.ring_offset = bad;
    CHECK(view.records(view.threads()[thread]).empty());
  }
  entry.ring_offset = good;
  for (const std::uint64_t bad : {std::uint64_t{62}, std::uint64_t{1} << 40, ~std::uint64_t{0}}) {
    entry.ring_mask = bad;
    CHECK(view.records(view.threads()[thread]).empty());
  }
  entry.ring_mask = 63;
  CHECK(view.records(view.threads()[thread]).size() == 1);
  const auto count_rows = [&] {
    int count = 0;
    view.rows<fs::tally_row>([&](const fs::tally_row&, std::uint32_t) { ++count; });
    return count;
  };
  CHECK(count_rows() == 1);
  auto& block = made.base().blocks[0];
  const auto offset = block.offset;
  block.offset = std::uint64_t{1} << 50;
  CHECK(count_rows() == 0);
  block.offset = offset + 4;
  CHECK(count_rows() == 0);
  block.offset = offset;
  block.rows = 0xffffffff;
  CHECK(count_rows() == 0);
}

TEST_CASE("session.replay: each thread's records in their order, types that the sink takes") {
  made_segment made;
  const auto one = made.thread(64, 1, "a");
  const auto two = made.thread(64, 2, "b");
  for (int i = 0; i < 6; ++i) {
    fs::step_record step;
    step.number = i;
    made.push(one, step);
    if (i % 2 == 0) made.push(one, fs::operation_record{});
    step.number = 100 + i;
    made.push(two, step);
  }
  auto view = made.view();
  fs::memory_sink<fs::step_record> sink;
  CHECK(fs::replay(view, sink) == 12);
  std::vector<std::int64_t> numbers;
  for (const auto& step : sink.all<fs::step_record>()) numbers.push_back(step.number);
  CHECK(numbers == std::vector<std::int64_t>{0, 1, 2, 3, 4, 5, 100, 101, 102, 103, 104, 105});
  CHECK(sink.finishes_total() == 1);
}

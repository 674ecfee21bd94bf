// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/sampling_sink.hpp>
#include <fabscope/sink/scopes_jsonl.hpp>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "sink_fixture.hpp"

namespace fs = fabscope;
using namespace sink_test;

namespace {

/// Remembers each record with its weight.
struct weighing_sink {
  std::map<std::uint32_t, std::vector<std::pair<std::uint64_t, std::uint64_t>>> by_name;
  std::uint64_t one_in = 0;
  std::uint64_t held_back = 0;
  void consume(std::span<const fs::scope_record> batch, const fs::sink_context& about) noexcept {
    for (const auto& one : batch) by_name[one.name].emplace_back(one.bytes, about.weight());
  }
  void consume(std::span<const fs::operation_record> batch, const fs::sink_context&) noexcept {
    for (const auto& one : batch) by_name[one.op].emplace_back(one.bytes, 0);
  }
  void flush(const fs::sink_context& about) noexcept {
    one_in = about.one_in();
    held_back = about.held_back();
  }
};

fs::scope_record named(std::uint32_t name, std::uint64_t bytes) {
  fs::scope_record r = scope_of(1, 2);
  r.name = name;
  r.bytes = bytes;
  return r;
}

using pairs = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

}  // namespace

TEST_CASE("sink.sampling_sink: of each name the first and every Nth, and weights that add up") {
  answers from;
  const auto about = from.context();
  for (const std::size_t batch : {1U, 3U, 100U}) {  // where batches end makes no difference
    CAPTURE(batch);
    weighing_sink inner;
    fs::sampling_sink sink(inner, 4);
    std::vector<fs::scope_record> all;
    for (std::uint64_t i = 0; i < 10; ++i) {
      all.push_back(named(1, i));
      if (i == 5) all.push_back(named(2, 77));  // once only, and seen
    }
    for (std::size_t at = 0; at < all.size(); at += batch) {
      const std::size_t end = at + batch < all.size() ? at + batch : all.size();
      give(sink, about, std::vector<fs::scope_record>(all.data() + at, all.data() + end));
    }
    CHECK(inner.by_name[1] == pairs{{0, 1}, {4, 4}, {8, 4}});
    CHECK(inner.by_name[2] == pairs{{77, 1}});
    CHECK(sink.seen_total() == 11);
    CHECK(sink.kept_total() == 4);
    CHECK(sink.filtered_total() == 7);
    CHECK(sink.weight_total() == 10);  // number 9 came after the last one kept
    sink.flush(about);
    CHECK(inner.one_in == 4);
    CHECK(inner.held_back == 7);
  }
}

TEST_CASE("sink.sampling_sink: a key of one's own, and more keys than there is room for") {
  answers from;
  const auto about = from.context();
  weighing_sink inner;
  fs::sampling_sink by_size(
      inner, 2, [](const auto& r) noexcept -> std::uint64_t { return r.bytes / 10; }, 2);
  for (const std::uint64_t bytes : {1U, 11U, 2U, 12U, 3U, 13U}) {
    give(by_size, about, std::vector{named(1, bytes)});
  }
  CHECK(inner.by_name[1] == pairs{{1, 1}, {11, 1}, {3, 2}, {13, 2}});
  inner.by_name.clear();
  // Two keys are known: these three share a count.
  for (const std::uint64_t bytes : {101U, 201U, 301U}) {
    give(by_size, about, std::vector{named(1, bytes)});
  }
  CHECK(inner.by_name[1] == pairs{{101, 1}, {301, 2}});
  CHECK(by_size.seen_total() == by_size.kept_total() + by_size.filtered_total());
}

TEST_CASE("sink.sampling_sink: operations by call; one in one is everything, in whole batches") {
  answers from;
  const auto about = from.context();
  weighing_sink inner;
  fs::sampling_sink sink(inner, 3);
  auto sends = std::vector<fs::operation_record>(4, operation_of(1, 2, 1));
  for (std::size_t i = 0; i < 2; ++i) {
    sends[2 * i].op = static_cast<std::uint8_t>(fs::operation::read);
  }
  give(sink, about, sends);
  CHECK(inner.by_name[static_cast<std::uint8_t>(fs::operation::read)].size() == 1);
  CHECK(inner.by_name[static_cast<std::uint8_t>(fs::operation::tsend)].size() == 1);
  fs::sampling_sink all(fs::memory_sink<fs::scope_record>(10), 1);
  give(all, about, std::vector<fs::scope_record>(10, scope_of(1, 2)));
  CHECK(all.kept_total() == 10);
  CHECK(all.weight_total() == 10);
  CHECK(all.filtered_total() == 0);
}

TEST_CASE("sink.sampling_sink: samplers behind samplers multiply") {
  answers from;
  const auto about = from.context();
  weighing_sink inner;
  fs::sampling_sink second(inner, 2);
  fs::sampling_sink first(second, 3);
  std::vector<fs::scope_record> all;
  for (std::uint64_t i = 0; i < 13; ++i) all.push_back(named(1, i));
  give(first, about, all);  // 0, 3, 6, 9, 12 and of these 0, 6, 12
  CHECK(inner.by_name[1] == pairs{{0, 1}, {6, 6}, {12, 6}});
  CHECK(first.filtered_total() == 10);
  first.flush(about);
  CHECK(inner.one_in == 6);
  CHECK(inner.held_back == 10);
}

TEST_CASE("sink.sampling_sink: files state it, and rows have their weights") {
  answers from;
  const auto about = from.context();
  memory_file csv_file;
  fs::operations_csv_sink csv(csv_file.options());
  fs::sampling_sink operations(csv, 10);
  give(operations, about, std::vector<fs::operation_record>(25, operation_of(1, 2, 3)));
  operations.finish(about);
  auto lines = csv_file.lines();
  REQUIRE(lines.size() == 6);
  CHECK(lines[0].find("; sampled one in 10)") != std::string::npos);
  CHECK(lines[1].ends_with(",tid,scope,weight"));
  CHECK(lines[2].ends_with(",,1"));
  CHECK(lines[3].ends_with(",,10"));
  CHECK(lines[5].rfind("# end rows=3 lost=0 filtered=22 ", 0) == 0);

  memory_file jsonl_file;
  fs::sampling_sink scopes(fs::scopes_jsonl_sink(jsonl_file.options()), 10);
  give(scopes, about, std::vector<fs::scope_record>(11, scope_of(1, 2)));
  give(scopes, about, std::vector<fs::step_record>(1));
  scopes.finish(about);
  lines = jsonl_file.lines();
  REQUIRE(lines.size() == 5);
  CHECK(lines[0].ends_with(",\"sampled_one_in\":10}"));
  CHECK(lines[1].ends_with(",\"weight\":1}"));
  CHECK(lines[2].ends_with(",\"weight\":10}"));
  CHECK(lines[3].ends_with(",\"weight\":1}"));
  CHECK(lines[4].find("\"rows\":3,\"lost\":0,\"filtered\":9,") != std::string::npos);
}

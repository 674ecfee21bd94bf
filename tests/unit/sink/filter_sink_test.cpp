// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/sink/filter_sink.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <span>
#include <utility>
#include <vector>

#include "sink_fixture.hpp"

namespace fs = fabscope;
using namespace sink_test;

namespace {

std::vector<fs::operation_record> of_sizes(std::initializer_list<std::uint64_t> sizes) {
  std::vector<fs::operation_record> out;
  for (const std::uint64_t bytes : sizes) out.push_back(operation_of(1, 2, bytes));
  return out;
}

}  // namespace

TEST_CASE("sink.filter_sink: wanted records go on in their order, the others are counted") {
  answers from;
  const auto about = from.context();
  fs::memory_sink<fs::operation_record, fs::scope_record> memory(100);
  fs::filter_sink large(memory,
                        [](const fs::operation_record& r) noexcept { return r.bytes >= 10; });
  give(large, about, of_sizes({1, 10, 11, 2, 3, 12}));
  give(large, about, of_sizes({1}));
  give(large, about, of_sizes({}));
  give(large, about, of_sizes({13}));
  const auto& kept = memory.all<fs::operation_record>();
  REQUIRE(kept.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) CHECK(kept[i].bytes == 10 + i);
  CHECK(large.filtered_total() == 4);
  CHECK(large.lost_total() == 0);
  // Types that no predicate speaks of all pass.
  give(large, about, std::vector<fs::scope_record>(3, scope_of(1, 2)));
  CHECK(memory.all<fs::scope_record>().size() == 3);
  CHECK(large.filtered_total() == 4);
}

TEST_CASE("sink.filter_sink: predicates per type, by name, over a sink that it owns") {
  answers from;
  const auto about = from.context();
  std::uint64_t asked = 0;
  fs::filter_sink sink(
      fs::memory_sink<fs::operation_record, fs::scope_record>(2),
      [&asked](const fs::operation_record&) noexcept { return ++asked % 2 == 0; },
      [](const fs::scope_record& r, const fs::sink_context& names) noexcept {
        return names.label(r.name) == "app";
      });
  give(sink, about, of_sizes({1, 2, 3, 4, 5, 6, 7, 8}));
  CHECK(asked == 8);
  std::vector<fs::scope_record> scopes(4, scope_of(1, 2));
  scopes[2].name = 1;
  give(sink, about, scopes);
  CHECK(sink.filtered_total() == 4 + 3);
  CHECK(sink.lost_total() == 2);  // the inner sink's: it keeps two of each type
  sink.flush(about);
  sink.finish(about);
}

TEST_CASE("sink.filter_sink: the file's last line states what was held back in front of it") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink csv(file.options(), 5);
  fs::filter_sink outer(csv, [](const fs::operation_record& r) noexcept { return r.bytes != 7; });
  give(outer, about, of_sizes({1, 7, 8, 7, 9}));
  outer.finish(about);
  CHECK(outer.filtered_total() == 3);
  CHECK(outer.lost_total() == 0);
  CHECK(outer.status() == fs::errc::ok);
  CHECK(file.lines().back().rfind("# end rows=2 lost=0 filtered=3 ", 0) == 0);
}

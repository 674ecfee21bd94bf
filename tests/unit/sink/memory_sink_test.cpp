// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/sink/null_sink.hpp>
#include <span>
#include <vector>

#include "sink_fixture.hpp"

namespace fs = fabscope;
using namespace sink_test;

TEST_CASE("sink.memory_sink: keeps records by type, in order") {
  answers from;
  const auto about = from.context();
  fs::memory_sink<fs::scope_record, fs::operation_record> sink(10);
  const std::vector<fs::scope_record> scopes{scope_of(1, 2), scope_of(3, 4)};
  const std::vector<fs::operation_record> operations{operation_of(5, 6, 7)};
  sink.consume(std::span<const fs::scope_record>(scopes), about);
  sink.consume(std::span<const fs::operation_record>(operations), about);
  sink.flush(about);
  REQUIRE(sink.all<fs::scope_record>().size() == 2);
  CHECK(sink.all<fs::scope_record>()[1].end == 4);
  REQUIRE(sink.all<fs::operation_record>().size() == 1);
  CHECK(sink.all<fs::operation_record>()[0].bytes == 7);
  CHECK(sink.lost_total() == 0);
  CHECK(sink.flushes_total() == 1);
}

TEST_CASE("sink.memory_sink: never grows, keeps the first records, counts the others") {
  answers from;
  const auto about = from.context();
  fs::memory_sink<fs::scope_record> sink(3);
  const auto* before = sink.all<fs::scope_record>().data();
  for (std::uint64_t i = 0; i < 5; ++i) {
    const std::vector<fs::scope_record> batch{scope_of(i, i), scope_of(100 + i, 100 + i)};
    sink.consume(std::span<const fs::scope_record>(batch), about);
  }
  REQUIRE(sink.all<fs::scope_record>().size() == 3);
  CHECK(sink.all<fs::scope_record>().data() == before);
  CHECK(sink.all<fs::scope_record>()[2].end == 1);
  CHECK(sink.lost_total() == 7);
}

TEST_CASE("sink.null_sink: counts") {
  answers from;
  const auto about = from.context();
  fs::null_sink sink;
  const std::vector<fs::scope_record> batch(5, scope_of(1, 2));
  sink.consume(std::span<const fs::scope_record>(batch), about);
  sink.flush(about);
  CHECK(sink.records_total() == 5);
}

// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/tee_sink.hpp>
#include <span>
#include <vector>

#include "sink_fixture.hpp"

namespace fs = fabscope;
using namespace sink_test;

TEST_CASE("sink.tee_sink: each sink gets the types that it takes") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::memory_sink<fs::scope_record, fs::operation_record> all(10);
  fs::memory_sink<fs::scope_record> scopes_only(1);
  fs::operations_csv_sink csv(file.options());
  fs::tee_sink tee(all, scopes_only, csv);
  const std::vector<fs::scope_record> scopes{scope_of(1, 2), scope_of(3, 4)};
  const std::vector<fs::operation_record> operations{operation_of(5, 6, 7)};
  tee.consume(std::span<const fs::scope_record>(scopes), about);
  tee.consume(std::span<const fs::operation_record>(operations), about);
  tee.flush(about);
  tee.finish(about);
  CHECK(all.all<fs::scope_record>().size() == 2);
  CHECK(all.all<fs::operation_record>().size() == 1);
  CHECK(scopes_only.all<fs::scope_record>().size() == 1);
  CHECK(csv.rows_written() == 1);
  CHECK(all.flushes_total() == 1);
  CHECK(scopes_only.flushes_total() == 1);
  CHECK(all.finishes_total() == 1);
}

TEST_CASE("sink.tee_sink: sums what its sinks lost, and keeps the first error") {
  memory_file good;
  memory_file bad;
  bad.refuses = true;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink one(good.options(), 100);
  fs::operations_csv_sink two(bad.options());
  fs::tee_sink tee(one, two);
  CHECK(tee.status() == fs::errc::ok);
  const std::vector<fs::operation_record> operations{operation_of(5, 6, 7),
                                                     operation_of(5, 6, 700)};
  tee.consume(std::span<const fs::operation_record>(operations), about);
  CHECK(tee.lost_total() == 2);
  CHECK(one.filtered_total() == 1);
  CHECK(tee.filtered_total() == 0);  // the other one wanted both
  CHECK(tee.status() == fs::errc::unavailable);
}

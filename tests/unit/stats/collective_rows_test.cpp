// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/stats/collective_rows.hpp>

namespace {

namespace fs = fabscope;

TEST_CASE("stats.collective_rows: a row's key is that of the records in it") {
  fs::collective_record record;
  record.communicator = 0x123456;
  record.bytes = 65535;
  record.kind = static_cast<std::uint8_t>(fs::collective::all_gather);
  record.method = 0x32;
  record.flags =
      static_cast<std::uint8_t>(fs::timing_source::kernel_gpu) | fs::collective_record::captured;
  const auto key = fs::collective_row::key_of(record);
  fs::collective_row row;
  row.set_key(key);
  CHECK(row.key().where == key.where);
  CHECK(row.communicator == 0x123456);
  CHECK(row.function == static_cast<std::uint8_t>(fs::collective::all_gather));
  CHECK(row.method == 0x32);
  CHECK(row.size == 16);
  CHECK(row.source == static_cast<std::uint8_t>(fs::timing_source::kernel_gpu));
  record.bytes = 65536;
  CHECK(fs::collective_row::key_of(record).where != key.where);
}

TEST_CASE("stats.collective_rows: sums, limits and what is incomplete") {
  fs::collective_row row;
  fs::collective_record record;
  record.bytes = 10;
  record.span_ns = 300;
  record.longest_ns = 200;
  row.add(record);
  record.span_ns = 100;
  record.longest_ns = 90;
  record.flags = fs::collective_record::incomplete;
  row.add(record);
  CHECK(row.count == 2);
  CHECK(row.bytes == 20);
  CHECK(row.span == 400);
  CHECK(~row.inverted_min == 100);
  CHECK(row.max == 300);
  CHECK(row.longest == 290);
  CHECK(row.incomplete == 1);
}

}  // namespace

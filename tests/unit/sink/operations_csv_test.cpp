// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/sink/operations_csv.hpp>
#include <string>
#include <vector>

#include "sink_fixture.hpp"

namespace fs = fabscope;
using namespace sink_test;

namespace {
void give(fs::operations_csv_sink& sink, const fs::sink_context& about,
          const std::vector<fs::operation_record>& batch) {
  sink.consume(batch, about);
}
}  // namespace

TEST_CASE("sink.operations_csv: anchors, columns and a row as the replaced tool writes them") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink sink(file.options());
  auto record = operation_of(10000, 12500, 65536);
  record.retries = 7;
  record.parent = fs::cause(fs::cause_kind::scope, 2, 1).bits();
  give(sink, about, {record});
  sink.finish(about);

  CHECK(file.kind == "ops.csv");
  const auto lines = file.lines();
  REQUIRE(lines.size() == 4);
  CHECK(lines[0].rfind("# anchor_mono_ns=5000 anchor_wall_ns=70000  (start_ns/end_ns ", 0) == 0);
  CHECK(lines[1] ==
        "start_ns,end_ns,dur_ns,op,bytes,local_nic,remote_nic,error,nic,level,flags,retries,tid,"
        "scope");
  CHECK(lines[2] ==
        "6000,8500,2500,fi_tsend,65536,fi_addr://a,fi_addr://b,0,tcp,delivery,,7,502,exchange");
  CHECK(lines[3] ==
        "# end rows=1 lost=0 filtered=0 end_mono_ns=900000 end_boot_ns=900001 end_wall_ns=970000");
}

TEST_CASE("sink.operations_csv: unknown names, errors, flags and names that need quotes") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink sink(file.options());
  auto one = operation_of(10000, 12500, 0, 125);
  one.remote = 0;
  one.local = 6;
  one.nic = 4000000000;
  one.flags = fs::operation_record::abandoned | fs::operation_record::inferred |
              fs::operation_record::untimed | fs::operation_record::posted_size;
  auto newer = operation_of(20000, 22500, 0, 0);  // of a copy that knows more operations and levels
  newer.op = static_cast<std::uint8_t>(fs::operation::count_);
  newer.level = static_cast<std::uint8_t>(fs::completion_level::commit) + 1;
  give(sink, about, {one, newer});
  sink.finish(about);
  const std::string text = file.text();
  CHECK(text.find(",unknown,0,fi_addr://a,") != std::string::npos);
  CHECK(text.find(",unknown,,0,502,") != std::string::npos);
  CHECK(text.find("fi_tsend,0,\"quo\"\"te, and\nline\",unknown,125,unknown,untimed,"
                  "abandoned|inferred|untimed|posted_size,0,"
                  "502,\n") != std::string::npos);
}

TEST_CASE("sink.operations_csv: no file without a record") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink sink(file.options());
  give(sink, about, {});
  sink.flush(about);
  sink.finish(about);
  CHECK(file.opened == 0);
  CHECK(sink.status() == fs::errc::ok);
}

TEST_CASE("sink.operations_csv: small operations are filtered, failed ones never") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink sink(file.options(), 1000);
  give(sink, about,
       {operation_of(1, 2, 999), operation_of(1, 2, 1000), operation_of(1, 2, 0, 5),
        operation_of(1, 2, 10)});
  sink.finish(about);
  CHECK(sink.filtered_total() == 2);
  CHECK(sink.rows_written() == 2);
  CHECK(sink.lost_total() == 0);
  CHECK(file.lines().back().rfind("# end rows=2 lost=0 filtered=2 ", 0) == 0);
}

TEST_CASE("sink.operations_csv: a label is asked for once") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink sink(file.options());
  give(sink, about, std::vector<fs::operation_record>(100, operation_of(1, 2, 3)));
  CHECK(from.label_calls == 3);
}

TEST_CASE("sink.operations_csv: the cap holds, and every row beyond it is counted") {
  for (const std::uint64_t cap : {600U, 1500U, 5000U, 100000U}) {
    CAPTURE(cap);
    memory_file file;
    answers from;
    const auto about = from.context();
    fs::byte_budget budget{cap};
    auto options = file.options();
    options.budget = &budget;
    fs::operations_csv_sink sink(options);
    constexpr std::uint64_t rows = 5000;
    for (std::uint64_t i = 0; i < rows; ++i)
      give(sink, about, {operation_of(9000 + i, 9001 + i, 64)});
    sink.finish(about);
    CHECK(sink.capped());
    CHECK(sink.lost_total() > 0);
    CHECK(sink.rows_written() + sink.lost_total() == rows);
    CHECK(file.text().size() <= cap);
    std::size_t data = 0;
    for (const auto& line : file.lines()) data += line[0] >= '0' && line[0] <= '9';
    CHECK(data == sink.rows_written());
    const std::string last = file.lines().back();
    CHECK(last.rfind(
              "# end rows=" + std::to_string(data) + " lost=" + std::to_string(rows - data) + " ",
              0) == 0);
  }
}

TEST_CASE("sink.operations_csv: without a file every record is lost, and it asks once") {
  memory_file file;
  file.refuses = true;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink sink(file.options());
  give(sink, about, {operation_of(1, 2, 3), operation_of(1, 2, 3)});
  give(sink, about, {operation_of(1, 2, 3)});
  sink.finish(about);
  CHECK(file.opened == 1);
  CHECK(sink.lost_total() == 3);
  CHECK(sink.status() == fs::errc::unavailable);
}

TEST_CASE("sink.operations_csv: a disk that fills up loses rows and says so") {
  const int full = ::open("/dev/full", O_WRONLY);
  if (full < 0) return;
  answers from;
  const auto about = from.context();
  fs::file_sink_options options;
  int fd = full;
  options.opener = {&fd, [](void* self, const char*) noexcept { return *static_cast<int*>(self); }};
  fs::operations_csv_sink sink(options);
  give(sink, about, std::vector<fs::operation_record>(3000, operation_of(1, 2, 3)));
  CHECK(sink.lost_total() <= 3000);
  sink.finish(about);
  CHECK(sink.rows_written() == 0);
  CHECK(sink.lost_total() == 3000);
  CHECK(sink.status() == fs::errc::no_space);
}

TEST_CASE("sink.operations_csv: small abandoned operations have a row") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink sink(file.options(), 1000);
  auto given_up = operation_of(10, 20, 8);
  given_up.flags = fs::operation_record::abandoned;
  const std::vector<fs::operation_record> batch{operation_of(10, 20, 8), given_up};
  sink.consume(std::span<const fs::operation_record>(batch), about);
  sink.finish(about);
  CHECK(sink.filtered_total() == 1);
  CHECK(sink.rows_written() == 1);
  CHECK(file.text().find(",abandoned,") != std::string::npos);
}

TEST_CASE("sink.operations_csv: an operation without completion has the level untimed") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::operations_csv_sink sink(file.options());
  auto one = operation_of(10, 10, 8);
  one.flags = fs::operation_record::untimed;
  one.level = 0xff;
  sink.consume(std::span<const fs::operation_record>(&one, 1), about);
  sink.finish(about);
  CHECK(file.text().find(",tcp,untimed,untimed,") != std::string::npos);
}

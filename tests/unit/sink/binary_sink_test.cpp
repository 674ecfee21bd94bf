// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <cstring>
#include <fabscope/sink/binary_file.hpp>
#include <fabscope/sink/binary_sink.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/sink/operations_csv.hpp>
#include <fabscope/sink/scopes_jsonl.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sink_fixture.hpp"

namespace fs = fabscope;
using namespace sink_test;

namespace {

/// A record with everything that is converted, and arrays.
struct busy {
  fs::record_header header;
  std::uint64_t stamps[2] = {};
  std::uint64_t took = 0;
  std::uint32_t names[2] = {};
  static constexpr const char* type_name = "busy";
  static constexpr bool is_row = false;
  static const fs::field fields[3];
};
inline constexpr fs::field busy::fields[3] = {
    {"stamps", "ns", offsetof(busy, stamps), fs::field_type::ticks, fs::field_role::value, 2},
    {"took", "ns", offsetof(busy, took), fs::field_type::span},
    {"names", "", offsetof(busy, names), fs::field_type::label, fs::field_role::value, 2},
};
/// The same type as another version has it.
struct busy_later {
  fs::record_header header;
  std::uint64_t took = 0;
  std::uint64_t added = 0;
  static constexpr const char* type_name = "busy";
  static constexpr bool is_row = false;
  static const fs::field fields[2];
};
inline constexpr fs::field busy_later::fields[2] = {
    {"took", "ns", offsetof(busy_later, took), fs::field_type::span},
    {"added", "", offsetof(busy_later, added), fs::field_type::u64},
};

/// A file with a name that holds `bytes`.
struct named_file {
  explicit named_file(const std::string& bytes) {
    const int fd = ::mkstemp(path);
    REQUIRE(fd >= 0);
    REQUIRE(::write(fd, bytes.data(), bytes.size()) == static_cast<::ssize_t>(bytes.size()));
    ::close(fd);
  }
  ~named_file() { ::unlink(path); }
  char path[40] = "/tmp/fabscope_binary.XXXXXX";
};
auto reading(const std::string& bytes) {
  const named_file file(bytes);
  return fs::binary_file::open(file.path);
}

}  // namespace

TEST_CASE("sink.binary_sink: what was written is read, with names, threads and counts") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::binary_sink sink(file.options());
  auto operations = std::vector<fs::operation_record>(300, operation_of(10, 25, 64));
  for (std::size_t i = 0; i < operations.size(); ++i) operations[i].bytes = i;
  operations[7].parent = fs::cause(fs::cause_kind::scope, 6, 3).bits();
  give(sink, about, operations);
  give(sink, about, std::vector{scope_of(40, 70)});
  busy own;
  own.header = {9, sizeof own, 4, 100};
  own.stamps[0] = 110;
  own.stamps[1] = 120;
  own.took = 30;
  own.names[1] = 5;
  give(sink, about, std::vector{own});
  sink.flush(about);
  sink.finish(about);
  CHECK(sink.status() == fs::errc::ok);
  CHECK(sink.rows_written() == 302);
  CHECK(sink.lost_total() == 0);
  CHECK(file.kind == "records.bin");
  const std::string text = file.text();
  CHECK(text.size() % 64 == 0);

  auto read = reading(text);
  REQUIRE(read.has_value());
  CHECK(read->records_total() == 302);
  CHECK(read->host() == "node1");
  CHECK(read->head().rank == 3);
  CHECK(read->head().pid == 42);
  CHECK(read->head().anchor_monotonic_ns == 5000);
  REQUIRE(read->end() != nullptr);
  CHECK(read->end()->rows == 302);
  CHECK(read->end()->lost == 0);
  CHECK(read->end()->realtime_ns == 970000);
  CHECK(read->label(4) == "fi_addr://b");
  CHECK(read->label(6) == "quo\"te, and\nline");
  CHECK(read->tid(2) == 502);
  CHECK(read->types()[9].name == "busy");
  CHECK(read->types()[9].fields[1].unit == "ns");

  const auto back = read->all<fs::operation_record>();
  REQUIRE(back.size() == 300);
  for (std::size_t i = 0; i < back.size(); ++i) {
    CHECK(back[i].bytes == i);
    CHECK(back[i].header.ticks == 1010);  // nanoseconds now
    CHECK(back[i].end == 1025);
  }
  const auto one = read->all<busy>();
  REQUIRE(one.size() == 1);
  CHECK(one[0].stamps[1] == 1120);
  CHECK(one[0].took == 30);
  const auto later = read->all<busy_later>();
  REQUIRE(later.size() == 1);
  CHECK(later[0].took == 30);
  CHECK(later[0].added == 0);
  CHECK(later[0].header.size == sizeof(busy_later));
}

TEST_CASE("sink.binary_sink: replayed it gives the same text as the records themselves") {
  answers from;
  const auto about = from.context();
  const std::vector<fs::operation_record> operations{operation_of(5000, 6001, 64),
                                                     operation_of(7000, 7300, 8, 5)};
  const std::vector<fs::scope_record> scopes{scope_of(40, 70)};
  memory_file binary;
  memory_file csv_direct;
  memory_file csv_replayed;
  memory_file jsonl_direct;
  memory_file jsonl_replayed;
  fs::binary_sink sink(binary.options());
  fs::operations_csv_sink csv(csv_direct.options());
  fs::scopes_jsonl_sink jsonl(jsonl_direct.options());
  give(sink, about, operations);
  give(sink, about, scopes);
  sink.finish(about);
  give(csv, about, operations);
  csv.finish(about);
  give(jsonl, about, scopes);
  jsonl.finish(about);
  auto read = reading(binary.text());
  REQUIRE(read.has_value());
  fs::operations_csv_sink csv_again(csv_replayed.options());
  fs::scopes_jsonl_sink jsonl_again(jsonl_replayed.options());
  CHECK(read->replay<fs::operation_record, fs::scope_record>(csv_again) == 2);
  CHECK(read->replay<fs::operation_record, fs::scope_record>(jsonl_again) == 1);
  CHECK(csv_replayed.text() == csv_direct.text());
  CHECK(jsonl_replayed.text() == jsonl_direct.text());
}

TEST_CASE("sink.binary_sink: the cap holds, every row beyond it is counted, the end is there") {
  for (const std::uint64_t cap : {2000U, 5000U, 100000U}) {
    CAPTURE(cap);
    memory_file file;
    answers from;
    const auto about = from.context();
    fs::byte_budget budget{cap};
    auto options = file.options();
    options.budget = &budget;
    fs::binary_sink sink(options);
    for (int i = 0; i < 40; ++i) {
      give(sink, about, std::vector<fs::operation_record>(50, operation_of(1, 2, 3)));
      sink.flush(about);
    }
    sink.finish(about);
    CHECK(sink.capped());
    CHECK(sink.rows_written() + sink.lost_total() == 2000);
    CHECK(file.text().size() <= cap);
    auto read = reading(file.text());
    REQUIRE(read.has_value());
    CHECK(read->records_total() == sink.rows_written());
    REQUIRE(read->end() != nullptr);
    CHECK(read->end()->rows == sink.rows_written());
    CHECK(read->end()->lost == sink.lost_total());
  }
}

TEST_CASE("sink.binary_file: cut or damaged anywhere, it says so or gives what is whole") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::binary_sink sink(file.options());
  give(sink, about, std::vector<fs::operation_record>(20, operation_of(1, 2, 3)));
  sink.finish(about);
  const std::string whole = file.text();
  CHECK(reading("").error() == fs::errc::corrupt);
  CHECK(fs::binary_file::open("/nonexistent/x").error() == fs::errc::unavailable);
  for (std::size_t size = 0; size < whole.size(); size += 37) {
    auto read = reading(whole.substr(0, size));
    CHECK(read.has_value() == (size >= 64));
    if (!read) continue;
    CHECK(read->end() == nullptr);
    CHECK(read->records_total() <= 20);
  }
  std::uint64_t state = 1;
  for (int i = 0; i < 400; ++i) {
    std::string text = whole;
    for (int n = 0; n < 8; ++n) {
      state = state * 6364136223846793005U + 1442695040888963407U;
      text[(state >> 33) % text.size()] = static_cast<char>(state >> 56);
    }
    auto read = reading(text);
    if (!read) continue;
    fs::memory_sink<fs::operation_record> memory(100);
    read->replay<fs::operation_record>(memory);
    CHECK(read->all<fs::operation_record>().size() <= text.size() / 64);
  }
}

TEST_CASE("sink.binary_file: a clock that changes its pace is followed, and never steps back") {
  memory_file file;
  // 2.5 ticks are a nanosecond up to 10^9 ticks, 2.6 behind.
  fs::sink_context about({nullptr,
                          [](void*, std::uint64_t ticks) -> std::uint64_t {
                            constexpr std::uint64_t knee = 1000000000;
                            if (ticks < knee) return ticks * 10 / 25;
                            return knee * 10 / 25 + (ticks - knee) * 10 / 26;
                          },
                          [](void*, std::uint32_t) { return std::string_view(); },
                          [](void*, std::uint32_t thread) { return thread; }, 0, 0});
  fs::binary_sink sink(file.options());
  std::vector<fs::scope_record> scopes;
  for (std::uint64_t i = 0; i < 4000; ++i) scopes.push_back(scope_of(i * 500000, i * 500000 + 77));
  for (std::size_t at = 0; at < scopes.size(); at += 10) {
    give(sink, about, std::vector<fs::scope_record>(scopes.data() + at, scopes.data() + at + 10));
  }
  sink.finish(about);
  auto read = reading(file.text());
  REQUIRE(read.has_value());
  const auto back = read->all<fs::scope_record>();
  REQUIRE(back.size() == scopes.size());
  std::uint64_t before = 0;
  std::uint64_t worst = 0;
  for (std::size_t i = 0; i < back.size(); ++i) {
    const std::uint64_t expected = about.ns(scopes[i].header.ticks);
    const std::uint64_t got = back[i].header.ticks;
    const std::uint64_t off = got > expected ? got - expected : expected - got;
    // The knee lies between two notes; the rest is rounding.
    const bool at_knee = scopes[i].header.ticks > 970000000 && scopes[i].header.ticks < 1030000000;
    if (!at_knee) worst = off > worst ? off : worst;
    CHECK(got >= before);
    before = got;
  }
  CHECK(worst <= 2);
}

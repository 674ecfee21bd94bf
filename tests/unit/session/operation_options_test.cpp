// SPDX-License-Identifier: Apache-2.0
// Who logs operations: ranks, names, sizes, levels, and the old tool's variables.
#include <doctest/doctest.h>

#include <fabscope/session/operation_options.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <fabscope/sink/operation_log.hpp>
#include <initializer_list>
#include <string>
#include <vector>

namespace {

namespace fs = fabscope;

struct outcome {
  fs::options read;
  std::vector<std::string> lines;
};

/// What the variables make of a preload's options in a process of this rank (-1: unknown).
outcome settled(int rank, std::initializer_list<const char*> variables) {
  std::vector<const char*> entries(variables);
  entries.push_back(nullptr);
  outcome out;
  out.read.run_level = fs::level::count;
  const fs::diagnostics user{[](void* to, const char* line) {
                               static_cast<std::vector<std::string>*>(to)->push_back(line);
                             },
                             &out.lines};
  apply_environment(out.read, fs::environment(entries.data()), user);
  fs::identity who;
  who.rank = rank;
  fs::detail::settle_operations(out.read, who, user);
  return out;
}

bool logs(const outcome& of) {
  return of.read.run_level == fs::level::record && (of.read.wanted_outputs() & fs::output_csv) != 0;
}

TEST_CASE("session.rank_list: ranks, ranges, commas, blanks") {
  using fs::detail::has_rank;
  for (const std::uint64_t rank : {0U, 8U, 16U}) CHECK(has_rank("0,8,16", rank));
  for (const std::uint64_t rank : {1U, 7U, 17U, 80U}) CHECK(!has_rank("0,8,16", rank));
  for (const std::uint64_t rank : {0U, 5U, 7U, 512U}) CHECK(has_rank(" 0-7, 512 ", rank));
  for (const std::uint64_t rank : {8U, 51U, 511U, 513U}) CHECK(!has_rank("0-7,512", rank));
  CHECK(has_rank("1 2  4-5", 5));
  CHECK(!has_rank("1 2  4-5", 3));
  for (const char* bad : {"", " ", ",", "a", "1,b", "3-1", "-3", "3-", "1-2-3", "1;2", "1.5"}) {
    CAPTURE(bad);
    CHECK(!fs::detail::for_each_rank_range(bad, [](std::uint64_t, std::uint64_t) noexcept {}));
  }
}

TEST_CASE("session.operation_options: off unless asked for") {
  CHECK(!logs(settled(3, {})));
  CHECK(!logs(settled(3, {"FABSCOPE_DIR=x", "INTERCEPT_TIMER_DIR=x"})));
  CHECK(!logs(settled(3, {"FABSCOPE_OUTPUTS=report"})));
  for (const char* one : {"FABSCOPE=record", "FABSCOPE_OUTPUTS=csv", "FABSCOPE_OPS_RANKS=0-5",
                          "FABSCOPE_OPS_NIC=x", "FABSCOPE_OPS_MIN_BYTES=9", "FABSCOPE_OPS_MB=1",
                          "INTERCEPT_TIMER_OPS_RANKS=3", "INTERCEPT_TIMER_OPS_NIC=x"}) {
    CAPTURE(one);
    const outcome got = settled(3, {one});
    CHECK(logs(got));
    CHECK(got.lines.empty());
    const bool old = std::string(one).rfind("INTERCEPT", 0) == 0;
    const std::uint64_t bytes = old ? 65536 : std::string(one).back() == '9' ? 9 : 0;
    CHECK(got.read.ops_min_bytes == bytes);
    const bool large = std::string(one) != "FABSCOPE=record";
    CHECK(got.read.wanted_ring_slots() == (large ? 131072 : 16384));
    CHECK(got.read.period_ms == (large ? 2 : 10));
  }
}

TEST_CASE("session.operation_options: a rank that is not in the list pays nothing") {
  const outcome other = settled(6, {"FABSCOPE_OPS_RANKS=0-5"});
  CHECK(other.read.run_level == fs::level::count);
  CHECK(other.read.wanted_outputs() == fs::output_report);
  CHECK(other.lines.empty());
  const outcome recorded = settled(6, {"FABSCOPE_OPS_RANKS=0-5", "FABSCOPE=record"});
  CHECK(recorded.read.wanted_outputs() == (fs::output_report | fs::output_jsonl));
}

TEST_CASE("session.operation_options: an unknown rank selects nothing and says so") {
  const outcome got = settled(-1, {"FABSCOPE_OPS_RANKS=0-5"});
  CHECK(!logs(got));
  REQUIRE(got.lines.size() == 1);
  CHECK(got.lines[0].find("fabscope: FABSCOPE_OPS_RANKS: '0-5' selects nothing") == 0);
  const outcome old = settled(-1, {"INTERCEPT_TIMER_OPS_RANKS=0"});
  REQUIRE(old.lines.size() == 1);
  CHECK(old.lines[0].find("INTERCEPT_TIMER_OPS_RANKS") != std::string::npos);
}

TEST_CASE("session.operation_options: a name beats the ranks, on every rank") {
  const outcome got = settled(9, {"FABSCOPE_OPS_RANKS=0", "FABSCOPE_OPS_NIC= 0x01ad0407 "});
  CHECK(logs(got));
  CHECK(got.read.ops_nic == "0x01ad0407");
  CHECK(logs(settled(-1, {"FABSCOPE_OPS_RANKS=0", "FABSCOPE_OPS_NIC=x"})));
}

TEST_CASE("session.operation_options: rings and period that were set stay") {
  const outcome got =
      settled(0, {"FABSCOPE_OPS_RANKS=0", "FABSCOPE_RING_SLOTS=64", "FABSCOPE_PERIOD_MS=5"});
  CHECK(got.read.wanted_ring_slots() == 64);
  CHECK(got.read.period_ms == 5);
}

TEST_CASE("session.operation_options: a level that was set stays, with one line") {
  const outcome got = settled(0, {"FABSCOPE=count", "FABSCOPE_OPS_RANKS=0"});
  CHECK(got.read.run_level == fs::level::count);
  REQUIRE(got.lines.size() == 1);
  CHECK(got.lines[0] == "fabscope: no operations are logged at level count: set FABSCOPE=record");
}

TEST_CASE("session.operation_options: a bad value gives one line and asks for nothing") {
  for (const char* bad : {"FABSCOPE_OPS_RANKS=0-x", "INTERCEPT_TIMER_OPS_RANKS=a"}) {
    CAPTURE(bad);
    const outcome got = settled(0, {bad});
    CHECK(!logs(got));
    CHECK(got.read.ops_min_bytes == 0);
    REQUIRE(got.lines.size() == 1);
    CHECK(got.lines[0].find("is not allowed; allowed: a list of ranks and ranges") !=
          std::string::npos);
  }
  CHECK(settled(0, {"FABSCOPE_OPS_MB=0"}).lines.size() == 1);
  CHECK(settled(0, {"FABSCOPE_CQ_GAPS=2"}).lines.size() == 1);
  CHECK(settled(0, {"INTERCEPT_TIMER_CQGAP=yes"}).lines.empty());
}

TEST_CASE("session.operation_options: names of this library beat those of the old tool") {
  const outcome got =
      settled(0, {"INTERCEPT_TIMER_OPS_RANKS=1", "FABSCOPE_OPS_RANKS=0", "INTERCEPT_TIMER_OPS_MB=5",
                  "FABSCOPE_OPS_MB=6", "INTERCEPT_TIMER_OPS_MIN_BYTES=7",
                  "FABSCOPE_OPS_MIN_BYTES=8", "INTERCEPT_TIMER_DIR=old", "FABSCOPE_DIR=new"});
  CHECK(logs(got));
  CHECK(got.read.ops_mb == 6);
  CHECK(got.read.ops_min_bytes == 8);
  CHECK(got.read.timer_directory.empty());
  CHECK(got.read.directory == "new");
  const outcome old = settled(0, {"INTERCEPT_TIMER_OPS_MIN_BYTES=0x20", "INTERCEPT_TIMER_OPS_MB=5",
                                  "INTERCEPT_TIMER_OPS_NIC=a", "INTERCEPT_TIMER_DIR=-"});
  CHECK(old.read.ops_min_bytes == 32);
  CHECK(old.read.ops_mb == 5);
  CHECK(old.read.timer_on_stderr);
  CHECK(old.read.timer_directory == ".");
  CHECK(old.read.directory.empty());
}

TEST_CASE("session.operation_options: which texts are node ids") {
  using fs::detail::node_id;
  CHECK(node_id("0xd682") == 0xd682);
  CHECK(node_id("54914") == 54914);
  CHECK(!node_id("0x01ad04"));  // the beginning of an address
  CHECK(!node_id("0x100000"));
  CHECK(!node_id("cxi0"));
}

TEST_CASE("session.operation_options: an empty log says which filter let nothing through") {
  struct rows {
    fs::errc status() const noexcept { return fs::errc::ok; }
    std::uint64_t lost_total() const noexcept { return 0; }
    std::uint64_t filtered_total() const noexcept { return 0; }
    void consume(std::span<const fs::operation_record>, const fs::sink_context&) noexcept {}
  };
  const fs::sink_context about({nullptr, [](void*, std::uint64_t t) { return t; },
                                [](void*, std::uint32_t) -> std::string_view { return "here"; },
                                [](void*, std::uint32_t t) { return t; }, 0, 0});
  fs::options chosen;
  fs::operation_record small;
  small.remote = 1;
  small.bytes = 10;
  const auto why = [&] {
    fs::operation_log<rows> log(fs::detail::selection_of(chosen, false), 1 << 20);
    CHECK(fs::detail::why_empty(log, chosen).empty());  // nothing came
    log.consume({&small, 1}, about);
    return fs::detail::why_empty(log, chosen);
  };
  CHECK(why().empty());
  chosen.ops_nic = "there";
  CHECK(why().find("FABSCOPE_OPS_NIC='there' matched none of 1 operations") == 0);
  chosen.ops_nic = "here";
  CHECK(why().empty());
  chosen.ops_min_bytes = 11;
  CHECK(why().find("11 bytes that FABSCOPE_OPS_MIN_BYTES asks for") != std::string::npos);
  chosen.ops_nic.clear();
  CHECK(why().find("no operation was logged: none of 1 operations has the 11 bytes") == 0);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/session/options.hpp>
#include <initializer_list>
#include <string>
#include <vector>

using fabscope::level;
using fabscope::options;

namespace {

struct read_options {
  options read;
  std::vector<std::string> lines;
};

read_options apply(std::initializer_list<const char*> variables, const options& defaults = {}) {
  std::vector<const char*> entries(variables);
  entries.push_back(nullptr);
  read_options result;
  result.read = defaults;
  const fabscope::diagnostics user{[](void* to, const char* line) {
                                     static_cast<std::vector<std::string>*>(to)->push_back(line);
                                   },
                                   &result.lines};
  const int count = apply_environment(result.read, fabscope::environment(entries.data()), user);
  CHECK(static_cast<std::size_t>(count) == result.lines.size());
  return result;
}

/// The one line that the variables give.
std::string complaint(std::initializer_list<const char*> variables) {
  const read_options got = apply(variables);
  CHECK(got.lines.size() == 1);
  return got.lines.empty() ? "" : got.lines[0];
}

}  // namespace

TEST_CASE("session.options: without variables the defaults stay") {
  options mine;
  mine.run_level = level::count;
  mine.period_ms = 77;
  const read_options got = apply({"PATH=/bin", "FABSCOPE_PERIOD_MS="}, mine);
  CHECK(got.lines.empty());
  CHECK(got.read.run_level == level::count);
  CHECK(got.read.period_ms == 77);
  CHECK(options{}.run_level == level::record);
}

TEST_CASE("session.options: every variable reaches its option") {
  const read_options got =
      apply({"FABSCOPE=count", "FABSCOPE_DIR=out/here", "FABSCOPE_OUTPUTS=csv, jsonl",
             "FABSCOPE_PERIOD_MS=0x20", "FABSCOPE_MAX_MB=1048576", "FABSCOPE_NODE_DIR=/tmp",
             "FABSCOPE_FILE_MODE=0640", "FABSCOPE_RING_SLOTS=64", "FABSCOPE_CLOCK=monotonic",
             "FABSCOPE_OPS_MIN_BYTES=9223372036854775808", "FABSCOPE_SYS_ROOT=/dev"});
  CHECK(got.lines.empty());
  CHECK(got.read.run_level == level::count);
  CHECK(got.read.directory == "out/here");
  CHECK_FALSE(got.read.report_on_stderr);
  CHECK(got.read.outputs == (fabscope::output_csv | fabscope::output_jsonl));
  CHECK(got.read.period_ms == 32);
  CHECK(got.read.max_mb == 1048576);
  CHECK(got.read.node_dir == "/tmp");
  CHECK(got.read.file_mode == 0640);
  CHECK(got.read.ring_slots == 64);
  CHECK(got.read.clock == fabscope::clock_choice::monotonic);
  CHECK(got.read.ops_min_bytes == std::uint64_t{1} << 63);
  CHECK(got.read.sys_root == "/dev");
}

TEST_CASE("session.options: a bad value gives one line and changes nothing") {
  CHECK(complaint({"FABSCOPE_PERIOD_MS=10x"}) ==
        "fabscope: FABSCOPE_PERIOD_MS: '10x' is not allowed; allowed: an integer from 1 to 60000");
  CHECK(complaint({"FABSCOPE=trace"}) ==
        "fabscope: FABSCOPE: 'trace' is not allowed; allowed: off, count, record");
  CHECK(apply({"FABSCOPE_PERIOD_MS=10x"}).read.period_ms == options{}.period_ms);
  for (const char* bad : {"FABSCOPE=Off",
                          "FABSCOPE=1",
                          "FABSCOPE_OUTPUTS=csv,xml",
                          "FABSCOPE_OUTPUTS=,",
                          "FABSCOPE_OUTPUTS=all,none",
                          "FABSCOPE_OUTPUTS=none,csv",
                          "FABSCOPE_PERIOD_MS=0",
                          "FABSCOPE_PERIOD_MS=60001",
                          "FABSCOPE_PERIOD_MS=-5",
                          "FABSCOPE_PERIOD_MS=18446744073709551617",
                          "FABSCOPE_MAX_MB=0",
                          "FABSCOPE_MAX_MB=1048577",
                          "FABSCOPE_NODE_DIR=/nowhere/at/all",
                          "FABSCOPE_NODE_DIR=/dev/null",
                          "FABSCOPE_FILE_MODE=0888",
                          "FABSCOPE_FILE_MODE=1777",
                          "FABSCOPE_FILE_MODE=0444",
                          "FABSCOPE_RING_SLOTS=32",
                          "FABSCOPE_RING_SLOTS=100",
                          "FABSCOPE_RING_SLOTS=2097152",
                          "FABSCOPE_CLOCK=hpet",
                          "FABSCOPE_OPS_MIN_BYTES=9223372036854775809",
                          "FABSCOPE_SYS_ROOT=/nowhere"}) {
    const std::string line = complaint({bad});
    const std::string variable = bad;
    const std::size_t equals = variable.find('=');
    CHECK(line.find("fabscope: " + variable.substr(0, equals) + ": '" +
                    variable.substr(equals + 1) + "' is not allowed; allowed: ") == 0);
  }
}

TEST_CASE("session.options: the value in a line is short and printable") {
  const std::string endless = "FABSCOPE_CLOCK=\x1b[2J\n" + std::string(500, 'x');
  const std::string line = complaint({endless.c_str()});
  CHECK(line.size() < 160);
  CHECK(line.find_first_of("\x1b\n") == std::string::npos);
}

TEST_CASE("session.options: an unknown variable gives one line with the nearest name") {
  CHECK(
      complaint({"FABSCOPE_PEROID_MS=10"}) ==
      "fabscope: FABSCOPE_PEROID_MS: there is no such variable; the nearest is FABSCOPE_PERIOD_MS");
  CHECK(complaint({"FABSCOPE_OUTPUT=csv"}).find("is FABSCOPE_OUTPUTS") != std::string::npos);
  CHECK(complaint({"FABSCOPE_MAXMB=1"}).find("is FABSCOPE_MAX_MB") != std::string::npos);
  CHECK(complaint({"FABSCOPE_=1"}).find("is FABSCOPE") != std::string::npos);
}

TEST_CASE("session.options: other parts' variables and other programs' give no line") {
  CHECK(apply({"FABSCOPE_NIC=mlx5_0", "FABSCOPE_NIC_MS=5", "FABSCOPE_NCCL_CHAIN=x.so",
               "FABSCOPE_OPS_RANKS=0-3", "FABSCOPE_CQ_GAPS=1", "FABSCOPE_STALL_SECONDS=1",
               "FABSCOPE_SIGNAL=10", "FABSCOPE_CAPTURE=slow:3", "FABSCOPE_PROM_DIR=/x",
               "FABSCOPEX=1", "XFABSCOPE_DIR=1", "FABRIC=1"})
            .lines.empty());
}

TEST_CASE("session.options: outputs follow the level unless they are chosen") {
  CHECK(apply({"FABSCOPE=count"}).read.wanted_outputs() == fabscope::output_report);
  CHECK(apply({"FABSCOPE=record"}).read.wanted_outputs() == fabscope::output_usual);
  CHECK(apply({"FABSCOPE_OUTPUTS=report,bin"}).read.wanted_outputs() ==
        (fabscope::output_report | fabscope::output_bin));
  CHECK(apply({"FABSCOPE_OUTPUTS=none,none"}).read.wanted_outputs() == fabscope::output_none);
  CHECK(apply({"FABSCOPE_OUTPUTS=none"}).read.wanted_outputs() == fabscope::output_none);
  CHECK(apply({"FABSCOPE=count", "FABSCOPE_OUTPUTS=all"}).read.wanted_outputs() ==
        fabscope::output_all);
}

TEST_CASE("session.options: - and stderr send the report there and leave the directory alone") {
  for (const char* where : {"FABSCOPE_DIR=-", "FABSCOPE_DIR=stderr"}) {
    const read_options got = apply({where});
    CHECK(got.read.report_on_stderr);
    CHECK(got.read.directory.empty());
  }
}

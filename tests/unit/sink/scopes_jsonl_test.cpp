// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <fabscope/sink/scopes_jsonl.hpp>
#include <string>
#include <vector>

#include "sink_fixture.hpp"

namespace fs = fabscope;
using namespace sink_test;

TEST_CASE("sink.scopes_jsonl: header, scopes, steps and counts") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::scopes_jsonl_sink sink(file.options());
  auto inner = scope_of(10, 30);
  inner.bytes = 77;
  inner.value = -5;
  inner.depth = 1;
  inner.parent = fs::cause(fs::cause_kind::scope, 6, 8).bits();
  const std::vector<fs::scope_record> scopes{inner, scope_of(5, 40)};
  fs::step_record step;
  step.header = {3, sizeof step, 1, 5};
  step.end = 45;
  step.number = -1;
  const std::vector<fs::step_record> steps{step};
  sink.consume(scopes, about);
  sink.consume(steps, about);
  sink.flush(about);
  sink.finish(about);

  CHECK(file.kind == "scopes.jsonl");
  const auto lines = file.lines();
  REQUIRE(lines.size() == 5);
  CHECK(lines[0] ==
        "{\"type\":\"header\",\"format\":\"fabscope.scopes\",\"format_version\":1,\"fabscope\":"
        "\"" FABSCOPE_VERSION_STRING
        "\",\"host\":\"node1\",\"rank\":3,\"pid\":42,\"clock\":\"CLOCK_MONOTONIC\","
        "\"anchor_mono_ns\":5000,\"anchor_wall_ns\":70000}");
  CHECK(lines[1] ==
        R"({"type":"scope","domain":"app","name":"exchange","begin_ns":1010,"end_ns":1030,)"
        R"("dur_ns":20,"bytes":77,"value":-5,"depth":1,"tid":501,"number":9,)"
        R"("parent":{"kind":"scope","name":"quo\"te, and\nline","number":8}})");
  CHECK(lines[2] ==
        R"({"type":"scope","domain":"app","name":"exchange","begin_ns":1005,"end_ns":1040,)"
        R"("dur_ns":35,"bytes":0,"value":0,"depth":0,"tid":501,"number":9,"parent":null})");
  CHECK(lines[3] ==
        R"({"type":"step","number":-1,"begin_ns":1005,"end_ns":1045,"dur_ns":40,"tid":501})");
  CHECK(lines[4] ==
        R"({"type":"end","rows":3,"lost":0,"filtered":0,"end_mono_ns":900000,"end_boot_ns":900001,)"
        R"("end_wall_ns":970000})");
}

TEST_CASE("sink.scopes_jsonl: an unknown rank and an unknown name are null") {
  memory_file file;
  answers from;
  const auto about = from.context();
  auto options = file.options();
  options.rank = -1;
  fs::scopes_jsonl_sink sink(options);
  auto record = scope_of(1, 2);
  record.name = 0xffffff;
  sink.consume(std::vector<fs::scope_record>{record}, about);
  sink.finish(about);
  CHECK(file.lines()[0].find("\"rank\":null") != std::string::npos);
  CHECK(file.lines()[1].find("\"name\":null") != std::string::npos);
}

TEST_CASE("sink.scopes_jsonl: rows before and after a flush are counted once") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::scopes_jsonl_sink sink(file.options());
  const std::vector<fs::scope_record> batch(10, scope_of(1, 2));
  sink.consume(batch, about);
  CHECK(sink.rows_written() == 0);
  CHECK(sink.lost_total() == 0);
  sink.flush(about);
  CHECK(sink.rows_written() == 10);
  sink.consume(batch, about);
  CHECK(sink.lost_total() == 0);
  sink.finish(about);
  CHECK(sink.rows_written() == 20);
  CHECK(file.opened == 1);
  CHECK(file.lines().size() == 22);
}

TEST_CASE("sink.scopes_jsonl: attributes of each kind") {
  memory_file file;
  answers from;
  const auto about = from.context();
  fs::scopes_jsonl_sink sink(file.options());
  fs::attribute_record base;
  base.header = {4, sizeof base, 1, 15};
  base.name = 2;
  base.domain = 1;
  std::vector<fs::attribute_record> batch(4, base);
  batch[0].integer = -3;
  batch[0].scope = fs::cause(fs::cause_kind::scope, 2, 9).bits();
  batch[1].kind = static_cast<std::uint32_t>(fs::attribute_kind::real);
  batch[1].real = 0.25;
  batch[2].kind = static_cast<std::uint32_t>(fs::attribute_kind::text);
  batch[2].text = 6;
  batch[3].kind = 77;
  sink.consume(batch, about);
  sink.finish(about);
  const auto lines = file.lines();
  REQUIRE(lines.size() == 6);
  CHECK(lines[1] ==
        R"({"type":"attribute","domain":"app","name":"exchange","value":-3,"at_ns":1015,)"
        R"("tid":501,"scope":{"kind":"scope","name":"exchange","number":9}})");
  CHECK(lines[2].find(R"("value":0.25,"at_ns":1015,"tid":501,"scope":null})") != std::string::npos);
  CHECK(lines[3].find(R"("value":"quo\"te, and\nline",)") != std::string::npos);
  CHECK(lines[4].find(R"("value":null,)") != std::string::npos);
}

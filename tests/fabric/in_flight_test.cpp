// SPDX-License-Identifier: Apache-2.0
// Operations that have not completed: in the segment of a running process, and in its report.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include <fabscope/fabric.hpp>
#include <fabscope/session/report.hpp>
#include <fabscope/stats/in_flight_row.hpp>

#include "fabric/fake_provider.hpp"
#include "fabric/fixture.hpp"

namespace {

namespace fs = fabscope;
namespace fabric = fabscope::fabric;
using namespace fabscope::literals;
using fabric_test::recorded;
using fs::operation;

char contexts[64];  // contexts of the application

struct waiting_pair {
  fake::endpoint ep;
  fake::queue cq;
  fake::info info;
  bool closed = false;

  waiting_pair() {
    fake::open(ep);
    fake::open(cq);
    REQUIRE(fabric::instrument(&cq.object, FI_CQ_FORMAT_TAGGED));
    REQUIRE(fabric::instrument(&ep.object, &info.object));
    REQUIRE(fi_ep_bind(&ep.object, &cq.object.fid, FI_TRANSMIT | FI_RECV) == 0);
    REQUIRE(fi_enable(&ep.object) == 0);
  }
  ~waiting_pair() {
    if (!closed) CHECK(fi_close(&ep.object.fid) == 0);
    CHECK(fi_close(&cq.object.fid) == 0);
  }
  void complete(void* context) {
    fi_cq_tagged_entry entry{};
    entry.op_context = context;
    cq.entries.push_back(entry);
    REQUIRE(fi_cq_read(&cq.object, &entry, 1) == 1);
  }
};

std::string report_of(recorded& session) {
  session.session().flush();
  auto view = fs::segment_view::map(fs::detail::current_engine()->memory_file().descriptor());
  REQUIRE(view.has_value());
  return fs::render_report(*view);
}

}  // namespace

TEST_CASE("fabric.in_flight: the oldest operations are rows, and leave as they complete") {
  recorded session;
  waiting_pair to;
  CHECK(session.rows<fs::in_flight_row>().empty());
  REQUIRE(fi_recv(&to.ep.object, contexts, 4, nullptr, 0, contexts) == 0);
  {
    const fs::scope during{"waiting"_name};
    REQUIRE(fi_send(&to.ep.object, contexts, 1000, nullptr, 0, contexts + 1) == 0);
  }
  void* const first = to.ep.calls.back().context;
  REQUIRE(fi_send(&to.ep.object, contexts, 2000, nullptr, 0, contexts + 2) == 0);

  const auto rows = session.rows<fs::in_flight_row>();
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].bytes == 1000);
  CHECK(rows[0].op == static_cast<std::uint8_t>(operation::send));
  CHECK(rows[0].begin < rows[1].begin);
  CHECK(rows[0].seen > rows[1].begin);
  CHECK(session.label(fs::cause(rows[0].cause).label()) == "waiting");
  CHECK(rows[1].bytes == 2000);
  CHECK(rows[1].cause == 0);
  CHECK(rows[2].op == static_cast<std::uint8_t>(operation::recv));

  const std::string text = report_of(session);
  INFO(text);
  const std::size_t table = text.find("== in flight ==");
  REQUIRE(table != std::string::npos);
  CHECK(text.find("waiting", table) != std::string::npos);
  CHECK(text.find("- an operation has not completed after ") != std::string::npos);
  CHECK(text.find("fi_send of 1000 B") != std::string::npos);

  to.complete(first);
  const auto fewer = session.rows<fs::in_flight_row>();
  REQUIRE(fewer.size() == 2);
  CHECK(fewer[0].bytes == 2000);
}

TEST_CASE("fabric.in_flight: of many the oldest are kept, receives apart") {
  recorded session;
  waiting_pair to;
  constexpr std::uint32_t places = fs::in_flight_list::places;
  for (std::size_t i = 0; i < places + 9; ++i) {
    REQUIRE(fi_recv(&to.ep.object, contexts, i, nullptr, 0, contexts) == 0);
    REQUIRE(fi_send(&to.ep.object, contexts, i, nullptr, 0, contexts) == 0);
  }
  const auto rows = session.rows<fs::in_flight_row>();
  REQUIRE(rows.size() == 2 * places);
  for (std::size_t i = 0; i < places; ++i) {
    CHECK(rows[i].bytes == i);
    CHECK(rows[i].op == static_cast<std::uint8_t>(operation::send));
    CHECK(rows[places + i].bytes == i);
    CHECK(rows[places + i].op == static_cast<std::uint8_t>(operation::recv));
  }
  CHECK(report_of(session).find("only the oldest 32 receives") != std::string::npos);
}

TEST_CASE("fabric.in_flight: what a closed endpoint left is counted there and nowhere else") {
  recorded session;
  waiting_pair to;
  REQUIRE(fi_send(&to.ep.object, contexts, 7, nullptr, 0, contexts) == 0);
  CHECK(fi_close(&to.ep.object.fid) == 0);
  to.closed = true;
  CHECK(session.rows<fs::in_flight_row>().empty());
  CHECK(session.failures(operation::send, fs::failure_stage::closed, 0) == 1);
}

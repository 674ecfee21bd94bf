// SPDX-License-Identifier: Apache-2.0
// Busy time of a NIC: the union of what was in flight, over all threads, receives apart.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fabscope/fabric.hpp>
#include <thread>
#include <vector>

#include "fabric/fake_provider.hpp"
#include "fabric/fixture.hpp"

namespace {

namespace fs = fabscope;
namespace fabric = fabscope::fabric;
using fabric_test::recorded;

struct link {
  fake::endpoint ep;
  fake::queue cq;

  explicit link(fake::info& info) {
    fake::open(ep);
    fake::open(cq);
    REQUIRE(fabric::instrument(&cq.object, FI_CQ_FORMAT_TAGGED));
    REQUIRE(fabric::instrument(&ep.object, &info.object));
    REQUIRE(fi_ep_bind(&ep.object, &cq.object.fid, FI_TRANSMIT | FI_RECV) == 0);
  }
  ~link() {
    CHECK(fi_close(&ep.object.fid) == 0);
    CHECK(fi_close(&cq.object.fid) == 0);
  }
  void send() { REQUIRE(fi_send(&ep.object, nullptr, 0, nullptr, 0, this) == 0); }
  void complete() {
    fi_cq_tagged_entry entry{};
    entry.op_context = ep.calls.front().context;
    ep.calls.erase(ep.calls.begin());
    cq.entries.push_back(entry);
    REQUIRE(fi_cq_read(&cq.object, &entry, 1) == 1);
  }
};

/// The collector looks only when it is told: what it sees in flight counts up to that moment, also
/// if the thread has just ended it and lost the processor.
fs::options quiet() {
  fs::options chosen = fs::options_from_environment();
  chosen.period_ms = 60000;
  chosen.ring_slots = 16384;
  return chosen;
}

/// Length of the union of all operations that are not receives, from their records.
std::uint64_t union_of(const std::vector<fs::operation_record>& records) {
  std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
  for (const fs::operation_record& one : records) {
    if (!fs::is_receive(static_cast<fs::operation>(one.op)))
      all.emplace_back(one.header.ticks, one.end);
  }
  std::sort(all.begin(), all.end());
  std::uint64_t sum = 0;
  std::uint64_t until = 0;
  for (const auto& [begin, end] : all) {
    const std::uint64_t from = std::max(begin, until);
    if (end > from) sum += end - from;
    until = std::max(until, end);
  }
  return sum;
}

fs::nic_row nic(recorded& session) {
  const auto rows = session.rows<fs::nic_row>();
  REQUIRE(rows.size() == 1);
  return rows[0];
}

TEST_CASE("fabric.busy: one thread's overlapping operations, exactly") {
  recorded session(quiet());
  fake::info info;
  link one(info);
  for (int i = 0; i < 300; ++i) {
    for (int n = 0; n <= i % 5; ++n) one.send();
    for (int n = 0; n <= i % 5; ++n) one.complete();
    if (i % 100 == 0) session.session().flush();  // the collector looks in between
  }
  const std::uint64_t expected = union_of(session.records());
  const fs::nic_row row = nic(session);
  CHECK(row.busy == expected);
  CHECK(row.busy_uncertain == 0);
  CHECK(session.label(row.nic) == "fake0");
  CHECK(session.label(static_cast<std::uint32_t>(row.device)) == "fake:fake0");
}

TEST_CASE("fabric.busy: more gaps than the ring holds, one thread, still exactly") {
  recorded session(quiet());
  fake::info info;
  link one(info);
  for (int i = 0; i < 10000; ++i) {
    one.send();
    one.complete();
  }
  const fs::nic_row row = nic(session);
  REQUIRE(session.records().size() == 10000);
  CHECK(row.busy == union_of(session.records()));
  CHECK(row.busy_uncertain == 0);
}

TEST_CASE("fabric.busy: a long operation beside many short ones") {
  recorded session;
  fake::info info;
  link slow(info);
  slow.send();
  std::thread other([&] {
    link fast(info);
    for (int i = 0; i < 5000; ++i) {
      fast.send();
      fast.complete();
      if (i % 500 == 0) session.session().flush();
    }
  });
  other.join();
  slow.complete();
  const std::uint64_t expected = union_of(session.records());
  const fs::nic_row row = nic(session);
  CHECK(row.busy <= expected);
  CHECK(row.busy + row.busy_uncertain >= expected);
  CHECK(row.busy_uncertain <= expected / 100);
}

TEST_CASE("fabric.busy: receives do not count") {
  recorded session;
  fake::info info;
  link one(info);
  REQUIRE(fi_recv(&one.ep.object, nullptr, 0, nullptr, 0, &one) == 0);
  session.session().flush();
  one.complete();
  const fs::nic_row row = nic(session);
  CHECK(row.busy == 0);
  CHECK(row.received_ops == 1);
}

}  // namespace

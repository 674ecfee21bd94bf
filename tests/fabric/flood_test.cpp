// SPDX-License-Identifier: Apache-2.0
// The log of operations under a flood: two threads that do nothing but complete operations.
#include <doctest/doctest.h>
#include <stdlib.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <fabscope/fabric.hpp>
#include <fabscope/session.hpp>
#include <string>
#include <thread>

#include "fabric/fake_provider.hpp"

namespace {

namespace fs = fabscope;
namespace fabric = fabscope::fabric;

/// Sends and completes one operation after the other, with as little around them as possible.
void flood(fake::endpoint& ep, fake::queue& cq, int count) {
  for (int i = 0; i < count; ++i) {
    ep.calls.clear();
    if (fi_send(&ep.object, nullptr, static_cast<std::size_t>(64) << i % 4 * 2, nullptr, 0, &cq) !=
        0)
      return;
    fi_cq_tagged_entry entry{};
    entry.op_context = ep.calls.front().context;
    cq.entries.push_back(entry);
    if (fi_cq_read(&cq.object, &entry, 1) != 1 || entry.op_context != &cq) return;
  }
}

TEST_CASE("fabric.flood: every operation is in the log or counted as lost") {
#ifdef __SANITIZE_THREAD__  // a hundred times slower
  constexpr int each = 20000;
#else
  constexpr int each = 300000;
#endif
  char folder[] = "/tmp/fabscope_flood.XXXXXX";
  REQUIRE(::mkdtemp(folder) != nullptr);
  fs::options chosen = fs::options_from_environment();
  chosen.directory = folder;
  chosen.outputs = fs::output_csv;
  chosen.max_mb = 1024;
  chosen.run_level = fs::level::count;
  chosen.ops_raise_level = true;  // as a variable about the log does
  fs::session session(chosen);
  REQUIRE(session.status() == fs::errc::ok);
  fake::info info;
  fake::endpoint ep[2];
  fake::queue cq[2];
  for (int i = 0; i < 2; ++i) {
    fake::open(ep[i]);
    fake::open(cq[i]);
    REQUIRE(fabric::instrument(&cq[i].object, FI_CQ_FORMAT_TAGGED));
    REQUIRE(fabric::instrument(&ep[i].object, &info.object));
    REQUIRE(fi_ep_bind(&ep[i].object, &cq[i].object.fid, FI_TRANSMIT | FI_RECV) == 0);
  }
  const std::uint64_t before = fs::monotonic_ns();
  std::thread other([&] { flood(ep[1], cq[1], each); });
  flood(ep[0], cq[0], each);
  other.join();
  const std::uint64_t took = fs::monotonic_ns() - before;
  for (int i = 0; i < 2; ++i) {
    CHECK(fi_close(&ep[i].object.fid) == 0);
    CHECK(fi_close(&cq[i].object.fid) == 0);
  }
  session.finish();
  const fs::record_totals sum = session.totals();
  CHECK(sum.produced == 2 * each);
  CHECK(sum.produced == sum.written + sum.dropped + sum.overwritten + sum.filtered + sum.unread);
  CHECK(sum.dropped == 0);
  WARN(sum.overwritten == 0);  // unless the collector got no processor for tens of milliseconds
  MESSAGE(sum.produced << " operations, " << sum.overwritten << " lost, " << took / sum.produced
                       << " ns each");
  std::uint64_t rows = 0;
  const std::string command = std::string("cat ") + folder + "/*.ops.csv";
  std::FILE* all = ::popen(command.c_str(), "r");
  REQUIRE(all != nullptr);
  char line[512];
  while (std::fgets(line, sizeof line, all) != nullptr) rows += line[0] >= '0' && line[0] <= '9';
  ::pclose(all);
  CHECK(rows == sum.written);
  REQUIRE(std::system((std::string("rm -r ") + folder).c_str()) == 0);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// Gaps between polls switched off, entries per read, overruns.
#include <doctest/doctest.h>
#include <stdlib.h>

#include <cstdint>
#include <fabscope/fabric.hpp>

#include "fabric/fake_provider.hpp"
#include "fabric/fixture.hpp"

namespace {

namespace fs = fabscope;
namespace fabric = fabscope::fabric;
using fabric_test::recorded;

struct variable {
  const char* name;
  variable(const char* which, const char* value) : name(which) { ::setenv(which, value, 1); }
  ~variable() { ::unsetenv(name); }
};

/// A queue that is polled ten times for nothing, once for three entries, once for an overrun.
fs::cq_row polled() {
  recorded session;
  fake::queue cq;
  fake::open(cq);
  REQUIRE(fabric::instrument(&cq.object, FI_CQ_FORMAT_TAGGED));
  fi_cq_tagged_entry entries[4] = {};
  for (int i = 0; i < 10; ++i) CHECK(fi_cq_read(&cq.object, entries, 4) == -FI_EAGAIN);
  for (int i = 0; i < 3; ++i) cq.entries.push_back(fi_cq_tagged_entry{});
  CHECK(fi_cq_read(&cq.object, entries, 4) == 3);
  fi_cq_err_entry error{};
  error.err = FI_EOVERRUN;
  cq.errors.push_back(error);
  CHECK(fi_cq_readerr(&cq.object, &error, 0) == 1);
  const auto rows = session.rows<fs::cq_row>();
  CHECK(fi_close(&cq.object.fid) == 0);
  REQUIRE(rows.size() == 1);
  return rows[0];
}

std::uint64_t gaps_of(const fs::cq_row& row) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : row.gap) sum += count;
  return sum;
}

TEST_CASE("fabric.poll_gaps: FABSCOPE_CQ_GAPS=0 counts polls and no gaps") {
  const fs::cq_row with = polled();
  CHECK(gaps_of(with) == with.polls - 1);
  CHECK(with.gap[0] != 0);
  for (const char* name : {"FABSCOPE_CQ_GAPS", "INTERCEPT_TIMER_CQGAP"}) {
    CAPTURE(name);
    const variable off(name, "0");
    const fs::cq_row without = polled();
    CHECK(without.polls == with.polls);
    CHECK(without.entries == 3);
    CHECK(without.most == 3);
    CHECK(without.productive == 1);
    CHECK(without.errors == 1);
    CHECK(without.overruns == 1);
    CHECK(gaps_of(without) == 0);
    CHECK(without.longest == 0);
  }
}

TEST_CASE("fabric.poll_gaps: which values switch them off") {
  const auto wanted = [](const char* one, const char* other = "X=1") {
    const char* const entries[] = {one, other, nullptr};
    return fabric::detail::poll_gaps_wanted(fs::environment(entries));
  };
  CHECK(wanted("A=0"));
  CHECK(wanted("FABSCOPE_CQ_GAPS=1"));
  CHECK(wanted("FABSCOPE_CQ_GAPS="));
  CHECK(!wanted("FABSCOPE_CQ_GAPS= 0 "));
  CHECK(!wanted("INTERCEPT_TIMER_CQGAP=0"));
  CHECK(wanted("INTERCEPT_TIMER_CQGAP=off"));  // that tool looked for 0 only
  CHECK(wanted("INTERCEPT_TIMER_CQGAP=0", "FABSCOPE_CQ_GAPS=1"));
}

}  // namespace

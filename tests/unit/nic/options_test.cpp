// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic/options.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

using namespace fabscope;

namespace {
struct read_back {
  nic::sampler_options options;
  std::vector<std::string> lines;
  explicit read_back(std::vector<const char*> entries) {
    entries.push_back(nullptr);
    options = nic::sampler_options_from(
        environment(entries.data()),
        {[](void* self, const char* line) { static_cast<read_back*>(self)->lines.push_back(line); },
         this});
  }
};
}  // namespace

TEST_CASE("nic.options: what is not set") {
  const read_back none({});
  CHECK(none.options.on);
  CHECK(none.options.period_ms == 0);
  CHECK(none.options.max_mb == 256);
  CHECK(none.options.where.sys == "/sys");
  CHECK(none.lines.empty());
}

TEST_CASE("nic.options: the replaced tool's variables, and ours over them") {
  const read_back old({"INTERCEPT_TIMER_NIC_MS=20", "INTERCEPT_TIMER_NIC_DEV=cxi0,cxi2",
                       "INTERCEPT_TIMER_NIC_COUNTERS=rh:", "INTERCEPT_TIMER_NIC_MAX_MB=3"});
  CHECK(old.options.period_ms == 20);
  CHECK(old.options.devices == "cxi0,cxi2");
  CHECK(old.options.counters == "rh:");
  CHECK(old.options.max_mb == 3);
  CHECK(old.lines.empty());
  const read_back both({"INTERCEPT_TIMER_NIC_MS=20", "FABSCOPE_NIC_MS=7"});
  CHECK(both.options.period_ms == 7);
  CHECK_FALSE(read_back({"INTERCEPT_TIMER_NIC=0"}).options.on);
  CHECK(read_back({"INTERCEPT_TIMER_NIC=0", "FABSCOPE_NIC=1"}).options.on);
  CHECK_FALSE(read_back({"FABSCOPE_NIC=off"}).options.on);
}

TEST_CASE("nic.options: what is not allowed gives one line and changes nothing") {
  const read_back bad({"FABSCOPE_NIC=maybe", "FABSCOPE_NIC_MS=0", "FABSCOPE_NIC_MAX_MB=lots",
                       "FABSCOPE_RUN_ROOT=/nonexistent"});
  CHECK(bad.options.on);
  CHECK(bad.options.period_ms == 0);
  CHECK(bad.options.max_mb == 256);
  CHECK(bad.options.where.run == "/run");
  REQUIRE(bad.lines.size() == 4);
  CHECK(bad.lines[1] ==
        "fabscope: FABSCOPE_NIC_MS: '0' is not allowed; allowed: an integer from 1 to 3600000");
}

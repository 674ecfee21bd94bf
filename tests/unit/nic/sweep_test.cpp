// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic/sweep.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/fake_tree.hpp"

using namespace fabscope;

namespace {

constexpr std::uint64_t ms = 1'000'000;

struct opened {
  nic::sweep what;
  std::vector<std::uint64_t> values;
  std::vector<sample_state> states;

  explicit opened(const fake::tree& tree, const char* counters = "") {
    nic::counter_selection wanted(counters);
    what.add_devices(nic::find_devices(tree.roots()), wanted);
    values.resize(what.columns().size() + 1);
    states.resize(what.columns().size() + 1, sample_state::absent);
  }
  void read(std::uint64_t at_ns, bool slow = false) {
    what.read(at_ns, slow, values.data(), states.data());
  }
  std::size_t at(const std::string& name) const {
    for (std::size_t i = 0; i < what.columns().size(); ++i) {
      if (what.columns()[i].name == name) return i;
    }
    FAIL("no column " << name);
    return 0;
  }
};

}  // namespace

TEST_CASE("nic.sweep: cxi telemetry and retry handler, the latter with the slow thread") {
  fake::tree tree;
  const std::string telemetry = tree.cxi(0, "0000:41:00.0");
  tree.write(telemetry + "/hni_sts_tx_ok_octets", "00000000000000000077@1700000000.000000000\n");
  tree.write("run/cxi/cxi0/nacks", "-5\n");
  tree.write("run/cxi/cxi0/reset_counters", "0\n");
  tree.write("run/cxi/cxi0/config/x", "0\n");
  opened one(tree, "all");
  REQUIRE(one.what.columns().size() == 2);  // neither the binary nor the switch nor the folder
  CHECK(one.what.has_slow());
  one.read(1);
  CHECK(one.values[one.at("hni_sts_tx_ok_octets")] == 77);
  CHECK(one.states[one.at("rh:nacks")] == sample_state::absent);
  one.read(1, true);
  CHECK(one.states[one.at("rh:nacks")] == sample_state::good);
  CHECK(one.values[one.at("rh:nacks")] == 4294967291U);
}

TEST_CASE("nic.sweep: InfiniBand data in bytes, counters of the port every 10 ms, lifespan") {
  fake::tree tree;
  const std::string port = tree.infiniband("ibp65s0", "0000:43:00.0", "mlx5_core");
  tree.counter(port + "/counters/port_xmit_data", 1000);
  tree.counter(port + "/hw_counters/out_of_sequence", 3);
  tree.counter(port + "/hw_counters/lifespan", 25);
  opened one(tree);
  REQUIRE(one.what.columns().size() == 2);
  const nic::counter_column& data = one.what.columns()[one.at("port_xmit_data")];
  CHECK(data.scale == 4);
  CHECK(data.device == "ibp65s0");
  CHECK(one.what.columns()[one.at("out_of_sequence")].format.refresh_ns == 25 * ms);
  one.read(100 * ms);
  CHECK(one.values[one.at("port_xmit_data")] == 1000);
  one.read(101 * ms);
  CHECK(one.states[one.at("port_xmit_data")] == sample_state::absent);
  CHECK(one.states[one.at("out_of_sequence")] == sample_state::good);
  one.read(110 * ms);
  CHECK(one.states[one.at("port_xmit_data")] == sample_state::good);
}

TEST_CASE("nic.sweep: a container without counters has no column") {
  fake::tree tree;
  tree.infiniband("mlx5_0", "0000:43:00.0", "mlx5_core");
  const opened one(tree);
  CHECK(one.what.columns().empty());
}

TEST_CASE("nic.sweep: a device that goes is missing, and is opened again with growing pauses") {
  fake::tree tree;
  const std::string statistics = tree.interface("eth9");
  tree.counter(statistics + "/tx_bytes", 10);
  opened one(tree);
  const std::size_t tx = one.at("tx_bytes");
  std::uint64_t now = 10'000 * ms;
  one.read(now);
  CHECK(one.values[tx] == 10);
  tree.remove(statistics);
  now += 2000 * ms;
  one.read(now);  // the files have no name any more
  CHECK(one.states[tx] == sample_state::missing);
  CHECK(one.what.state(0).gone == 1);
  CHECK(one.what.state(0).gone_at_ns == now);
  // It is back at once, and looked for only after the pause.
  tree.interface("eth9");
  tree.counter(statistics + "/tx_bytes", 20);
  now += 50 * ms;
  one.read(now);
  CHECK(one.states[tx] == sample_state::missing);
  now += 100 * ms;
  one.read(now);
  CHECK(one.states[tx] == sample_state::good);
  CHECK(one.values[tx] == 20);
  CHECK(one.what.state(0).back == 1);
  CHECK(one.what.state(0).back_at_ns == now);
  CHECK(one.what.state(0).gone == 1);
}

TEST_CASE("nic.sweep: pauses between attempts double up to half a minute") {
  fake::tree tree;
  const std::string statistics = tree.interface("eth9");
  opened one(tree);
  tree.remove(statistics);
  std::uint64_t now = 10'000 * ms;
  one.read(now);
  now += 2000 * ms;
  std::vector<std::uint64_t> attempts;
  for (int i = 0; i < 200'000; ++i, now += ms) {
    // An attempt that succeeds tells when it was made: the device is there for one read.
    if (i % 50'000 == 49'999) {
      tree.interface("eth9");
      const std::uint64_t since = now;
      do {
        now += ms;
        one.read(now);
      } while (one.states[0] != sample_state::good);
      attempts.push_back(now - since);
      tree.remove(statistics);
      now += 2000 * ms;
    }
    one.read(now);
  }
  for (const std::uint64_t wait : attempts) CHECK(wait <= 30'001 * ms);
  REQUIRE(attempts.size() == 4);
  CHECK(one.what.state(0).back == 4);
}

TEST_CASE("nic.sweep: a device of another process is absent") {
  fake::tree tree;
  tree.interface("eth9");
  opened one(tree);
  one.what.enable(0, false);
  one.read(1);
  CHECK(one.states[0] == sample_state::absent);
  one.what.enable(0, true);
  one.read(2);
  CHECK(one.states[0] == sample_state::good);
}

namespace {
/// A counter that the test makes up.
struct made_up {
  std::vector<nic::counter_column> all = std::vector<nic::counter_column>(1);
  made_up() {
    all[0].device = "sim";
    all[0].name = "beats";
  }
  [[nodiscard]] std::span<const nic::counter_column> columns() const noexcept { return all; }
  bool open() noexcept { return true; }
  bool read(std::uint64_t* values, sample_state* states) noexcept {
    *values = 42;
    *states = sample_state::good;
    return true;
  }
  void close() noexcept {}
};
}  // namespace

TEST_CASE("nic.sweep: a source of one's own") {
  nic::sweep what;
  what.add_source(made_up{});
  REQUIRE(what.columns().size() == 1);
  fake::tree tree;
  tree.interface("eth9");
  opened one(tree);
  one.what.add_source(made_up{});
  one.values.resize(64);
  one.states.resize(64);
  one.read(1);
  CHECK(one.values[one.at("beats")] == 42);
}

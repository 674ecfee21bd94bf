// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic/selection.hpp>

#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "../../support/fake_tree.hpp"

using namespace fabscope;
using nic::device_wishes;
using nic::nic_device;

namespace {

struct lines {
  std::vector<std::string> said;
  diagnostics user() {
    return {[](void* self, const char* line) { static_cast<lines*>(self)->said.push_back(line); },
            this};
  }
};

std::string titles(const std::vector<nic_device>& all) {
  std::string out;
  for (const nic_device& one : all) out += (out.empty() ? "" : " ") + one.title();
  return out;
}

/// Two cxi, one InfiniBand with its interface on the same function, lo.
struct machine {
  fake::tree tree;
  machine() {
    tree.counter(tree.cxi(0, "0000:41:00.0", 0) + "/hni_sts_tx_ok_octets", 1);
    tree.counter(tree.cxi(1, "0000:42:00.0", 1) + "/hni_sts_tx_ok_octets", 1);
    tree.infiniband("mlx5_0", "0000:43:00.0", "mlx5_core", 1);
    tree.interface("lo");
    tree.interface("ibs0");
    tree.link("sys/class/net/ibs0/device", "../../../devices/pci0000:40/0000:40:01.0/0000:43:00.0");
  }
  std::vector<nic_device> all() const { return nic::find_devices(tree.roots()); }
  std::string chosen(const device_wishes& wishes, lines& out) const {
    return titles(nic::select_devices(all(), wishes, out.user()));
  }
  std::string chosen(const device_wishes& wishes) const {
    lines out;
    const std::string text = chosen(wishes, out);
    CHECK(out.said.empty());
    return text;
  }
};

}  // namespace

TEST_CASE("nic.devices: class, driver, bus and speed as the files say") {
  const machine here;
  const auto all = here.all();
  REQUIRE(titles(all) == "cxi0 cxi1 mlx5_0 ibs0 lo");
  CHECK(all[1].driver == "cxi_ss1");
  CHECK(all[1].pci == "0000:42:00.0");
  CHECK(all[1].numa == 1);
  CHECK(all[1].speed_mbps == 200000);
  CHECK(all[2].driver == "mlx5_core");
  CHECK(all[2].speed_mbps == 400000);
  CHECK(all[3].pci == "0000:43:00.0");
  CHECK(all[4].pci.empty());
  CHECK(all[4].is_loopback());
}

TEST_CASE("nic.selection: devices by name, pattern, class, bus; in the order that they are named") {
  const machine here;
  const auto named = [&](const char* text) {
    device_wishes wishes;
    wishes.named = nic::split_list(text);
    return here.chosen(wishes);
  };
  CHECK(named("cxi1,cxi0") == "cxi1 cxi0");
  CHECK(named("cxi*") == "cxi0 cxi1");
  CHECK(named("mlx5_0:1") == "mlx5_0");
  CHECK(named("net:lo") == "lo");
  CHECK(named("0000:42:00.0") == "cxi1");
  CHECK(named("all") == "cxi0 cxi1 mlx5_0");
}

TEST_CASE("nic.selection: an unknown device is named once, and if none is known all are sampled") {
  const machine here;
  device_wishes wishes;
  lines out;
  wishes.named = {"cxi9", "cxi1"};
  CHECK(here.chosen(wishes, out) == "cxi1");
  REQUIRE(out.said.size() == 1);
  CHECK(out.said[0] == "fabscope: FABSCOPE_NIC_DEVICES: there is no NIC 'cxi9' on this machine");
  wishes.named = {"cxi9"};
  CHECK(here.chosen(wishes, out) == "cxi0 cxi1 mlx5_0");
  CHECK(out.said.size() == 2);
}

TEST_CASE("nic.selection: what the application opened, else what is near, else all") {
  const machine here;
  device_wishes wishes;
  CHECK(here.chosen(wishes) == "cxi0 cxi1 mlx5_0");
  wishes.numa = 1;
  CHECK(here.chosen(wishes) == "cxi1 mlx5_0");
  wishes.opened = {{"lo", ""}};
  CHECK(here.chosen(wishes) == "lo");
  wishes.opened = {{"", "0000:43:00.0"}};
  CHECK(here.chosen(wishes) == "mlx5_0");  // and not the interface on the same function
  wishes.opened = {{"nobody knows it", ""}};
  CHECK(here.chosen(wishes) == "cxi1 mlx5_0");
}

TEST_CASE("nic.selection: a machine without NICs samples its interfaces") {
  fake::tree tree;
  tree.interface("lo");
  lines out;
  CHECK(titles(nic::select_devices(nic::find_devices(tree.roots()), {}, out.user())) == "lo");
}

TEST_CASE("nic.selection: lists, and names with commas") {
  CHECK(nic::split_list(" a , b,,\"c,32\" ") == std::vector<std::string>{"a", "b", "c,32"});
  CHECK(nic::split_list("").empty());
}

TEST_CASE("nic.selection: counters by name, prefix, group, rh:, all") {
  nic_device device;
  device.device_class = "cxi";
  const std::vector<std::string> registers = {"atu_cache_miss", "hni_llr_x", "hni_sts_rx_ok_octets",
                                              "hni_sts_tx_ok_octets", "pct_spt_timeouts"};
  const std::vector<std::string> handler = {"nacks", "spt_timeouts"};
  const auto picked = [&](const char* text) {
    nic::counter_selection wanted(text);
    std::string out;
    for (const auto& one : wanted.pick(device, "", registers)) out += one + " ";
    for (const auto& one : wanted.pick(device, "rh:", handler)) out += "rh:" + one + " ";
    return out;
  };
  CHECK(picked("hni_sts_tx_ok_octets,atu_cache_miss") == "hni_sts_tx_ok_octets atu_cache_miss ");
  CHECK(picked("hni_*") == "hni_llr_x hni_sts_rx_ok_octets hni_sts_tx_ok_octets ");
  CHECK(picked("rh:") == "rh:nacks rh:spt_timeouts ");
  CHECK(picked("rh:nacks") == "rh:nacks ");
  CHECK(picked("cxitranslationunit") == "atu_cache_miss ");
  CHECK(picked("CxiLinkReliability") == "hni_llr_x ");
  CHECK(picked("all") ==
        "atu_cache_miss hni_llr_x hni_sts_rx_ok_octets hni_sts_tx_ok_octets pct_spt_timeouts "
        "rh:nacks rh:spt_timeouts ");
  CHECK(picked("") == "hni_sts_tx_ok_octets hni_sts_rx_ok_octets pct_spt_timeouts rh:nacks ");
}

TEST_CASE("nic.selection: a counter that no device has is named") {
  nic::counter_selection wanted("a,b,c*");
  nic_device device;
  (void)wanted.pick(device, "", {"a"});
  lines out;
  wanted.complain(out.user());
  REQUIRE(out.said.size() == 1);
  CHECK(out.said[0] == "fabscope: FABSCOPE_NIC_COUNTERS: no NIC that is sampled has a counter 'b'");
}

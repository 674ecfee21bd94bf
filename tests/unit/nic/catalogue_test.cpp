// SPDX-License-Identifier: Apache-2.0
#include <fabscope/nic/catalogue.hpp>

#include <set>

#include <doctest/doctest.h>

using namespace fabscope;

namespace {
nic::counter_column known(nic::family where, const char* name, const char* driver = "") {
  nic::nic_device device;
  device.driver = driver;
  device.speed_mbps = 200000;
  nic::counter_column out;
  nic::describe_counter(out, where, name, device);
  return out;
}
}  // namespace

TEST_CASE("nic.catalogue: unset on cxi are the replaced tool's 89 registers and 8 of the handler") {
  nic::nic_device device;
  device.device_class = "cxi";
  const auto all = nic::usual_patterns(device);
  const std::set<std::string> unique(all.begin(), all.end());
  CHECK(unique.size() == all.size());
  std::size_t handler = 0;
  for (const std::string& one : all) handler += one.compare(0, 3, "rh:") == 0 ? 1U : 0U;
  CHECK(handler == 8);
  CHECK(all.size() - handler == 89);
  for (const char* one : {"hni_pkts_sent_by_tc_7", "ixe_pool_no_ecn_pkts_3", "hni_discard_cntr_0",
                          "pct_prf_srb_status_max_srb_in_use", "rh:pkts_cancelled_u"}) {
    CHECK(unique.count(one) == 1);
  }
}

TEST_CASE("nic.catalogue: kinds, widths and units") {
  using nic::family;
  const auto octets = known(family::telemetry, "hni_sts_tx_ok_octets");
  CHECK(octets.format.bits == 56);
  CHECK(octets.unit == "B");
  CHECK(octets.role == nic_role::tx_bytes);
  CHECK(octets.format.most_per_second == 100'000'000'000U);  // four times 200 Gb/s
  CHECK(known(family::telemetry, "pct_prf_spt_status_spt_in_use").format.kind ==
        metric_kind::gauge);
  CHECK(known(family::telemetry, "pct_prf_spt_status_max_spt_in_use").format.kind ==
        metric_kind::watermark);
  CHECK(known(family::telemetry, "some_new_register").format.kind == metric_kind::counter);
  const auto nacks = known(family::retry_handler, "nacks");
  CHECK(nacks.format.bits == 32);
  CHECK((nacks.flags & nic_twin) != 0);
  CHECK(known(family::retry_handler, "parked_nids").format.kind == metric_kind::gauge);
  const auto words = known(family::port, "port_xmit_data", "mlx5_core");
  CHECK(words.scale == 4);
  CHECK(words.unit == "B");
  CHECK(known(family::port, "port_xmit_data", "hfi1").scale == 8);
  const auto downed = known(family::port, "link_downed");
  CHECK(downed.format.bits == 8);
  CHECK(downed.format.saturates);
  CHECK(known(family::hardware, "out_of_sequence", "mlx5_core").format.bits == 32);
  CHECK(known(family::hardware, "rp_cnp_handled", "mlx5_core").format.bits == 64);
  CHECK(known(family::hardware, "tx_bytes", "bnxt_en").format.refresh_ns == 1'000'000'000U);
  CHECK(known(family::hardware, "active_qps", "bnxt_en").format.kind == metric_kind::gauge);
  CHECK(known(family::hardware, "SwLinkUp,32", "hfi1").format.bits == 32);
  CHECK(known(family::netdev, "rx_dropped").role == nic_role::drop);
}

TEST_CASE("nic.catalogue: a counter keeps what its width means over a wrap, a reset and the end") {
  using nic::family;
  counter_rate octets(known(family::telemetry, "hni_sts_tx_ok_octets").format);
  octets.add(1'000'000'000, (std::uint64_t{1} << 56) - 1000);
  const counter_step wrapped = octets.add(2'000'000'000, 500);
  CHECK(wrapped.change == counter_change::wrapped);
  CHECK(wrapped.difference == 1500);
  CHECK(octets.add(3'000'000'000, 5).change == counter_change::reset);  // 2^56 in a second
  counter_rate downed(known(family::port, "link_downed").format);
  downed.add(1'000'000'000, 254);
  CHECK(downed.add(2'000'000'000, 255).change == counter_change::saturated);
  CHECK(downed.add(3'000'000'000, 0).change == counter_change::reset);
}

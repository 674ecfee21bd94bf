// SPDX-License-Identifier: Apache-2.0
// What is known of counters by their names: unit, width, kind, defaults and groups. Layer: nic.
//
// Sources: the public register descriptions of Cassini, the InfiniBand specification's attributes
// of ports, and the drivers in the Linux kernel. docs/nic.md says which.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <fabscope/nic/concepts.hpp>
#include <fabscope/nic/devices.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nic {

/// Where a counter is read.
enum class family : std::uint8_t { telemetry, retry_handler, port, hardware, netdev, ethtool };

namespace detail {

struct known_counter {
  family where;
  const char* driver;  ///< null: any
  const char* pattern;
  metric_kind kind;
  std::uint8_t bits;
  const char* unit;
  std::uint8_t scale;
  nic_role role;
  std::uint8_t flags;
  std::uint16_t refresh_ms;
};

inline constexpr std::uint8_t bad = nic_should_be_zero;
inline constexpr metric_kind counts = metric_kind::counter;

/// The first that matches is it.
inline constexpr known_counter known_counters[] = {
    // Cassini: high-water marks and levels have no convention of names; this is their list.
    {family::telemetry, nullptr, "*_max_*", metric_kind::watermark, 56, "", 1, nic_role::other, 0,
     0},
    {family::telemetry, nullptr, "max_*", metric_kind::watermark, 56, "", 1, nic_role::other, 0, 0},
    {family::telemetry, nullptr, "*_in_use", metric_kind::gauge, 56, "", 1, nic_role::other, 0, 0},
    {family::telemetry, nullptr, "cq_sts_*", metric_kind::gauge, 56, "", 1, nic_role::other, 0, 0},
    {family::telemetry, nullptr, "ee_sts_ecbs_*", metric_kind::gauge, 56, "", 1, nic_role::other, 0,
     0},
    {family::telemetry, nullptr, "lpe_cfg_pe_le_shared_*", metric_kind::gauge, 56, "", 1,
     nic_role::other, 0, 0},
    {family::telemetry, nullptr, "lpe_sts_*", metric_kind::gauge, 56, "", 1, nic_role::other, 0, 0},
    {family::telemetry, nullptr, "oxe_sts_*", metric_kind::gauge, 56, "", 1, nic_role::other, 0, 0},
    {family::telemetry, nullptr, "*event_cnts_ovf_cnt", counts, 16, "", 1, nic_role::other, 0, 0},
    {family::telemetry, nullptr, "hni_sts_tx_ok_octets", counts, 56, "B", 1, nic_role::tx_bytes, 0,
     0},
    {family::telemetry, nullptr, "hni_sts_rx_ok_octets", counts, 56, "B", 1, nic_role::rx_bytes, 0,
     0},
    {family::telemetry, nullptr, "hni_pkts_sent_by_tc_*", counts, 56, "packets", 1,
     nic_role::tx_packets, 0, 0},
    {family::telemetry, nullptr, "hni_pkts_recv_by_tc_*", counts, 56, "packets", 1,
     nic_role::rx_packets, 0, 0},
    {family::telemetry, nullptr, "hni_rx_paused_*", counts, 56, "ns", 1, nic_role::pause, 0, 0},
    {family::telemetry, nullptr, "hni_tx_paused_*", counts, 56, "ns", 1, nic_role::pause, 0, 0},
    {family::telemetry, nullptr, "hni_pause_*", counts, 56, "frames", 1, nic_role::pause, 0, 0},
    {family::telemetry, nullptr, "hni_fgfc_event_*", counts, 56, "events", 1, nic_role::pause, 0,
     0},
    {family::telemetry, nullptr, "hni_fgfc_discard", counts, 56, "packets", 1, nic_role::drop, bad,
     0},
    {family::telemetry, nullptr, "hni_discard_cntr_*", counts, 56, "packets", 1, nic_role::drop,
     bad, 0},
    {family::telemetry, nullptr, "hni_pcs_uncorrected_cw", counts, 56, "codewords", 1,
     nic_role::error, bad, 0},
    {family::telemetry, nullptr, "hni_pcs_*_cw", counts, 56, "codewords", 1, nic_role::other, 0, 0},
    {family::telemetry, nullptr, "hni_llr_*", counts, 56, "events", 1, nic_role::retry, bad, 0},
    {family::telemetry, nullptr, "ixe_pool_ecn_pkts_*", counts, 56, "packets", 1, nic_role::ecn, 0,
     0},
    {family::telemetry, nullptr, "ixe_pool_no_ecn_pkts_*", counts, 56, "packets", 1,
     nic_role::other, 0, 0},
    {family::telemetry, nullptr, "ixe_rx_pkt_drop_*", counts, 56, "packets", 1, nic_role::drop, bad,
     0},
    {family::telemetry, nullptr, "pct_*timeout*", counts, 56, "events", 1, nic_role::timeout, bad,
     0},
    {family::telemetry, nullptr, "pct_*tmout*", counts, 56, "events", 1, nic_role::timeout, bad, 0},
    {family::telemetry, nullptr, "pct_*drop*", counts, 56, "packets", 1, nic_role::drop, bad, 0},
    {family::telemetry, nullptr, "pct_*nacks", counts, 56, "packets", 1, nic_role::retry, bad, 0},
    {family::telemetry, nullptr, "pct_retry_*", counts, 56, "packets", 1, nic_role::retry, bad, 0},
    {family::telemetry, nullptr, "pct_resource_busy", counts, 56, "packets", 1, nic_role::retry,
     bad, 0},
    {family::telemetry, nullptr, "pct_no_matching_tct", counts, 56, "packets", 1, nic_role::error,
     bad, 0},
    {family::telemetry, nullptr, "pct_err_*", counts, 56, "packets", 1, nic_role::error, bad, 0},
    {family::telemetry, nullptr, "pct_req_blocked_*", counts, 56, "events", 1, nic_role::retry, 0,
     0},
    {family::telemetry, nullptr, "pct_req_no_response", counts, 56, "packets", 1, nic_role::timeout,
     bad, 0},
    {family::telemetry, nullptr, "pct_sct_stall_state", counts, 56, "events", 1, nic_role::retry, 0,
     0},
    {family::telemetry, nullptr, "cq_cq_*_num_flits", counts, 56, "flits", 1, nic_role::other, 0,
     0},
    {family::telemetry, nullptr, "*_blocked_cnt", counts, 56, "cycles", 1, nic_role::pause, 0, 0},
    {family::telemetry, nullptr, "*_pkts", counts, 56, "packets", 1, nic_role::other, 0, 0},
    {family::telemetry, nullptr, "*", counts, 56, "", 1, nic_role::other, 0, 0},
    // Retry handler: 32 bits, printed with a sign. Timeouts and NACKs are counted by pct_* as well.
    {family::retry_handler, nullptr, "nid_value", metric_kind::gauge, 32, "", 1, nic_role::other, 0,
     1000},
    {family::retry_handler, nullptr, "max_*", metric_kind::watermark, 32, "", 1, nic_role::other, 0,
     1000},
    {family::retry_handler, nullptr, "nid_tree_count", metric_kind::gauge, 32, "", 1,
     nic_role::other, 0, 1000},
    {family::retry_handler, nullptr, "switch_tree_count", metric_kind::gauge, 32, "", 1,
     nic_role::other, 0, 1000},
    {family::retry_handler, nullptr, "parked_*", metric_kind::gauge, 32, "", 1, nic_role::other,
     bad, 1000},
    {family::retry_handler, nullptr, "*_in_use", metric_kind::gauge, 32, "", 1, nic_role::other, 0,
     1000},
    {family::retry_handler, nullptr, "*timeouts*", counts, 32, "events", 1, nic_role::timeout,
     bad | nic_twin, 1000},
    {family::retry_handler, nullptr, "nack*", counts, 32, "packets", 1, nic_role::retry,
     bad | nic_twin, 1000},
    {family::retry_handler, nullptr, "*cancel*", counts, 32, "events", 1, nic_role::error, bad,
     1000},
    {family::retry_handler, nullptr, "*", counts, 32, "events", 1, nic_role::other, 0, 1000},
    // Ports, as the InfiniBand specification has them: narrow ones stick at their largest value.
    // Data are words of four bytes; hfi1 puts its own flits of eight bytes there.
    {family::port, "hfi1", "port_xmit_data", counts, 64, "B", 8, nic_role::tx_bytes, 0, 0},
    {family::port, "hfi1", "port_rcv_data", counts, 64, "B", 8, nic_role::rx_bytes, 0, 0},
    {family::port, nullptr, "port_xmit_data", counts, 64, "B", 4, nic_role::tx_bytes, 0, 0},
    {family::port, nullptr, "port_rcv_data", counts, 64, "B", 4, nic_role::rx_bytes, 0, 0},
    {family::port, nullptr, "port_xmit_packets", counts, 64, "packets", 1, nic_role::tx_packets, 0,
     0},
    {family::port, nullptr, "port_rcv_packets", counts, 64, "packets", 1, nic_role::rx_packets, 0,
     0},
    {family::port, nullptr, "*cast_*_packets", counts, 64, "packets", 1, nic_role::other, nic_twin,
     0},
    {family::port, nullptr, "port_xmit_wait", counts, 32, "ticks", 1, nic_role::pause,
     nic_saturates, 0},
    {family::port, nullptr, "symbol_error", counts, 16, "events", 1, nic_role::error,
     bad | nic_saturates, 0},
    {family::port, nullptr, "link_error_recovery", counts, 8, "events", 1, nic_role::error,
     bad | nic_saturates, 0},
    {family::port, nullptr, "link_downed", counts, 8, "events", 1, nic_role::error,
     bad | nic_saturates, 0},
    {family::port, nullptr, "port_xmit_discards", counts, 16, "packets", 1, nic_role::drop,
     bad | nic_saturates, 0},
    {family::port, nullptr, "*_constraint_errors", counts, 8, "packets", 1, nic_role::error,
     bad | nic_saturates, 0},
    {family::port, nullptr, "port_rcv_*errors", counts, 16, "packets", 1, nic_role::error,
     bad | nic_saturates, 0},
    {family::port, nullptr, "local_link_integrity_errors", counts, 4, "events", 1, nic_role::error,
     bad | nic_saturates, 0},
    {family::port, nullptr, "excessive_buffer_overrun_errors", counts, 4, "events", 1,
     nic_role::error, bad | nic_saturates, 0},
    {family::port, nullptr, "VL15_dropped", counts, 16, "packets", 1, nic_role::drop, nic_saturates,
     0},
    {family::port, nullptr, "*", counts, 64, "", 1, nic_role::other, 0, 0},
    // hw_counters: kept for 10 ms by the kernel unless `lifespan` says otherwise.
    {family::hardware, "hfi1", "*,32", counts, 32, "events", 1, nic_role::other, 0, 10},
    {family::hardware, "hfi1", "*", counts, 64, "events", 1, nic_role::other, 0, 10},
    {family::hardware, "mlx5_core", "rp_cnp_*", counts, 64, "packets", 1, nic_role::ecn, 0, 10},
    {family::hardware, "mlx5_core", "np_*", counts, 64, "packets", 1, nic_role::ecn, 0, 10},
    {family::hardware, "mlx5_core", "rx_icrc_encapsulated", counts, 64, "packets", 1,
     nic_role::error, bad, 10},
    {family::hardware, "mlx5_core", "*local_ack_timeout_err", counts, 32, "events", 1,
     nic_role::timeout, bad, 10},
    {family::hardware, "mlx5_core", "*rnr_nak_retry_err", counts, 32, "events", 1, nic_role::retry,
     bad, 10},
    {family::hardware, "mlx5_core", "*seq_err", counts, 32, "events", 1, nic_role::retry, bad, 10},
    {family::hardware, "mlx5_core", "*out_of_*", counts, 32, "packets", 1, nic_role::drop, bad, 10},
    {family::hardware, "mlx5_core", "*duplicate_request", counts, 32, "packets", 1, nic_role::retry,
     bad, 10},
    {family::hardware, "mlx5_core", "*err*", counts, 32, "events", 1, nic_role::error, bad, 10},
    {family::hardware, "mlx5_core", "*", counts, 32, "", 1, nic_role::other, 0, 10},
    {family::hardware, "bnxt_en", "active_*", metric_kind::gauge, 64, "", 1, nic_role::other, 0,
     10},
    {family::hardware, "bnxt_en", "watermark_*", metric_kind::watermark, 64, "", 1, nic_role::other,
     0, 10},
    {family::hardware, "bnxt_en", "db_fifo_register", metric_kind::gauge, 64, "", 1,
     nic_role::other, 0, 10},
    {family::hardware, "bnxt_en", "tx_bytes", counts, 64, "B", 1, nic_role::tx_bytes, 0, 1000},
    {family::hardware, "bnxt_en", "rx_bytes", counts, 64, "B", 1, nic_role::rx_bytes, 0, 1000},
    {family::hardware, "bnxt_en", "tx_pkts", counts, 64, "packets", 1, nic_role::tx_packets, 0,
     1000},
    {family::hardware, "bnxt_en", "rx_pkts", counts, 64, "packets", 1, nic_role::rx_packets, 0,
     1000},
    {family::hardware, "efa", "tx_bytes", counts, 64, "B", 1, nic_role::tx_bytes, 0, 10},
    {family::hardware, "efa", "rx_bytes", counts, 64, "B", 1, nic_role::rx_bytes, 0, 10},
    {family::hardware, "efa", "tx_pkts", counts, 64, "packets", 1, nic_role::tx_packets, 0, 10},
    {family::hardware, "efa", "rx_pkts", counts, 64, "packets", 1, nic_role::rx_packets, 0, 10},
    {family::hardware, "ionic", "tx_rdma_ucast_bytes", counts, 64, "B", 1, nic_role::tx_bytes, 0,
     10},
    {family::hardware, "ionic", "rx_rdma_ucast_bytes", counts, 64, "B", 1, nic_role::rx_bytes, 0,
     10},
    {family::hardware, nullptr, "*Octets", counts, 64, "B", 1, nic_role::other, 0, 10},
    {family::hardware, nullptr, "*_bytes*", counts, 64, "B", 1, nic_role::other, 0, 10},
    {family::hardware, nullptr, "*timeout*", counts, 64, "events", 1, nic_role::timeout, bad, 10},
    {family::hardware, nullptr, "*retx*", counts, 64, "packets", 1, nic_role::retry, bad, 10},
    {family::hardware, nullptr, "*etrans*", counts, 64, "packets", 1, nic_role::retry, bad, 10},
    {family::hardware, nullptr, "*nak*", counts, 64, "packets", 1, nic_role::retry, bad, 10},
    {family::hardware, nullptr, "*drop*", counts, 64, "packets", 1, nic_role::drop, bad, 10},
    {family::hardware, nullptr, "*iscard*", counts, 64, "packets", 1, nic_role::drop, bad, 10},
    {family::hardware, nullptr, "*out_of_buffer*", counts, 64, "packets", 1, nic_role::drop, bad,
     10},
    {family::hardware, nullptr, "*cnp*", counts, 64, "packets", 1, nic_role::ecn, 0, 10},
    {family::hardware, nullptr, "*ecn*", counts, 64, "packets", 1, nic_role::ecn, 0, 10},
    {family::hardware, nullptr, "*ECN*", counts, 64, "packets", 1, nic_role::ecn, 0, 10},
    {family::hardware, nullptr, "*err*", counts, 64, "events", 1, nic_role::error, bad, 10},
    {family::hardware, nullptr, "*", counts, 64, "", 1, nic_role::other, 0, 10},
    // Interfaces.
    {family::netdev, nullptr, "tx_bytes", counts, 64, "B", 1, nic_role::tx_bytes, 0, 0},
    {family::netdev, nullptr, "rx_bytes", counts, 64, "B", 1, nic_role::rx_bytes, 0, 0},
    {family::netdev, nullptr, "tx_packets", counts, 64, "packets", 1, nic_role::tx_packets, 0, 0},
    {family::netdev, nullptr, "rx_packets", counts, 64, "packets", 1, nic_role::rx_packets, 0, 0},
    {family::netdev, nullptr, "*_dropped", counts, 64, "packets", 1, nic_role::drop, bad, 0},
    {family::netdev, nullptr, "rx_missed_errors", counts, 64, "packets", 1, nic_role::drop, bad, 0},
    {family::netdev, nullptr, "*errors", counts, 64, "packets", 1, nic_role::error, bad, 0},
    {family::netdev, nullptr, "*", counts, 64, "packets", 1, nic_role::other, 0, 0},
    {family::ethtool, nullptr, "*_bytes*", counts, 64, "B", 1, nic_role::other, nic_twin, 0},
    {family::ethtool, nullptr, "*pause*", counts, 64, "frames", 1, nic_role::pause, 0, 0},
    {family::ethtool, nullptr, "*ecn*", counts, 64, "packets", 1, nic_role::ecn, 0, 0},
    {family::ethtool, nullptr, "*cnp*", counts, 64, "packets", 1, nic_role::ecn, 0, 0},
    {family::ethtool, nullptr, "*discard*", counts, 64, "packets", 1, nic_role::drop,
     bad | nic_twin, 0},
    {family::ethtool, nullptr, "*drop*", counts, 64, "packets", 1, nic_role::drop, bad | nic_twin,
     0},
    {family::ethtool, nullptr, "*err*", counts, 64, "events", 1, nic_role::error, bad | nic_twin,
     0},
    {family::ethtool, nullptr, "*", counts, 64, "", 1, nic_role::other, nic_twin, 0},
};

/// "a[0-7]" becomes a0 to a7.
inline void expand(std::string_view text, std::vector<std::string>& out) {
  const std::size_t open = text.find('[');
  if (open == text.npos) {
    out.emplace_back(text);
    return;
  }
  for (char digit = text[open + 1]; digit <= text[open + 3]; ++digit) {
    out.push_back(std::string(text.substr(0, open)) + digit + std::string(text.substr(open + 5)));
  }
}

struct group {
  const char* name;
  const char* members;  ///< patterns, separated by blanks
};

// What the replaced tool samples: 89 registers, and eight counters of the retry handler that have
// no twin among the registers.
inline constexpr const char* cxi_usual =
    "hni_sts_tx_ok_octets hni_sts_rx_ok_octets cq_cq_oxe_num_flits cq_cq_tou_num_flits "
    "hni_pkts_sent_by_tc_[0-7] hni_pkts_recv_by_tc_[0-7] hni_pause_sent hni_pause_refresh "
    "hni_fgfc_event_xoff hni_fgfc_event_xon hni_fgfc_discard ixe_pool_ecn_pkts_[0-3] "
    "ixe_pool_no_ecn_pkts_[0-3] hni_llr_tx_replay_event hni_llr_rx_replay_event "
    "hni_llr_tx_nack_ctl_os hni_llr_rx_nack_ctl_os hni_llr_rx_ack_nack_seq_err pct_spt_timeouts "
    "pct_sct_timeouts pct_tct_timeouts pct_rsp_dropped_timeout pct_bad_seq_nacks pct_no_mst_nacks "
    "pct_no_tct_nacks pct_no_trs_nacks pct_resource_busy pct_trs_rsp_nack_drops "
    "pct_trs_replay_pend_drops pct_req_blocked_retry pct_req_no_response pct_req_blocked_clearing "
    "pct_req_blocked_closing pct_retry_srb_requests pct_retry_mst_get pct_retry_trs_put "
    "pct_sct_stall_state pct_conn_sct_open pct_conn_tct_open pct_close_sent pct_clear_sent "
    "pct_clear_close_drop pct_no_matching_tct pct_err_no_matching_trs pct_err_no_matching_mst "
    "pct_req_tct_tmout_drops pct_prf_spt_status_spt_in_use pct_prf_spt_status_max_spt_in_use "
    "pct_prf_mst_status_mst_in_use pct_prf_mst_status_max_mst_in_use pct_prf_sct_status_sct_in_use "
    "pct_prf_sct_status_max_sct_in_use pct_prf_trs_status_trs_in_use "
    "pct_prf_trs_status_max_trs_in_use pct_prf_tct_status_tct_in_use "
    "pct_prf_tct_status_max_tct_in_use pct_prf_smt_status_smt_in_use "
    "pct_prf_smt_status_max_smt_in_use pct_prf_srb_status_srb_in_use "
    "pct_prf_srb_status_max_srb_in_use ixe_rx_pkt_drop_pct hni_discard_cntr_[0-7]";
inline constexpr const char* rh_usual =
    "rh:parked_nids rh:max_parked_nids rh:parked_switches rh:max_parked_switches "
    "rh:connections_cancelled rh:pkts_cancelled_o rh:pkts_cancelled_u rh:nacks";

/// Names of groups as HPE's tools know them; upper and lower case are the same. Which registers
/// belong to a group is a choice by their block of the chip.
inline constexpr group groups[] = {
    {"CxiPerfStats",
     "hni_sts_*_ok_octets hni_pkts_* hni_rx_paused_* hni_tx_paused_* parbs_tarb_pi_* atu_cache_* "
     "lpe_net_match_* pct_conn_* pct_*_timeouts ixe_pool_*"},
    {"CxiErrStats",
     "pct_*timeout* pct_*nacks pct_*drop* pct_err_* pct_no_matching_tct pct_resource_busy "
     "hni_discard_cntr_* hni_fgfc_discard hni_pcs_uncorrected_cw hni_llr_* rh:nack* rh:*timeouts* "
     "rh:*cancel* rh:parked_*"},
    {"CxiOpCommands", "cq_*"},
    {"CxiOpPackets", "oxe_* hni_pkts_*"},
    {"CxiDmaEngine", "ixe_* pi_*"},
    {"CxiWritesToHost", "ixe_* parbs_*"},
    {"CxiMessageMatchingPooled", "lpe_*"},
    {"CxiTranslationUnit", "atu_*"},
    {"CxiLatencyHist", "pct_req_rsp_latency_* pct_host_access_latency_* pct_*_latency_*"},
    {"CxiPctReqRespTracking", "pct_*"},
    {"CxiLinkReliability", "hni_pcs_* hni_llr_*"},
    {"CxiCongestion",
     "hni_rx_paused_* hni_tx_paused_* hni_pause_* hni_fgfc_* ixe_pool_ecn_* parbs_*_blocked_cnt"},
};

/// Patterns that are sampled when nothing is asked for.
struct usual_counters {
  const char* device_class;
  const char* driver;  ///< null: any other
  const char* members;
};
inline constexpr usual_counters usual[] = {
    // Each file of `counters` is a command to the firmware of mlx5: few of them.
    {"infiniband", "mlx5_core",
     "port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets port_xmit_wait "
     "port_xmit_discards out_of_buffer out_of_sequence packet_seq_err local_ack_timeout_err "
     "rnr_nak_retry_err implied_nak_seq_err duplicate_request roce_adp_retrans roce_slow_restart "
     "rp_cnp_handled np_cnp_sent np_ecn_marked_roce_packets rx_icrc_encapsulated"},
    {"infiniband", "efa",
     "tx_bytes rx_bytes tx_pkts rx_pkts rx_drops rdma_read_bytes rdma_read_wr_err rdma_write_bytes "
     "rdma_write_wr_err retrans_* unresponsive_remote_events"},
    {"infiniband", "bnxt_en",
     "tx_bytes rx_bytes tx_pkts rx_pkts to_retransmits seq_err_naks_rcvd rnr_naks_rcvd "
     "oos_drop_count rx_out_of_buffer *cnp* *ecn* res_* missing_resp"},
    {"infiniband", "ionic", "*_bytes *retx* *seq_err *cnp* *ecn* *timeout* *drop*"},
    {"infiniband", "hfi1",
     "port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets port_xmit_wait "
     "port_xmit_discards symbol_error link_downed"},
    {"infiniband", "irdma", "ip*Octets ip*Pkts *Discards tcpRetransSegs iw*Rdma* cnp* RxECNMrkd"},
    {"infiniband", nullptr,
     "port_xmit_data port_rcv_data port_xmit_packets port_rcv_packets port_xmit_wait "
     "port_xmit_discards symbol_error link_downed *_bytes *_bytes_cnt *_pkt *_pkts *drop* *retry* "
     "*timeout* *cnp* *ecn*"},
    {"net", nullptr,
     "tx_bytes rx_bytes tx_packets rx_packets tx_dropped rx_dropped tx_errors rx_errors "
     "rx_missed_errors rx_crc_errors rx_over_errors tx_carrier_errors collisions"},
};

}  // namespace detail

/// Fills in what the name, the driver and the speed of the device say.
inline void describe_counter(counter_column& to, family where, std::string_view name,
                             const nic_device& device) {
  const std::string text(name);
  for (const detail::known_counter& one : detail::known_counters) {
    if (one.where != where || !detail::matches(one.pattern, text.c_str())) continue;
    if (one.driver != nullptr && device.driver != one.driver) continue;
    to.unit = one.unit;
    to.scale = one.scale;
    to.role = one.role;
    to.flags = one.flags;
    to.format.kind = one.kind;
    to.format.bits = one.bits;
    to.format.saturates = (one.flags & nic_saturates) != 0;
    to.format.refresh_ns = std::uint64_t{one.refresh_ms} * 1'000'000;
    break;
  }
  to.format.ones_are_error = where == family::telemetry || to.format.bits == 64;
  if (device.is_loopback()) to.flags |= nic_no_total;
  // A factor of four, and a tenth of a second more, for values that come in steps.
  const bool bytes = to.role == nic_role::tx_bytes || to.role == nic_role::rx_bytes;
  if (bytes && device.speed_mbps > 0 && where != family::netdev) {
    to.format.most_per_second =
        static_cast<std::uint64_t>(device.speed_mbps) * 125'000 / to.scale * 4;
    if (to.format.refresh_ns < 100'000'000) to.format.refresh_ns = 100'000'000;
  }
}

/// The patterns that a device is sampled by when nothing is asked for.
inline std::vector<std::string> usual_patterns(const nic_device& device) {
  std::vector<std::string> out;
  const auto add = [&](std::string_view members) {
    while (!members.empty()) {
      const std::size_t end = members.find(' ');
      detail::expand(members.substr(0, end), out);
      members.remove_prefix(end == members.npos ? members.size() : end + 1);
    }
  };
  if (device.device_class == "cxi") {
    add(detail::cxi_usual);
    add(detail::rh_usual);
    return out;
  }
  for (const detail::usual_counters& one : detail::usual) {
    if (device.device_class != one.device_class) continue;
    if (one.driver != nullptr && device.driver != one.driver) continue;
    add(one.members);
    break;
  }
  return out;
}

}  // namespace nic

FABSCOPE_NAMESPACE_END

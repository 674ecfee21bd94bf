// SPDX-License-Identifier: Apache-2.0
// What a collective library and its profiler plugin agree on: numbers and function tables.
// Layer: nccl.
//
// Names, values and layouts are those of the profiler interface of NCCL 2.23 to 2.31 and RCCL 2.26
// to 2.31; the declarations are this library's own.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/core/version.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nccl {

/// What every callback returns. Ours say success, whatever happened: an error from `init` can make
/// the host unload the plugin under other communicators.
inline constexpr int success = 0;

/// The host's logger. It may be null.
using logger = void (*)(int level, unsigned long subsystems, const char* file, int line,
                        const char* format, ...);
inline constexpr int log_info = 3;
inline constexpr unsigned long log_profile = 0x4000;

/// Bits of an event's type and of the activation mask.
enum event_type : std::uint64_t {
  event_group = 0x1,
  event_coll = 0x2,
  event_p2p = 0x4,
  event_proxy_op = 0x8,
  event_proxy_step = 0x10,
  event_proxy_ctrl = 0x20,
  event_kernel_ch = 0x40,
  event_net_plugin = 0x80,
  event_group_api = 0x100,
  event_coll_api = 0x200,
  event_p2p_api = 0x400,
  event_kernel_launch = 0x800,
  event_ce_coll = 0x1000,
  event_ce_sync = 0x2000,
  event_ce_batch = 0x4000,
  event_bit_15 = 0x8000,   ///< KernelPhase; in RCCL 2.30 ProxyDiag
  event_bit_16 = 0x10000,  ///< ProxyDiag in RCCL 2.31
};
inline constexpr unsigned event_bits = 17;

/// States that recordEventState is called with, one list for all versions.
enum event_state : int {
  state_send_posted = 0,  ///< 0 to 7: of a ProxyOp, before version 4
  state_recv_done = 7,
  state_send_gpu_wait = 8,
  state_send_wait = 9,
  state_recv_wait = 10,
  state_recv_flush_wait = 11,
  state_recv_gpu_wait = 12,
  state_ctrl_idle = 13,  ///< 13 to 18: of a ProxyCtrl
  state_ctrl_append_end = 18,
  state_proxy_op_in_progress = 19,
  state_send_peer_wait = 20,
  state_net_update = 21,
  state_kernel_ch_stop = 22,
  state_group_start_api_stop = 23,  ///< its argument is null
  state_group_end_api_start = 24,   ///< its argument is null
  state_bit_31 = 31,                ///< end of a kernel's phase; in RCCL 2.30 of ProxyDiag
};

/// Name of the lowest type bit.
constexpr const char* event_name(std::uint64_t type) noexcept {
  constexpr const char* names[] = {
      "Group",    "Coll",      "P2p",      "ProxyOp",     "ProxyStep", "ProxyCtrl",
      "KernelCh", "NetPlugin", "GroupApi", "CollApi",     "P2pApi",    "KernelLaunch",
      "CeColl",   "CeSync",    "CeBatch",  "KernelPhase", "ProxyDiag"};
  static_assert(sizeof names / sizeof names[0] == event_bits);
  for (unsigned bit = 0; bit < event_bits; ++bit) {
    if (type == std::uint64_t{1} << bit) return names[bit];
  }
  return "unknown type";
}

/// The table that a plugin exports as `ncclProfiler_v<n>`. Six pointers in every version.
template <class Init, class Descriptor>
struct function_table {
  const char* name;
  Init init;
  int (*start_event)(void* context, void** handle, Descriptor* descriptor);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, void* arguments);
  int (*finalize)(void* context);
};

/// Versions 1 to 3.
using init_without_names = int (*)(void** context, int* mask);
/// Version 4.
using init_with_mask_second = int (*)(void** context, int* mask, const char* name, std::uint64_t id,
                                      int nodes, int ranks, int rank, logger log);
/// Version 5 and later.
using init_with_id_second = int (*)(void** context, std::uint64_t id, int* mask, const char* name,
                                    int nodes, int ranks, int rank, logger log);

/// Arguments of recordEventState. RCCL's union is longer than NCCL's: it is read through the
/// pointer, member by member, and never copied.
union state_arguments {
  struct proxy_step_part {
    std::size_t transferred;
  } proxy_step;
  struct proxy_ctrl_part {
    int appended;
  } proxy_ctrl;
  struct net_plugin_part {
    void* data;
  } net_plugin;
  struct kernel_ch_part {
    std::uint64_t timer;
  } kernel_ch;
};
static_assert(sizeof(state_arguments) == 8);
/// Versions 1 to 3.
struct proxy_op_arguments {
  std::size_t transferred;
  int steps;
};
static_assert(sizeof(proxy_op_arguments) == 16 && offsetof(proxy_op_arguments, steps) == 8);

}  // namespace nccl

FABSCOPE_NAMESPACE_END

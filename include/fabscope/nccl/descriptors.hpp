// SPDX-License-Identifier: Apache-2.0
// What an event is described with when it starts, in each version of the interface. Layer: nccl.
//
// Members keep the interface's names where code for all versions reads them. Every offset and size
// is asserted, so that a compiler that disagrees with the host's cannot build this.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/nccl/abi.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace nccl {

// Parts that several versions share.
struct proxy_op_part {
  std::int32_t pid;  ///< the process that the operation belongs to; not always this one
  std::uint8_t channel;
  int peer;
  int steps;
  int chunk_bytes;
  int is_send;
};
struct proxy_step_part {
  int step;
};
struct net_plugin_part {
  std::int64_t id;
  void* data;
};
struct group_api_part {
  bool captured;
  int depth;
};
struct kernel_launch_part {
  void* stream;
};
struct kernel_ch_part_v3 {
  std::uint8_t channel;
};
struct kernel_ch_part {
  std::uint8_t channel;
  std::uint64_t timer;
};
struct p2p_part_v2 {
  const char* comm_name;
  std::uint64_t comm_id;
  const char* func;
  void* buffer;
  const char* datatype;
  std::size_t count;
  int peer;
};

/// Version 1 names functions and types by numbers.
struct descriptor_v1 {
  static constexpr int version = 1;
  struct coll_part {
    const char* comm_name;
    std::uint64_t comm_id;
    std::uint64_t sequence;
    std::uint8_t func;
    const void* send_buffer;
    void* recv_buffer;
    std::size_t count;
    int root;
    std::uint8_t datatype;
    std::uint32_t op;
    std::size_t traffic;
    std::uint8_t channels;
    std::uint8_t warps;
    std::uint8_t algorithm;
    std::uint8_t protocol;
    int is_collnet;
    int is_nvls;
  };
  struct p2p_part {
    const char* comm_name;
    std::uint64_t comm_id;
    std::uint8_t func;
    void* buffer;
    std::uint8_t datatype;
    std::size_t count;
    int peer;
  };
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    coll_part coll;
    p2p_part p2p;
    proxy_op_part proxy_op;
    proxy_step_part proxy_step;
  };
};
static_assert(sizeof(descriptor_v1) == 120 && offsetof(descriptor_v1, parent) == 8);
static_assert(offsetof(descriptor_v1, rank) == 16 && offsetof(descriptor_v1, coll) == 24);
static_assert(
    offsetof(descriptor_v1, coll.comm_id) == 32 && offsetof(descriptor_v1, coll.sequence) == 40 &&
    offsetof(descriptor_v1, coll.func) == 48 && offsetof(descriptor_v1, coll.send_buffer) == 56 &&
    offsetof(descriptor_v1, coll.recv_buffer) == 64 && offsetof(descriptor_v1, coll.count) == 72 &&
    offsetof(descriptor_v1, coll.root) == 80 && offsetof(descriptor_v1, coll.datatype) == 84 &&
    offsetof(descriptor_v1, coll.op) == 88 && offsetof(descriptor_v1, coll.traffic) == 96 &&
    offsetof(descriptor_v1, coll.channels) == 104 && offsetof(descriptor_v1, coll.warps) == 105 &&
    offsetof(descriptor_v1, coll.algorithm) == 106 &&
    offsetof(descriptor_v1, coll.protocol) == 107 &&
    offsetof(descriptor_v1, coll.is_collnet) == 108 &&
    offsetof(descriptor_v1, coll.is_nvls) == 112);
static_assert(offsetof(descriptor_v1, p2p.func) == 40 &&
              offsetof(descriptor_v1, p2p.buffer) == 48 &&
              offsetof(descriptor_v1, p2p.datatype) == 56 &&
              offsetof(descriptor_v1, p2p.count) == 64 && offsetof(descriptor_v1, p2p.peer) == 72);

struct descriptor_v2 {
  static constexpr int version = 2;
  struct coll_part {
    const char* comm_name;
    std::uint64_t comm_id;
    std::uint64_t sequence;
    const char* func;
    const void* send_buffer;
    void* recv_buffer;
    std::size_t count;
    int root;
    const char* datatype;
    std::size_t traffic;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    coll_part coll;
    p2p_part_v2 p2p;
    proxy_op_part proxy_op;
    proxy_step_part proxy_step;
  };
};
static_assert(sizeof(descriptor_v2) == 128 && offsetof(descriptor_v2, parent) == 8);
static_assert(offsetof(descriptor_v2, rank) == 16 && offsetof(descriptor_v2, coll) == 24);
static_assert(
    offsetof(descriptor_v2, coll.func) == 48 && offsetof(descriptor_v2, coll.count) == 72 &&
    offsetof(descriptor_v2, coll.root) == 80 && offsetof(descriptor_v2, coll.datatype) == 88 &&
    offsetof(descriptor_v2, coll.traffic) == 96 && offsetof(descriptor_v2, coll.channels) == 104 &&
    offsetof(descriptor_v2, coll.warps) == 105 && offsetof(descriptor_v2, coll.algorithm) == 112 &&
    offsetof(descriptor_v2, coll.protocol) == 120);

struct descriptor_v3 {
  static constexpr int version = 3;
  struct coll_part {
    const char* comm_name;
    std::uint64_t comm_id;
    std::uint64_t sequence;
    const char* func;
    const void* send_buffer;
    void* recv_buffer;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  std::uint8_t type;
  void* parent;
  int rank;
  union {
    coll_part coll;
    p2p_part_v2 p2p;
    proxy_op_part proxy_op;
    proxy_step_part proxy_step;
    kernel_ch_part_v3 kernel_ch;
    net_plugin_part net_plugin;
  };
};
static_assert(sizeof(descriptor_v3) == 120 && offsetof(descriptor_v3, parent) == 8);
static_assert(offsetof(descriptor_v3, rank) == 16 && offsetof(descriptor_v3, coll) == 24);
static_assert(offsetof(descriptor_v3, coll.datatype) == 88 &&
              offsetof(descriptor_v3, coll.channels) == 96 &&
              offsetof(descriptor_v3, coll.warps) == 97 &&
              offsetof(descriptor_v3, coll.algorithm) == 104 &&
              offsetof(descriptor_v3, coll.protocol) == 112);
static_assert(offsetof(descriptor_v3, p2p.func) == 40 &&
              offsetof(descriptor_v3, p2p.buffer) == 48 &&
              offsetof(descriptor_v3, p2p.datatype) == 56 &&
              offsetof(descriptor_v3, p2p.count) == 64 && offsetof(descriptor_v3, p2p.peer) == 72);

struct descriptor_v4 {
  static constexpr int version = 4;
  struct coll_part {
    std::uint64_t sequence;
    const char* func;
    const void* send_buffer;
    void* recv_buffer;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
  };
  struct p2p_part {
    const char* func;
    void* buffer;
    const char* datatype;
    std::size_t count;
    int peer;
    std::uint8_t channels;
  };
  std::uint8_t type;  ///< what follows it is not zeroed by every host
  void* parent;
  int rank;
  union {
    coll_part coll;
    p2p_part p2p;
    proxy_op_part proxy_op;
    proxy_step_part proxy_step;
    kernel_ch_part kernel_ch;
    net_plugin_part net_plugin;
  };
};
static_assert(sizeof(descriptor_v4) == 104 && offsetof(descriptor_v4, parent) == 8);

struct descriptor_v5 {
  static constexpr int version = 5;
  struct coll_part {
    std::uint64_t sequence;
    const char* func;
    const void* send_buffer;
    void* recv_buffer;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
    void* group;
  };
  struct p2p_part {
    const char* func;
    void* buffer;
    const char* datatype;
    std::size_t count;
    int peer;
    std::uint8_t channels;
    void* group;
  };
  struct coll_api_part {
    const char* func;
    std::size_t count;
    const char* datatype;
    int root;
    void* stream;
    bool captured;
  };
  struct p2p_api_part {
    const char* func;
    std::size_t count;
    const char* datatype;
    void* stream;
    bool captured;
  };
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    coll_part coll;
    p2p_part p2p;
    proxy_op_part proxy_op;
    proxy_step_part proxy_step;
    kernel_ch_part kernel_ch;
    net_plugin_part net_plugin;
    group_api_part group_api;
    coll_api_part coll_api;
    p2p_api_part p2p_api;
    kernel_launch_part kernel_launch;
  };
};
static_assert(sizeof(descriptor_v5) == 112 && offsetof(descriptor_v5, parent) == 8);

struct ce_coll_part {
  std::uint64_t sequence;
  const char* func;
  const void* send_buffer;
  void* recv_buffer;
  std::size_t count;
  int root;
  const char* datatype;
  const char* strategy;
  bool intra_batch_sync;
  std::uint32_t batch_size;
  std::uint32_t batches;
  std::uint32_t ce_sequence;
  void* stream;
};
struct ce_sync_part {
  bool complete;
  int ranks;
};
struct ce_batch_part {
  int ops;
  std::size_t bytes;
  bool intra_sync;
};

struct descriptor_v6 {
  static constexpr int version = 6;
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    descriptor_v5::coll_part coll;
    descriptor_v5::p2p_part p2p;
    proxy_op_part proxy_op;
    proxy_step_part proxy_step;
    kernel_ch_part kernel_ch;
    net_plugin_part net_plugin;
    group_api_part group_api;
    descriptor_v5::coll_api_part coll_api;
    descriptor_v5::p2p_api_part p2p_api;
    kernel_launch_part kernel_launch;
    ce_coll_part ce_coll;
    ce_sync_part ce_sync;
    ce_batch_part ce_batch;
  };
};
static_assert(sizeof(descriptor_v6) == 112 && offsetof(descriptor_v6, parent) == 8);

struct descriptor_v7 {
  static constexpr int version = 7;
  struct coll_part {
    std::uint64_t sequence;
    const char* func;
    const void* send_buffer;
    void* recv_buffer;
    std::size_t count;
    int root;
    const char* datatype;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
    void* group;
    const char* kernel;
    bool symmetric;
    std::uint64_t user_tag;
  };
  struct p2p_part {
    const char* func;
    void* buffer;
    const char* datatype;
    std::size_t count;
    int peer;
    std::uint8_t channels;
    void* group;
    std::uint64_t user_tag;
  };
  struct coll_api_part {
    const char* func;
    std::size_t count;
    const char* datatype;
    int root;
    void* stream;
    bool captured;
    std::uint64_t user_tag;
  };
  struct p2p_api_part {
    const char* func;
    std::size_t count;
    const char* datatype;
    void* stream;
    bool captured;
    std::uint64_t user_tag;
  };
  struct tagged_ce_coll_part {
    ce_coll_part base;
    std::uint64_t user_tag;
  };
  struct kernel_phase_part {
    std::uint8_t channel;
    std::uint8_t phase;
    const char* name;
    std::uint64_t timer;
  };
  std::uint64_t type;
  void* parent;
  int rank;
  union {
    coll_part coll;
    p2p_part p2p;
    proxy_op_part proxy_op;
    proxy_step_part proxy_step;
    kernel_ch_part kernel_ch;
    net_plugin_part net_plugin;
    group_api_part group_api;
    coll_api_part coll_api;
    p2p_api_part p2p_api;
    kernel_launch_part kernel_launch;
    tagged_ce_coll_part ce_coll;
    ce_sync_part ce_sync;
    ce_batch_part ce_batch;
    kernel_phase_part kernel_phase;
  };
};
static_assert(sizeof(descriptor_v7) == 136 && offsetof(descriptor_v7, parent) == 8);

namespace detail {

/// Offsets that versions 4 to 7 have in common.
template <class D>
constexpr bool has_common_layout() noexcept {
  static_assert(offsetof(D, rank) == 16);
  static_assert(offsetof(D, coll) == 24 && offsetof(D, coll.func) == 32);
  static_assert(offsetof(D, coll.send_buffer) == 40 && offsetof(D, coll.recv_buffer) == 48);
  static_assert(offsetof(D, coll.count) == 56 && offsetof(D, coll.root) == 64);
  static_assert(offsetof(D, coll.datatype) == 72 && offsetof(D, coll.channels) == 80);
  static_assert(offsetof(D, coll.warps) == 81 && offsetof(D, coll.algorithm) == 88);
  static_assert(offsetof(D, coll.protocol) == 96);
  static_assert(offsetof(D, p2p) == 24 && offsetof(D, p2p.buffer) == 32);
  static_assert(offsetof(D, p2p.datatype) == 40 && offsetof(D, p2p.count) == 48);
  static_assert(offsetof(D, p2p.peer) == 56 && offsetof(D, p2p.channels) == 60);
  static_assert(offsetof(D, kernel_ch) == 24 && offsetof(D, kernel_ch.timer) == 32);
  static_assert(offsetof(D, net_plugin) == 24 && offsetof(D, net_plugin.data) == 32);
  return true;
}
/// Versions 5 to 7.
template <class D>
constexpr bool has_api_layout() noexcept {
  static_assert(offsetof(D, coll.group) == 104 && offsetof(D, p2p.group) == 64);
  static_assert(offsetof(D, group_api) == 24 && offsetof(D, group_api.depth) == 28);
  static_assert(offsetof(D, coll_api) == 24 && offsetof(D, coll_api.count) == 32);
  static_assert(offsetof(D, coll_api.datatype) == 40 && offsetof(D, coll_api.root) == 48);
  static_assert(offsetof(D, coll_api.stream) == 56 && offsetof(D, coll_api.captured) == 64);
  static_assert(offsetof(D, p2p_api.count) == 32 && offsetof(D, p2p_api.datatype) == 40);
  static_assert(offsetof(D, p2p_api.stream) == 48 && offsetof(D, p2p_api.captured) == 56);
  static_assert(offsetof(D, kernel_launch) == 24);
  return true;
}
template <class D>
constexpr bool has_proxy_layout() noexcept {
  static_assert(offsetof(D, proxy_op) == 24 && offsetof(D, proxy_op.channel) == 28);
  static_assert(offsetof(D, proxy_op.peer) == 32 && offsetof(D, proxy_op.steps) == 36);
  static_assert(offsetof(D, proxy_op.chunk_bytes) == 40 && offsetof(D, proxy_op.is_send) == 44);
  static_assert(offsetof(D, proxy_step) == 24);
  return true;
}
static_assert(has_common_layout<descriptor_v4>() && has_common_layout<descriptor_v5>() &&
              has_common_layout<descriptor_v6>() && has_common_layout<descriptor_v7>());
static_assert(has_api_layout<descriptor_v5>() && has_api_layout<descriptor_v6>() &&
              has_api_layout<descriptor_v7>());
static_assert(has_proxy_layout<descriptor_v1>() && has_proxy_layout<descriptor_v2>() &&
              has_proxy_layout<descriptor_v3>() && has_proxy_layout<descriptor_v4>() &&
              has_proxy_layout<descriptor_v5>() && has_proxy_layout<descriptor_v6>() &&
              has_proxy_layout<descriptor_v7>());

}  // namespace detail

static_assert(offsetof(descriptor_v6, ce_coll.strategy) == 80 &&
              offsetof(descriptor_v6, ce_coll.intra_batch_sync) == 88 &&
              offsetof(descriptor_v6, ce_coll.batch_size) == 92 &&
              offsetof(descriptor_v6, ce_coll.batches) == 96 &&
              offsetof(descriptor_v6, ce_coll.ce_sequence) == 100 &&
              offsetof(descriptor_v6, ce_coll.stream) == 104);
static_assert(offsetof(descriptor_v6, ce_sync.ranks) == 28 &&
              offsetof(descriptor_v6, ce_batch.bytes) == 32 &&
              offsetof(descriptor_v6, ce_batch.intra_sync) == 40);
static_assert(offsetof(descriptor_v7, coll.kernel) == 112 &&
              offsetof(descriptor_v7, coll.symmetric) == 120 &&
              offsetof(descriptor_v7, coll.user_tag) == 128 &&
              offsetof(descriptor_v7, p2p.user_tag) == 72 &&
              offsetof(descriptor_v7, coll_api.user_tag) == 72 &&
              offsetof(descriptor_v7, p2p_api.user_tag) == 64 &&
              offsetof(descriptor_v7, ce_coll.user_tag) == 112);
static_assert(offsetof(descriptor_v7, kernel_phase.phase) == 25 &&
              offsetof(descriptor_v7, kernel_phase.name) == 32 &&
              offsetof(descriptor_v7, kernel_phase.timer) == 40);

using table_v1 = function_table<init_without_names, descriptor_v1>;
using table_v2 = function_table<init_without_names, descriptor_v2>;
using table_v3 = function_table<init_without_names, descriptor_v3>;
using table_v4 = function_table<init_with_mask_second, descriptor_v4>;
using table_v5 = function_table<init_with_id_second, descriptor_v5>;
using table_v6 = function_table<init_with_id_second, descriptor_v6>;
using table_v7 = function_table<init_with_id_second, descriptor_v7>;
static_assert(sizeof(table_v1) == 48 && sizeof(table_v4) == 48 && sizeof(table_v7) == 48);
static_assert(offsetof(table_v7, init) == 8 && offsetof(table_v7, start_event) == 16 &&
              offsetof(table_v7, stop_event) == 24 &&
              offsetof(table_v7, record_event_state) == 32 && offsetof(table_v7, finalize) == 40);

}  // namespace nccl

FABSCOPE_NAMESPACE_END

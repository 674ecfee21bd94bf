// SPDX-License-Identifier: Apache-2.0
// What we keep about each object of the application that we hooked. Layer: fabric.
//
// The objects themselves stay the application's. A hook lives from the moment its object is patched
// until the object was closed successfully.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>

#include <fabscope/event/operation_record.hpp>
#include <fabscope/fabric/address_names.hpp>
#include <fabscope/fabric/table_copy.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric {

/// Why an operation is not followed from issue to completion.
enum class reason : std::uint8_t {
  none,
  no_queue,        ///< nothing bound, or bound before the endpoint was instrumented
  unknown_queue,   ///< the completion queue is not hooked, or shared between providers
  unknown_format,  ///< the queue's entries cannot be read
  selective,       ///< no completion was asked for
  triggered,
  special,  ///< peek, claim, discard: the context is the provider's
  multi_receive,
  collective,
  alias,
  unknown_flags,  ///< the endpoint's own flags are not known: instrumented without its fi_info
  pool_full,
  count_,
};

constexpr const char* to_string(reason why) noexcept {
  constexpr const char* names[] = {"none",
                                   "no completion queue known",
                                   "queue not hooked",
                                   "unknown completion format",
                                   "selective completion",
                                   "triggered operation",
                                   "peek, claim or discard",
                                   "multi-receive",
                                   "collective operation",
                                   "alias endpoint",
                                   "endpoint flags unknown",
                                   "too many operations in flight"};
  static_assert(sizeof names / sizeof names[0] == static_cast<unsigned>(reason::count_));
  return why < reason::count_ ? names[static_cast<unsigned>(why)] : "unknown";
}

/// libfabric's own collectives. They are counted and passed through.
enum class collective_call : std::uint8_t {
  barrier,
  barrier2,
  broadcast,
  alltoall,
  allreduce,
  allgather,
  reduce_scatter,
  reduce,
  scatter,
  gather,
  message,
  count_,
};

constexpr const char* to_string(collective_call call) noexcept {
  constexpr const char* names[] = {"fi_barrier",        "fi_barrier2",   "fi_broadcast",
                                   "fi_alltoall",       "fi_allreduce",  "fi_allgather",
                                   "fi_reduce_scatter", "fi_reduce",     "fi_scatter",
                                   "fi_gather",         "collective msg"};
  static_assert(sizeof names / sizeof names[0] == static_cast<unsigned>(collective_call::count_));
  return call < collective_call::count_ ? names[static_cast<unsigned>(call)] : "unknown";
}

/// A completion queue, or what is polled of a counter.
struct completion_queue {
  fid_cq* object = nullptr;
  detail::table_set tables;
  std::uint32_t number = 0;  ///< unique in the process, never 0
  std::uint32_t nic = 0;     ///< of the registry
  fi_cq_format format = FI_CQ_FORMAT_UNSPEC;
  std::uint32_t entry_bytes = 0;  ///< 0: the format is not known
  bool has_length = false;
  bool is_counter = false;
  bool shared_between_providers = false;
  std::uint64_t capacity = 0;
  detail::address_map* addresses = nullptr;  ///< of the endpoints bound to it
  completion_queue* next = nullptr;
};

namespace detail {
/// An insertion that ends with an event.
struct pending_insertion {
  pending_insertion* next;
  fi_addr_t* given;
  std::size_t count;
  const void* context;
};
struct counted_operations;
}  // namespace detail

/// A counter, see counter_hooks.hpp.
struct counter {
  fid_cntr* object = nullptr;
  detail::table_set tables;
  completion_queue polls;  ///< its number, NIC and name
  detail::counted_operations* operations = nullptr;
  counter* next = nullptr;
};

/// An address vector. Its map outlives it, see address_map::clear.
struct address_vector {
  fid_av* object = nullptr;
  detail::table_set tables;
  detail::address_map* addresses = nullptr;
  std::uint32_t format = FI_FORMAT_UNSPEC;
  bool is_table = false;
  bool is_asynchronous = false;
  std::uint64_t inserted = 0;                    ///< so far
  detail::pending_insertion* pending = nullptr;  ///< asynchronous ones, the oldest first
  fi_addr_t mask = ~fi_addr_t{0};  ///< takes the receive context's number out of an fi_addr
  address_vector* next = nullptr;
};

/// Sends, reads and writes, or receives of an endpoint.
struct endpoint_side {
  completion_queue* queue = nullptr;
  bool bound = false;
  bool selective = false;
  bool flags_known = false;
  std::uint64_t op_flags = 0;
  reason plain = reason::no_queue;    ///< none: calls without flags can be followed
  reason message = reason::no_queue;  ///< none: calls with flags can, if the flags allow it
  completion_level level = completion_level::unspecified;
};

/// What a counter can be bound for.
enum class counted_kind : std::uint8_t { send, receive, read, write, count_ };

constexpr counted_kind counted_kind_of(operation op) noexcept {
  if (is_receive(op)) return counted_kind::receive;
  if (is_read(op)) return counted_kind::read;
  return op < operation::read ? counted_kind::send : counted_kind::write;
}

/// An endpoint, a transmit or receive context, a scalable endpoint or a shared receive context.
struct endpoint {
  // What every operation reads.
  std::uint64_t ends = 0;        ///< labels: local << 32 | nic
  std::uint64_t slot_state = 0;  ///< what context_slot::state begins with
  const detail::address_map* addresses = nullptr;
  fi_addr_t address_mask = ~fi_addr_t{0};
  std::uint32_t number = 0;  ///< unique in the process, never 0
  std::uint8_t nic_slot = 0;
  bool directed_receive = false;
  bool has_counters = false;
  std::uint32_t peer_label = 0;  ///< of a connected endpoint
  endpoint_side transmit;
  endpoint_side receive;

  fid_ep* object = nullptr;
  detail::table_set tables;
  std::uint32_t nic = 0;         ///< of the registry
  std::uint32_t local_name = 0;  ///< of the registry's texts
  std::uint32_t format = FI_FORMAT_UNSPEC;
  std::uint32_t alias_of = 0;  ///< number of the endpoint whose alias this is
  bool is_alias = false;
  std::uint8_t tables_there = 0;     ///< how many of fid_ep's tables, from msg on, may be looked at
  std::uint32_t peer_name = 0;       ///< of the registry's texts
  std::uint64_t connect_begin = 0;   ///< ticks, while a connection is being made
  const endpoint* parent = nullptr;  ///< the scalable endpoint whose context this is
  endpoint* shared_receive = nullptr;  ///< where its receives are posted
  counter* counters[static_cast<unsigned>(counted_kind::count_)] = {};
  endpoint* next = nullptr;
};

struct domain {
  fid_domain* object = nullptr;
  detail::table_set tables;
  std::uint32_t nic = 0;
  std::uint32_t format = FI_FORMAT_UNSPEC;
};

struct fabric_object {
  fid_fabric* object = nullptr;
  detail::table_set tables;
};

namespace detail {

inline constexpr std::uint64_t level_flags = FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |
                                             FI_DELIVERY_COMPLETE | FI_COMMIT_COMPLETE |
                                             FI_MATCH_COMPLETE;
#ifdef FI_XPU_TRIGGER
inline constexpr std::uint64_t trigger_flags = FI_TRIGGER | FI_XPU_TRIGGER;
#else
inline constexpr std::uint64_t trigger_flags = FI_TRIGGER;
#endif
/// FI_CLAIM and FI_DISCARD are operation flags only; the same bits mean something else elsewhere.
inline constexpr std::uint64_t special_flags = FI_PEEK | FI_CLAIM | FI_DISCARD;

FABSCOPE_ALWAYS_INLINE completion_level level_of(std::uint64_t flags) noexcept {
  if ((flags & level_flags) == 0) [[likely]]
    return completion_level::unspecified;
  if ((flags & FI_COMMIT_COMPLETE) != 0) return completion_level::commit;
  if ((flags & FI_MATCH_COMPLETE) != 0) return completion_level::match;
  if ((flags & FI_DELIVERY_COMPLETE) != 0) return completion_level::delivery;
  if ((flags & FI_TRANSMIT_COMPLETE) != 0) return completion_level::transmit;
  return completion_level::inject;
}

/// Decides anew what can be followed: after bind, after a change of flags, when a queue goes.
inline void judge(const endpoint& ep, endpoint_side& side) noexcept {
  const completion_queue* queue = side.queue;
  reason both = reason::none;
  if (ep.is_alias)
    both = reason::alias;
  else if (!side.bound)
    both = reason::no_queue;
  else if (queue == nullptr || queue->shared_between_providers)
    both = reason::unknown_queue;
  else if (queue->entry_bytes == 0)
    both = reason::unknown_format;
  side.message = both;
  side.plain = both;
  side.level = level_of(side.op_flags);
  if (both != reason::none) return;
  if (!side.flags_known)
    side.plain = reason::unknown_flags;
  else if ((side.op_flags & trigger_flags) != 0)
    side.plain = reason::triggered;
  else if ((side.op_flags & FI_MULTI_RECV) != 0)
    side.plain = reason::multi_receive;
  else if (side.selective && (side.op_flags & FI_COMPLETION) == 0)
    side.plain = reason::selective;
  if (side.plain == reason::triggered) side.message = reason::triggered;
}

inline void judge(endpoint& ep) noexcept {
  judge(ep, ep.transmit);
  judge(ep, ep.receive);
}

/// Why this call of a *msg function cannot be followed. Its flags replace the endpoint's own.
FABSCOPE_ALWAYS_INLINE reason judge_call(const endpoint_side& side, std::uint64_t flags) noexcept {
  if (side.message != reason::none) return side.message;
  if ((flags & (trigger_flags | special_flags | FI_MULTI_RECV)) != 0) [[unlikely]] {
    if ((flags & trigger_flags) != 0) return reason::triggered;
    return (flags & special_flags) != 0 ? reason::special : reason::multi_receive;
  }
  if (side.selective && (flags & FI_COMPLETION) == 0) return reason::selective;
  return reason::none;
}

}  // namespace detail
}  // namespace fabric

FABSCOPE_NAMESPACE_END

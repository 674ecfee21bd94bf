// SPDX-License-Identifier: Apache-2.0
// One operation of a fabric from issue to completion. Layer: event.
#pragma once

#include <cstddef>
#include <cstdint>

#include <fabscope/event/record.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// libfabric's data-transfer calls, by the name of the call that was made. The values are part of
/// the segment format.
enum class operation : std::uint8_t {
  none = 0,
  send,
  sendv,
  sendmsg,
  senddata,
  inject,
  injectdata,
  recv,
  recvv,
  recvmsg,
  tsend,
  tsendv,
  tsendmsg,
  tsenddata,
  tinject,
  tinjectdata,
  trecv,
  trecvv,
  trecvmsg,
  read,
  readv,
  readmsg,
  write,
  writev,
  writemsg,
  writedata,
  inject_write,
  inject_writedata,
  atomic,
  atomicv,
  atomicmsg,
  inject_atomic,
  fetch_atomic,
  fetch_atomicv,
  fetch_atomicmsg,
  compare_atomic,
  compare_atomicv,
  compare_atomicmsg,
  count_,
};

/// libfabric's name of the call, for example "fi_tsend".
constexpr const char* to_string(operation op) noexcept {
  constexpr const char* names[] = {"none",
                                   "fi_send",
                                   "fi_sendv",
                                   "fi_sendmsg",
                                   "fi_senddata",
                                   "fi_inject",
                                   "fi_injectdata",
                                   "fi_recv",
                                   "fi_recvv",
                                   "fi_recvmsg",
                                   "fi_tsend",
                                   "fi_tsendv",
                                   "fi_tsendmsg",
                                   "fi_tsenddata",
                                   "fi_tinject",
                                   "fi_tinjectdata",
                                   "fi_trecv",
                                   "fi_trecvv",
                                   "fi_trecvmsg",
                                   "fi_read",
                                   "fi_readv",
                                   "fi_readmsg",
                                   "fi_write",
                                   "fi_writev",
                                   "fi_writemsg",
                                   "fi_writedata",
                                   "fi_inject_write",
                                   "fi_inject_writedata",
                                   "fi_atomic",
                                   "fi_atomicv",
                                   "fi_atomicmsg",
                                   "fi_inject_atomic",
                                   "fi_fetch_atomic",
                                   "fi_fetch_atomicv",
                                   "fi_fetch_atomicmsg",
                                   "fi_compare_atomic",
                                   "fi_compare_atomicv",
                                   "fi_compare_atomicmsg"};
  static_assert(sizeof names / sizeof names[0] == static_cast<unsigned>(operation::count_));
  return op < operation::count_ ? names[static_cast<unsigned>(op)] : "unknown";
}

/// True for the receive family: posted to completion is waiting for a peer, not moving data, so it
/// never enters busy time or bandwidth.
constexpr bool is_receive(operation op) noexcept {
  return (op >= operation::recv && op <= operation::recvmsg) ||
         (op >= operation::trecv && op <= operation::trecvmsg);
}

/// True for calls that have no success completion.
constexpr bool is_inject(operation op) noexcept {
  return op == operation::inject || op == operation::injectdata || op == operation::tinject ||
         op == operation::tinjectdata || op == operation::inject_write ||
         op == operation::inject_writedata || op == operation::inject_atomic;
}

/// True where data flows from the peer to us although we started the operation. Atomics that return
/// the old value are among them: their result is what is counted, not the operand that went out.
constexpr bool is_read(operation op) noexcept {
  return (op >= operation::read && op <= operation::readmsg) ||
         (op >= operation::fetch_atomic && op <= operation::compare_atomicmsg);
}

/// What a completion promises. Latencies of different levels are not comparable.
enum class completion_level : std::uint8_t {
  unspecified = 0,  ///< the provider's default
  inject = 1,       ///< the buffer is reusable
  transmit = 2,     ///< the peer's endpoint has it
  delivery = 3,     ///< the peer has processed it
  match = 4,        ///< a receive has matched it
  commit = 5,       ///< it is persistent
};

constexpr const char* to_string(completion_level level) noexcept {
  constexpr const char* names[] = {"default", "inject", "transmit", "delivery", "match", "commit"};
  return static_cast<unsigned>(level) < 6 ? names[static_cast<unsigned>(level)] : "unknown";
}

/// Written when the application has read the completion.
/// Units: ticks of the session's clock; payload bytes (received bytes where the completion says
/// them).
struct FABSCOPE_VISIBLE operation_record {
  record_header header;  ///< ticks: issue
  std::uint64_t end = 0;
  std::uint64_t bytes = 0;
  std::uint64_t parent = 0;   ///< cause at issue
  std::uint32_t local = 0;    ///< label: address of the own endpoint
  std::uint32_t remote = 0;   ///< label: address of the peer, 0 if unknown
  std::uint32_t nic = 0;      ///< label: domain or device
  std::int32_t error = 0;     ///< fi_errno of an error completion, 0 on success
  std::uint8_t op = 0;        ///< operation
  std::uint8_t level = 0;     ///< completion_level
  std::uint16_t flags = 0;    ///< operation_record::flag bits
  std::uint32_t retries = 0;  ///< -FI_EAGAIN before the call was accepted

  enum flag : std::uint16_t {
    abandoned = 1,  ///< the endpoint was closed first; end: when
    inferred = 2,   ///< the completion was concluded, not seen
    untimed = 4,    ///< no completion will be seen; end is begin
    posted_size =
        8,  ///< a receive whose completion does not say how much came: bytes is the buffer
  };

  static constexpr const char* type_name = "operation";
  static constexpr bool is_row = false;
  FABSCOPE_HIDDEN static const field fields[11];
};

inline constexpr field operation_record::fields[11] = {
    {"end", "ns", offsetof(operation_record, end), field_type::ticks},
    {"bytes", "B", offsetof(operation_record, bytes), field_type::u64},
    {"parent", "", offsetof(operation_record, parent), field_type::cause},
    {"local", "", offsetof(operation_record, local), field_type::label},
    {"remote", "", offsetof(operation_record, remote), field_type::label},
    {"nic", "", offsetof(operation_record, nic), field_type::label},
    {"error", "", offsetof(operation_record, error), field_type::i32},
    {"op", "", offsetof(operation_record, op), field_type::u8},
    {"level", "", offsetof(operation_record, level), field_type::u8},
    {"flags", "", offsetof(operation_record, flags), field_type::u16},
    {"retries", "", offsetof(operation_record, retries), field_type::u32},
};
static_assert(sizeof(operation_record) == 64 && event_record<operation_record>);

FABSCOPE_NAMESPACE_END

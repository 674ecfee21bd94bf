// SPDX-License-Identifier: Apache-2.0
// libfabric's data-transfer calls as types: which member of which table, and which argument is
// what. Layer: fabric.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>

#include <fabscope/core/config.hpp>
#include <fabscope/event/operation_record.hpp>

FABSCOPE_NAMESPACE_BEGIN

namespace fabric {

/// A call as an operation policy sees it.
struct request {
  operation op = operation::none;
  bool has_flags = false;  ///< a *msg call: `flags` replace the endpoint's own
  std::uint64_t flags = 0;
  std::uint64_t bytes = 0;
  fi_addr_t peer = FI_ADDR_UNSPEC;
  std::uint64_t tag = 0;    ///< of tagged calls
  void* context = nullptr;  ///< the policy may put another one here
};

namespace detail {

template <std::size_t N, class First, class... Rest>
FABSCOPE_ALWAYS_INLINE constexpr auto& argument(First& first, Rest&... rest) noexcept {
  if constexpr (N == 0) {
    return first;
  } else {
    return argument<N - 1>(rest...);
  }
}

inline std::uint64_t length_of(const iovec* parts, std::size_t count) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; parts != nullptr && i < count; ++i) sum += parts[i].iov_len;
  return sum;
}

/// Bytes of an element, 0 if our headers do not know the type.
constexpr std::uint64_t bytes_of(fi_datatype type) noexcept {
  switch (type) {
    case FI_INT8:
    case FI_UINT8: return 1;
    case FI_INT16:
    case FI_UINT16: return 2;
    case FI_INT32:
    case FI_UINT32:
    case FI_FLOAT: return 4;
    case FI_INT64:
    case FI_UINT64:
    case FI_DOUBLE:
    case FI_FLOAT_COMPLEX: return 8;
    case FI_DOUBLE_COMPLEX: return 16;
    case FI_LONG_DOUBLE: return sizeof(long double);
    case FI_LONG_DOUBLE_COMPLEX: return 2 * sizeof(long double);
    case FI_INT128:
    case FI_UINT128: return 16;
    default: return 0;
  }
}
inline std::uint64_t length_of(const fi_ioc* parts, std::size_t count, fi_datatype type) noexcept {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; parts != nullptr && i < count; ++i) sum += parts[i].count;
  return sum * bytes_of(type);
}

}  // namespace detail

/// Arguments: ..., length at Length, address at Address, ..., context last. Inject calls have none.
template <std::size_t Length, std::size_t Address, bool Context = true>
struct buffer_call {
  template <class... Args>
  FABSCOPE_ALWAYS_INLINE static void describe(request& out, Args&... args) noexcept {
    out.bytes = detail::argument<Length>(args...);
    out.peer = detail::argument<Address>(args...);
    if constexpr (Context) out.context = detail::argument<sizeof...(Args) - 1>(args...);
  }
  template <class Real, class... Args>
  FABSCOPE_ALWAYS_INLINE static ssize_t call(Real real, fid_ep* ep, void* context, Args... args) {
    if constexpr (Context) detail::argument<sizeof...(Args) - 1>(args...) = context;
    return real(ep, args...);
  }
};

/// Arguments: vector, descriptors, count, address, ..., context last.
struct vector_call {
  template <class... Args>
  FABSCOPE_ALWAYS_INLINE static void describe(request& out, Args&... args) noexcept {
    out.bytes = detail::length_of(detail::argument<0>(args...), detail::argument<2>(args...));
    out.peer = detail::argument<3>(args...);
    out.context = detail::argument<sizeof...(Args) - 1>(args...);
  }
  template <class Real, class... Args>
  FABSCOPE_ALWAYS_INLINE static ssize_t call(Real real, fid_ep* ep, void* context, Args... args) {
    detail::argument<sizeof...(Args) - 1>(args...) = context;
    return real(ep, args...);
  }
};

/// Arguments: a message struct that holds nearly everything, ..., flags last.
struct message_call {
  template <class Message, class... Args>
  FABSCOPE_ALWAYS_INLINE static void describe(request& out, const Message*& message,
                                              Args&... args) noexcept {
    out.has_flags = true;
    out.flags = detail::argument<sizeof...(Args) - 1>(args...);
    if constexpr (requires { message->datatype; }) {
      out.bytes = detail::length_of(message->msg_iov, message->iov_count, message->datatype);
    } else {
      out.bytes = detail::length_of(message->msg_iov, message->iov_count);
    }
    out.peer = message->addr;
    if constexpr (requires { message->tag; }) out.tag = message->tag;
    out.context = message->context;
  }
  // The sizes of the four message structs are the same in every libfabric from 1.17 to 2.6.
  template <class Real, class Message, class... Args>
  FABSCOPE_ALWAYS_INLINE static ssize_t call(Real real, fid_ep* ep, void* context,
                                             const Message* message, Args... args) {
    if (context == message->context) return real(ep, message, args...);
    Message ours = *message;
    ours.context = context;
    return real(ep, &ours, args...);
  }
};

/// Arguments of an atomic: ..., number of elements (or an array of fi_ioc and its length) at Count,
/// ..., address at Address, remote address, key, type, operator, and the context where there is
/// one.
template <std::size_t Count, std::size_t Address, bool Context = true>
struct element_call : buffer_call<Count, Address, Context> {
  template <class... Args>
  FABSCOPE_ALWAYS_INLINE static void describe(request& out, Args&... args) noexcept {
    buffer_call<Count, Address, Context>::describe(out, args...);
    out.bytes *= detail::bytes_of(detail::argument<Address + 3>(args...));
  }
};
template <std::size_t Parts, std::size_t Length, std::size_t Address>
struct element_vector_call : buffer_call<Length, Address> {
  template <class... Args>
  FABSCOPE_ALWAYS_INLINE static void describe(request& out, Args&... args) noexcept {
    buffer_call<Length, Address>::describe(out, args...);
    out.bytes =
        detail::length_of(detail::argument<Parts>(args...), detail::argument<Length>(args...),
                          detail::argument<Address + 3>(args...));
  }
};
/// A message, operands to compare with (compare calls only), results, their descriptors, their
/// number, flags. The bytes are those of the results.
template <std::size_t Results>
struct fetch_message_call : message_call {
  template <class... Args>
  FABSCOPE_ALWAYS_INLINE static void describe(request& out, const fi_msg_atomic*& message,
                                              Args&... args) noexcept {
    message_call::describe(out, message, args...);
    out.bytes = detail::length_of(detail::argument<Results>(args...),
                                  detail::argument<Results + 2>(args...), message->datatype);
  }
};

/// A call whose argument behind the address is a tag.
template <class Call, std::size_t Tag>
struct tagged_call : Call {
  template <class... Args>
  FABSCOPE_ALWAYS_INLINE static void describe(request& out, Args&... args) noexcept {
    Call::describe(out, args...);
    out.tag = detail::argument<Tag>(args...);
  }
};

/// One call: its name, the member of an ops table that it goes through, the order of its arguments.
template <operation Op, auto Member, class Shape>
struct operation_tag;
template <operation Op, class Table, class Function, Function Table::*Member, class Shape>
struct operation_tag<Op, Member, Shape> {
  using table_type = Table;
  using function_type = Function;
  using shape = Shape;
  static constexpr operation op = Op;
  static constexpr Function Table::*member = Member;
};

template <class... Tags>
struct operation_list {};

using plain_call = buffer_call<1, 3>;               // buffer, length, descriptor, address
using data_call = buffer_call<1, 4>;                // buffer, length, descriptor, data, address
using inject_call = buffer_call<1, 2, false>;       // buffer, length, address
using inject_data_call = buffer_call<1, 3, false>;  // buffer, length, data, address

using message_operations =
    operation_list<operation_tag<operation::send, &fi_ops_msg::send, plain_call>,
                   operation_tag<operation::sendv, &fi_ops_msg::sendv, vector_call>,
                   operation_tag<operation::sendmsg, &fi_ops_msg::sendmsg, message_call>,
                   operation_tag<operation::senddata, &fi_ops_msg::senddata, data_call>,
                   operation_tag<operation::inject, &fi_ops_msg::inject, inject_call>,
                   operation_tag<operation::injectdata, &fi_ops_msg::injectdata, inject_data_call>,
                   operation_tag<operation::recv, &fi_ops_msg::recv, plain_call>,
                   operation_tag<operation::recvv, &fi_ops_msg::recvv, vector_call>,
                   operation_tag<operation::recvmsg, &fi_ops_msg::recvmsg, message_call>>;

using tagged_operations = operation_list<
    operation_tag<operation::tsend, &fi_ops_tagged::send, tagged_call<plain_call, 4>>,
    operation_tag<operation::tsendv, &fi_ops_tagged::sendv, tagged_call<vector_call, 4>>,
    operation_tag<operation::tsendmsg, &fi_ops_tagged::sendmsg, message_call>,
    operation_tag<operation::tsenddata, &fi_ops_tagged::senddata, tagged_call<data_call, 5>>,
    operation_tag<operation::tinject, &fi_ops_tagged::inject, tagged_call<inject_call, 3>>,
    operation_tag<operation::tinjectdata, &fi_ops_tagged::injectdata,
                  tagged_call<inject_data_call, 4>>,
    operation_tag<operation::trecv, &fi_ops_tagged::recv, tagged_call<plain_call, 4>>,
    operation_tag<operation::trecvv, &fi_ops_tagged::recvv, tagged_call<vector_call, 4>>,
    operation_tag<operation::trecvmsg, &fi_ops_tagged::recvmsg, message_call>>;

using rma_operations = operation_list<
    operation_tag<operation::read, &fi_ops_rma::read, plain_call>,
    operation_tag<operation::readv, &fi_ops_rma::readv, vector_call>,
    operation_tag<operation::readmsg, &fi_ops_rma::readmsg, message_call>,
    operation_tag<operation::write, &fi_ops_rma::write, plain_call>,
    operation_tag<operation::writev, &fi_ops_rma::writev, vector_call>,
    operation_tag<operation::writemsg, &fi_ops_rma::writemsg, message_call>,
    operation_tag<operation::writedata, &fi_ops_rma::writedata, data_call>,
    operation_tag<operation::inject_write, &fi_ops_rma::inject, inject_call>,
    operation_tag<operation::inject_writedata, &fi_ops_rma::injectdata, inject_data_call>>;

using atomic_operations = operation_list<
    operation_tag<operation::atomic, &fi_ops_atomic::write, element_call<1, 3>>,
    operation_tag<operation::atomicv, &fi_ops_atomic::writev, element_vector_call<0, 2, 3>>,
    operation_tag<operation::atomicmsg, &fi_ops_atomic::writemsg, message_call>,
    operation_tag<operation::inject_atomic, &fi_ops_atomic::inject, element_call<1, 2, false>>,
    operation_tag<operation::fetch_atomic, &fi_ops_atomic::readwrite, element_call<1, 5>>,
    operation_tag<operation::fetch_atomicv, &fi_ops_atomic::readwritev,
                  element_vector_call<3, 5, 6>>,
    operation_tag<operation::fetch_atomicmsg, &fi_ops_atomic::readwritemsg, fetch_message_call<0>>,
    operation_tag<operation::compare_atomic, &fi_ops_atomic::compwrite, element_call<1, 7>>,
    operation_tag<operation::compare_atomicv, &fi_ops_atomic::compwritev,
                  element_vector_call<6, 8, 9>>,
    operation_tag<operation::compare_atomicmsg, &fi_ops_atomic::compwritemsg,
                  fetch_message_call<3>>>;

}  // namespace fabric

FABSCOPE_NAMESPACE_END

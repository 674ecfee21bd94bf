// SPDX-License-Identifier: Apache-2.0
// An operation policy of one's own: counts bytes per operation. And which calls reach a policy.
#include <doctest/doctest.h>

#include <array>
#include <cstdint>
#include <fabscope/fabric.hpp>

#include "fabric/fake_provider.hpp"

namespace {

namespace fabric = fabscope::fabric;
using fabscope::operation;

struct byte_counter : fabric::passive_policy {
  static inline std::array<std::uint64_t, static_cast<std::size_t>(operation::count_)> bytes{};
  static inline int polls = 0;

  static void issued(thread&, fabric::endpoint&, const fabric::request& call, const attempt&,
                     std::int64_t result) noexcept {
    if (result == 0) bytes[static_cast<std::size_t>(call.op)] += call.bytes;
  }
  static void polled(thread&, fabric::completion_queue&, const fabric::poll&) noexcept { ++polls; }
};
static_assert(fabric::operation_policy<byte_counter>);

std::uint64_t counted(operation op) { return byte_counter::bytes[static_cast<std::size_t>(op)]; }

TEST_CASE("fabric.policy: a user's policy sees every accepted call and its size") {
  fake::endpoint ep;
  fake::open(ep);
  REQUIRE(fabric::instrument<byte_counter>(&ep.object));
  byte_counter::bytes = {};
  char data[100];
  iovec parts[2] = {{data, 30}, {data, 12}};
  fi_msg message{};
  message.msg_iov = parts;
  message.iov_count = 2;
  message.context = data;
  CHECK(fi_send(&ep.object, data, 100, nullptr, 0, data) == 0);
  CHECK(fi_sendv(&ep.object, parts, nullptr, 2, 0, data) == 0);
  CHECK(fi_sendmsg(&ep.object, &message, FI_COMPLETION) == 0);
  CHECK(fi_senddata(&ep.object, data, 7, nullptr, 0, 0, data) == 0);
  CHECK(fi_inject(&ep.object, data, 8, 0) == 0);
  CHECK(fi_recv(&ep.object, data, 64, nullptr, 0, data) == 0);
  CHECK(fi_write(&ep.object, data, 50, nullptr, 0, 0, 0, data) == 0);
  ep.answer = -FI_EAGAIN;
  CHECK(fi_write(&ep.object, data, 50, nullptr, 0, 0, 0, data) == -FI_EAGAIN);
  CHECK(counted(operation::send) == 100);
  CHECK(counted(operation::sendv) == 42);
  CHECK(counted(operation::sendmsg) == 42);
  CHECK(counted(operation::senddata) == 7);
  CHECK(counted(operation::inject) == 8);
  CHECK(counted(operation::recv) == 64);
  CHECK(counted(operation::write) == 50);
  // Everything arrived as it was given.
  REQUIRE(ep.calls.size() == 7);
  CHECK(ep.calls[2].flags == FI_COMPLETION);
  for (const fake::call& one : ep.calls) {
    if (std::strcmp(one.name, "inject") != 0) CHECK(one.context == data);
  }
  CHECK(fi_close(&ep.object.fid) == 0);
}

TEST_CASE("fabric.policy: a provider that reads through its own table counts once") {
  fake::queue cq;
  fake::open(cq);
  REQUIRE(fabric::instrument<byte_counter>(&cq.object, FI_CQ_FORMAT_TAGGED));
  byte_counter::polls = 0;
  fi_cq_tagged_entry entry;
  CHECK(fi_cq_read(&cq.object, &entry, 1) == -FI_EAGAIN);  // the fake calls readfrom
  CHECK(byte_counter::polls == 1);
  CHECK(cq.reads == 1);
  CHECK(fi_cq_readfrom(&cq.object, &entry, 1, nullptr) == -FI_EAGAIN);
  CHECK(byte_counter::polls == 2);
  CHECK(fi_close(&cq.object.fid) == 0);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// The tag of each of the nine tagged calls, as a policy sees it.
#include <doctest/doctest.h>

#include <cstdint>
#include <fabscope/fabric/operations.hpp>

namespace {

namespace fabric = fabscope::fabric;

/// What the tag of one operation makes of a call's arguments.
template <fabscope::operation Op, class List>
struct description;
template <fabscope::operation Op, class... Tags>
struct description<Op, fabric::operation_list<Tags...>> {
  template <class... Args>
  static fabric::request of(Args... args) {
    fabric::request out;
    (add<Tags>(out, args...), ...);
    return out;
  }

 private:
  template <class Tag, class... Args>
  static void add(fabric::request& out, Args&... args) {
    if constexpr (Tag::op == Op) Tag::shape::describe(out, args...);
  }
};

template <fabscope::operation Op, class... Args>
fabric::request described(Args... args) {
  return description<Op, fabric::tagged_operations>::of(args...);
}

TEST_CASE("fabric.operations: tagged calls carry their tag, length, peer and context") {
  using fabscope::operation;
  char data[8] = {};
  const iovec parts[2] = {{data, 3}, {data, 4}};
  constexpr std::uint64_t tag = 0x1234567890abcdef;
  constexpr fi_addr_t peer = 9;
  const std::size_t seven = 7;
  const std::size_t two = 2;
  const void* const from = data;
  void* const to = data;
  void* const none = nullptr;
  void** const nones = nullptr;
  const std::uint64_t word = 55;
  fi_msg_tagged message{};
  message.msg_iov = parts;
  message.iov_count = 2;
  message.addr = peer;
  message.tag = tag;
  message.context = data;
  const fi_msg_tagged* whole = &message;
  const fabric::request seen[] = {
      described<operation::tsend>(from, seven, none, peer, tag, to),
      described<operation::tsendv>(&parts[0], nones, two, peer, tag, to),
      described<operation::tsendmsg>(whole, std::uint64_t{0}),
      described<operation::tsenddata>(from, seven, none, word, peer, tag, to),
      described<operation::tinject>(from, seven, peer, tag),
      described<operation::tinjectdata>(from, seven, word, peer, tag),
      described<operation::trecv>(to, seven, none, peer, tag, word, to),
      described<operation::trecvv>(&parts[0], nones, two, peer, tag, word, to),
      described<operation::trecvmsg>(whole, std::uint64_t{0}),
  };
  int injects = 0;
  for (const fabric::request& one : seen) {
    CHECK(one.tag == tag);
    CHECK(one.bytes == 7);
    CHECK(one.peer == peer);
    if (one.context == nullptr)
      ++injects;
    else
      CHECK(one.context == data);
  }
  CHECK(injects == 2);
}

}  // namespace

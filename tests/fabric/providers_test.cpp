// SPDX-License-Identifier: Apache-2.0
// Real providers over loopback: the application sees what it would see without the library, and
// what is counted equals what the test counted itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <fabscope/fabric.hpp>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "fabric/fixture.hpp"
#include "fabric/pair.hpp"

namespace {

namespace fs = fabscope;
using fabric_test::pair;
using fabric_test::recorded;
using fabric_test::seen;
using fabric_test::setup;
using fabric_test::side;
using fs::operation;

const auto follow = [](fid_fabric* fabric) { REQUIRE(fs::fabric::instrument(fabric)); };
const auto ignore = [](fid_fabric*) {};

struct total {
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
};
using totals = std::map<operation, total>;

std::size_t at_context(const side& s, const void* context) {
  return static_cast<std::size_t>(std::count_if(
      s.done.begin(), s.done.end(), [&](const seen& one) { return one.context == context; }));
}

/// One operation of every kind from a to b, each awaited. Returns what was done.
totals every_kind(pair& p) {
  totals mine;
  const std::string provider = fabric_test::provider_name();
  char* from = p.a.memory.data();
  char* into = p.b.memory.data();
  void* const own = p.a.mr == nullptr ? nullptr : fi_mr_desc(p.a.mr);
  void* const their = p.b.mr == nullptr ? nullptr : fi_mr_desc(p.b.mr);
  void* owns[2] = {own, own};
  void* theirs[2] = {their, their};
  static char contexts[64];
  int next = 0;

  const auto message = [&](operation sending, operation receiving, std::uint64_t size, auto&& send,
                           auto&& receive) {
    CAPTURE(std::string(fs::to_string(sending)));
    void* const send_context = &contexts[next++];
    void* const receive_context = &contexts[next++];
    std::memset(from, next, size);
    REQUIRE(p.again([&] { return receive(receive_context); }) == 0);
    REQUIRE(p.again([&] { return send(send_context); }) == 0);
    const bool silent = fs::is_inject(sending);
    REQUIRE(p.until([&] {
      return at_context(p.b, receive_context) == 1 &&
             (silent || at_context(p.a, send_context) == 1);
    }));
    CHECK(p.b.done.back().length == size);
    CHECK(into[size - 1] == from[size - 1]);
    mine[sending].count += 1;
    mine[sending].bytes += size;
    mine[receiving].count += 1;
    mine[receiving].bytes += size;
  };

  // Scatter lists of two parts; messages built from them.
  const auto parts_of = [](char* at, std::size_t size, iovec(&out)[2]) {
    out[0] = {at, size / 2};
    out[1] = {at + size / 2, size - size / 2};
  };
  iovec out[2];
  iovec in[2];
  fi_msg msg{};
  fi_msg_tagged tagged{};

  const auto recv = [&](void* c) { return fi_recv(p.b.ep, into, 4096, their, FI_ADDR_UNSPEC, c); };
  const auto trecv = [&](void* c) {
    return fi_trecv(p.b.ep, into, 4096, their, FI_ADDR_UNSPEC, 7, 0, c);
  };
  const fi_addr_t to = p.a.peer;
  message(
      operation::send, operation::recv, 100,
      [&](void* c) { return fi_send(p.a.ep, from, 100, own, to, c); }, recv);
  message(
      operation::sendv, operation::recvv, 200,
      [&](void* c) {
        parts_of(from, 200, out);
        return fi_sendv(p.a.ep, out, owns, 2, to, c);
      },
      [&](void* c) {
        parts_of(into, 4096, in);
        return fi_recvv(p.b.ep, in, theirs, 1, FI_ADDR_UNSPEC, c);
      });
  message(
      operation::sendmsg, operation::recvmsg, 300,
      [&](void* c) {
        parts_of(from, 300, out);
        msg = {out, owns, 2, to, c, 0};
        return fi_sendmsg(p.a.ep, &msg, FI_COMPLETION);
      },
      [&](void* c) {
        in[0] = {into, 4096};
        fi_msg m{in, theirs, 1, FI_ADDR_UNSPEC, c, 0};
        return fi_recvmsg(p.b.ep, &m, FI_COMPLETION);
      });
  message(
      operation::inject, operation::recv, 8, [&](void*) { return fi_inject(p.a.ep, from, 8, to); },
      recv);
  message(
      operation::tsend, operation::trecv, 64,
      [&](void* c) { return fi_tsend(p.a.ep, from, 64, own, to, 7, c); }, trecv);
  message(
      operation::tsendv, operation::trecvv, 65,
      [&](void* c) {
        parts_of(from, 65, out);
        return fi_tsendv(p.a.ep, out, owns, 2, to, 7, c);
      },
      [&](void* c) {
        in[0] = {into, 4096};
        return fi_trecvv(p.b.ep, in, theirs, 1, FI_ADDR_UNSPEC, 7, 0, c);
      });
  message(
      operation::tsendmsg, operation::trecvmsg, 66,
      [&](void* c) {
        parts_of(from, 66, out);
        tagged = {out, owns, 2, to, 7, 0, c, 0};
        return fi_tsendmsg(p.a.ep, &tagged, FI_COMPLETION);
      },
      [&](void* c) {
        in[0] = {into, 4096};
        fi_msg_tagged m{in, theirs, 1, FI_ADDR_UNSPEC, 7, 0, c, 0};
        return fi_trecvmsg(p.b.ep, &m, FI_COMPLETION);
      });
  message(
      operation::tinject, operation::trecv, 16,
      [&](void*) { return fi_tinject(p.a.ep, from, 16, to, 7); }, trecv);
  if (p.info->domain_attr->cq_data_size != 0) {
    message(
        operation::senddata, operation::recv, 101,
        [&](void* c) { return fi_senddata(p.a.ep, from, 101, own, 5, to, c); }, recv);
    message(
        operation::injectdata, operation::recv, 9,
        [&](void*) { return fi_injectdata(p.a.ep, from, 9, 5, to); }, recv);
    message(
        operation::tsenddata, operation::trecv, 67,
        [&](void* c) { return fi_tsenddata(p.a.ep, from, 67, own, 5, to, 7, c); }, trecv);
    message(
        operation::tinjectdata, operation::trecv, 17,
        [&](void*) { return fi_tinjectdata(p.a.ep, from, 17, 5, to, 7); }, trecv);
  }

  const auto rma = [&](operation op, std::uint64_t size, auto&& call) {
    void* const context = &contexts[next++];
    std::memset(from, next, size);
    const bool reads = fs::is_read(op);
    if (reads) std::memset(into, next + 1, size);
    REQUIRE(p.again([&] { return call(context); }) == 0);
    if (fs::is_inject(op)) {
      // volatile: written by the provider behind our back
      const volatile char* last = into + size - 1;
      REQUIRE(p.until([&] { return *last == from[size - 1]; }));
    } else {
      REQUIRE(p.until([&] { return at_context(p.a, context) == 1; }));
    }
    if (reads) CHECK(from[size - 1] == next + 1);
    mine[op].count += 1;
    mine[op].bytes += size;
  };
  if (p.a.mr != nullptr) {
    const std::uint64_t address = p.a.remote_address;
    const std::uint64_t key = p.a.remote_key;
    fi_rma_iov target{address, 500, key};
    rma(operation::write, 500,
        [&](void* c) { return fi_write(p.a.ep, from, 500, own, to, address, key, c); });
    rma(operation::writev, 501, [&](void* c) {
      parts_of(from, 501, out);
      return fi_writev(p.a.ep, out, owns, 1 + (p.info->tx_attr->iov_limit > 1), to, address, key,
                       c);
    });
    rma(operation::writemsg, 502, [&](void* c) {
      out[0] = {from, 502};
      target.len = 502;
      fi_msg_rma m{out, owns, 1, to, &target, 1, c, 0};
      return fi_writemsg(p.a.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE);
    });
    rma(operation::read, 600,
        [&](void* c) { return fi_read(p.a.ep, from, 600, own, to, address, key, c); });
    rma(operation::readv, 601, [&](void* c) {
      out[0] = {from, 601};
      return fi_readv(p.a.ep, out, owns, 1, to, address, key, c);
    });
    rma(operation::readmsg, 602, [&](void* c) {
      out[0] = {from, 602};
      target.len = 602;
      fi_msg_rma m{out, owns, 1, to, &target, 1, c, 0};
      return fi_readmsg(p.a.ep, &m, FI_COMPLETION);
    });
    rma(operation::inject_write, 8,
        [&](void*) { return fi_inject_write(p.a.ep, from, 8, to, address, key); });
  }
  return mine;
}

void check_counts(recorded& session, const totals& mine) {
  for (unsigned i = 1; i < static_cast<unsigned>(operation::count_); ++i) {
    const auto op = static_cast<operation>(i);
    const auto known = mine.find(op);
    const total expected = known == mine.end() ? total{} : known->second;
    CAPTURE(std::string(fs::to_string(op)));
    CHECK(session.count(op) == expected.count);
    CHECK(session.bytes(op) == expected.bytes);
  }
}

TEST_CASE("fabric.provider: every kind of operation") {
  recorded session;
  pair p(setup{}, follow);
  REQUIRE(p.usable);
  const totals mine = every_kind(p);
  check_counts(session, mine);
  std::uint64_t all = 0;
  for (const auto& [op, one] : mine) all += one.count;
  REQUIRE(session.records().size() == all);
  for (const fs::operation_record& one : session.records()) {
    CHECK(one.header.ticks <= one.end);
    CHECK(one.error == 0);
    CHECK(one.nic != 0);
    CHECK(one.local != 0);
    if (!fs::is_receive(static_cast<operation>(one.op))) CHECK(one.remote != 0);
  }
  // The links are named as the endpoints name themselves, on both sides.
  std::set<std::string> locals;
  std::set<std::string> remotes;
  for (const fs::link_row& row : session.rows<fs::link_row>()) {
    locals.insert(session.label(row.local));
    if (row.remote != 0) remotes.insert(session.label(row.remote));
  }
  CHECK(locals.size() == 2);
  for (const std::string& remote : remotes) CHECK(locals.count(remote) == 1);
  // NIC totals are those of the operations.
  total out;
  total in;
  total received;
  for (const auto& [op, one] : mine) {
    total& sum = fs::is_receive(op) ? received : fs::is_read(op) ? in : out;
    sum.count += one.count;
    sum.bytes += one.bytes;
  }
  const auto nics = session.rows<fs::nic_row>();
  REQUIRE(nics.size() == 1);
  CHECK(nics[0].out_ops == out.count);
  CHECK(nics[0].out_bytes == out.bytes);
  CHECK(nics[0].in_ops == in.count);
  CHECK(nics[0].in_bytes == in.bytes);
  CHECK(nics[0].received_ops == received.count);
  CHECK(nics[0].received_bytes == received.bytes);
  CHECK(nics[0].busy > 0);
  CHECK(fs::fabric::detail::pool().in_use() == 0);
}

TEST_CASE("fabric.provider: blocking reads give contexts back too") {
  if (fabric_test::provider_name() == "shm") {
    MESSAGE("fi_cq_sread of shm 1.17 does not return while the peer is in the same thread");
    return;
  }
  recorded session;
  setup what;
  what.waitable = true;
  pair p(what, follow);
  if (!p.usable) {
    MESSAGE("this provider has no waitable completion queue");
    return;
  }
  check_counts(session, every_kind(p));
  CHECK(p.a.calls[2] + p.a.calls[3] + p.b.calls[2] + p.b.calls[3] > 0);
}

TEST_CASE("fabric.provider: a storm of sends, refused and repeated") {
  recorded session;
  setup what;
  what.caps = FI_MSG | FI_TAGGED;
  pair p(what, follow);
  REQUIRE(p.usable);
  // udp;ofi_rxd 1.17 loses its way when more than a few are under way, with or without us.
  const std::string provider = fabric_test::provider_name();
  const int messages = provider == "sockets" ? 200 : provider == "udp;ofi_rxd" ? 60 : 3000;
  static char contexts[3000];
  int posted = 0;
  int sent = 0;
  void* const own = nullptr;
  while (sent < messages) {
    while (posted < messages && posted < sent + 64 &&
           fi_trecv(p.b.ep, p.b.memory.data(), 4096, nullptr, FI_ADDR_UNSPEC, 1, 0, &contexts[0]) ==
               0) {
      ++posted;  // all receives share one context
    }
    const ssize_t result =
        fi_tsend(p.a.ep, p.a.memory.data(), 2000, own, p.a.peer, 1, &contexts[sent]);
    if (result == 0)
      ++sent;
    else
      REQUIRE(result == -FI_EAGAIN);
    if (result != 0) {
      ++p.refused;
      p.poll();
    }
  }
  REQUIRE(p.until([&] {
    while (posted < messages && fi_trecv(p.b.ep, p.b.memory.data(), 4096, nullptr, FI_ADDR_UNSPEC,
                                         1, 0, &contexts[0]) == 0) {
      ++posted;
    }
    return p.a.done.size() >= static_cast<std::size_t>(messages) &&
           p.b.done.size() >= static_cast<std::size_t>(messages);
  }));
  std::set<void*> distinct;
  for (const seen& one : p.a.done) {
    CHECK(one.error == 0);
    distinct.insert(one.context);
  }
  CHECK(distinct.size() == static_cast<std::size_t>(messages));
  CHECK(*distinct.begin() == &contexts[0]);
  CHECK(*distinct.rbegin() == &contexts[messages - 1]);
  CHECK(at_context(p.b, &contexts[0]) == static_cast<std::size_t>(messages));
  const auto count = static_cast<std::uint64_t>(messages);
  CHECK(session.count(operation::tsend) == count);
  CHECK(session.count(operation::trecv) == count);
  CHECK(session.bytes(operation::trecv) == count * 2000);
  CHECK(session.failures(operation::tsend, fs::failure_stage::issue, FI_EAGAIN) == p.refused);
  std::uint64_t retries = 0;
  for (const fs::operation_record& one : session.records()) {
    if (one.op == static_cast<std::uint8_t>(operation::tsend)) retries += one.retries;
  }
  CHECK(retries == p.refused);
}

/// What an application can observe when it cancels, truncates and closes, as text.
std::vector<std::string> trouble(pair& p) {
  std::vector<std::string> log;
  static char context[4];
  const auto note = [&](const char* what, ssize_t value) {
    log.push_back(std::string(what) + " " + std::to_string(value));
  };
  const auto entries = [&](const char* what, side& s) {
    std::vector<std::string> lines;
    for (const seen& one : s.done) {
      const long index = static_cast<char*>(one.context) - context;
      const bool known = index >= 0 && index < 4;
      lines.push_back(std::string(what) + " context " +
                      (known ? std::to_string(index) : "strange") + " error " +
                      std::to_string(one.error));
    }
    std::sort(lines.begin(), lines.end());
    log.insert(log.end(), lines.begin(), lines.end());
    s.done.clear();
  };
  char* from = p.a.memory.data();
  char* into = p.b.memory.data();
  // Two receives with one context; one is cancelled, the other still works.
  note("trecv", fi_trecv(p.b.ep, into, 100, nullptr, FI_ADDR_UNSPEC, 5, 0, &context[0]));
  note("trecv", fi_trecv(p.b.ep, into, 100, nullptr, FI_ADDR_UNSPEC, 5, 0, &context[0]));
  note("cancel", fi_cancel(&p.b.ep->fid, &context[0]));
  p.until([&] { return !p.b.done.empty(); }, 10);
  entries("cancelled", p.b);
  note("tsend",
       p.again([&] { return fi_tsend(p.a.ep, from, 50, nullptr, p.a.peer, 5, &context[1]); }));
  p.until([&] { return !p.a.done.empty() && !p.b.done.empty(); }, 20);
  entries("sent", p.a);
  entries("received", p.b);
  note("cancel of nothing", fi_cancel(&p.b.ep->fid, &context[3]));
  // A message that is longer than the buffer.
  note("trecv", fi_trecv(p.b.ep, into, 10, nullptr, FI_ADDR_UNSPEC, 6, 0, &context[2]));
  note("tsend",
       p.again([&] { return fi_tsend(p.a.ep, from, 50, nullptr, p.a.peer, 6, &context[1]); }));
  p.until([&] { return !p.b.done.empty(); }, 20);
  p.until([&] { return !p.a.done.empty(); }, 2);
  entries("sent long", p.a);
  entries("truncated", p.b);
  // The endpoint goes with receives on it; what the queue still gives is the application's.
  for (int i = 0; i < 3; ++i) {
    note("trecv", fi_trecv(p.b.ep, into, 10, nullptr, FI_ADDR_UNSPEC, 9, 0, &context[i]));
  }
  note("close", fi_close(&p.b.ep->fid));
  p.b.ep = nullptr;
  for (int i = 0; i < 50; ++i) p.poll(p.b);
  entries("after close", p.b);
  return log;
}

TEST_CASE("fabric.provider: cancels, truncation and closing look the same with and without") {
  setup what;
  what.caps = FI_MSG | FI_TAGGED;
  std::vector<std::string> without;
  {
    pair p(what, ignore);
    REQUIRE(p.usable);
    without = trouble(p);
  }
  recorded session;
  std::vector<std::string> with;
  {
    pair p(what, follow);
    REQUIRE(p.usable);
    with = trouble(p);
    CHECK(session.failures(operation::trecv, fs::failure_stage::closed, 0) == 3);
  }
  CHECK(with == without);
  for (std::size_t i = 0; i < with.size() && i < without.size(); ++i) {
    if (with[i] != without[i]) MESSAGE("without: ", without[i], ", with: ", with[i]);
  }
  for (const std::string& line : with) CHECK(line.find("strange") == std::string::npos);
  const bool cancels =
      std::find(with.begin(), with.end(),
                "cancelled context 0 error " + std::to_string(FI_ECANCELED)) != with.end();
  CHECK(session.failures(operation::trecv, fs::failure_stage::completion, FI_ECANCELED) >=
        (cancels ? 1U : 0U));
  CHECK(fs::fabric::detail::pool().in_use() == 0);
}

TEST_CASE("fabric.provider: selective completion and counters leave no slot behind") {
  recorded session;
  setup what;
  what.caps = FI_MSG | FI_TAGGED;
  what.bind = FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION;
  what.counters = true;
  pair p(what, follow);
  REQUIRE(p.usable);
  constexpr std::uint64_t messages = 20;
  static char context;
  for (std::uint64_t i = 0; i < messages; ++i) {
    REQUIRE(p.again([&] {
      return fi_trecv(p.b.ep, p.b.memory.data(), 4096, nullptr, FI_ADDR_UNSPEC, 1, 0, &context);
    }) == 0);
    REQUIRE(p.again([&] {
      return fi_tsend(p.a.ep, p.a.memory.data(), 1000, nullptr, p.a.peer, 1, &context);
    }) == 0);
    REQUIRE(
        p.until([&] { return fi_cntr_read(p.b.counter) > i && fi_cntr_read(p.a.counter) > i; }));
  }
  CHECK(p.a.done.empty());
  CHECK(p.b.done.empty());
  CHECK(fs::fabric::detail::pool().in_use() == 0);
  // The counters say that they are complete: inferred, and nothing is left untimed.
  CHECK(session.tally("selective completion", "fi_tsend") == 0);
  CHECK(session.count(operation::tsend, fs::level_inferred) == messages);
  CHECK(session.bytes(operation::tsend) == messages * 1000);
  CHECK(session.count(operation::trecv, fs::level_inferred | fs::level_posted_size) == messages);
  for (const fs::operation_record& one : session.records()) {
    CHECK((one.flags & fs::operation_record::inferred) != 0);
    CHECK(one.end > one.header.ticks);
  }
  // A call that asks for its completion is followed.
  iovec part{p.a.memory.data(), 10};
  fi_msg_tagged message{&part, nullptr, 1, p.a.peer, 1, 0, &context, 0};
  REQUIRE(p.again([&] {
    return fi_trecv(p.b.ep, p.b.memory.data(), 4096, nullptr, FI_ADDR_UNSPEC, 1, 0, &context);
  }) == 0);
  REQUIRE(p.again([&] { return fi_tsendmsg(p.a.ep, &message, FI_COMPLETION); }) == 0);
  REQUIRE(p.until([&] { return !p.a.done.empty(); }));
  CHECK(p.a.done[0].context == &context);
  CHECK(session.count(operation::tsendmsg) == 1);
}

TEST_CASE("fabric.provider: a queue whose format the provider chose") {
  recorded session;
  setup what;
  what.caps = FI_MSG | FI_TAGGED;
  what.format = FI_CQ_FORMAT_UNSPEC;
  pair p(what, follow);
  REQUIRE(p.usable);
  static char context[2];
  REQUIRE(p.again([&] {
    return fi_trecv(p.b.ep, p.b.memory.data(), 4096, nullptr, FI_ADDR_UNSPEC, 1, 0, &context[0]);
  }) == 0);
  REQUIRE(p.again([&] {
    return fi_tsend(p.a.ep, p.a.memory.data(), 10, nullptr, p.a.peer, 1, &context[1]);
  }) == 0);
  REQUIRE(p.until([&] { return !p.a.done.empty() && !p.b.done.empty(); }));
  CHECK(p.a.done[0].context == &context[1]);
  CHECK(p.b.done[0].context == &context[0]);
  CHECK(session.count(operation::tsend) == 1);
}

}  // namespace

// SPDX-License-Identifier: Apache-2.0
// When a context is replaced, when not, and what becomes of it.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fabscope/fabric.hpp>

#include "fabric/fake_provider.hpp"
#include "fabric/fixture.hpp"

namespace {

namespace fs = fabscope;
namespace fabric = fabscope::fabric;
using fabric_test::recorded;
using fs::operation;

/// One endpoint with one queue, followed from the start.
struct linked {
  fake::endpoint ep;
  fake::queue cq;
  fake::info info;

  explicit linked(std::uint64_t bind = FI_TRANSMIT | FI_RECV, std::uint64_t tx_flags = 0,
                  std::uint64_t rx_flags = 0, fi_cq_format format = FI_CQ_FORMAT_TAGGED) {
    fake::open(ep);
    fake::open(cq, format);
    info.tx.op_flags = tx_flags;
    info.rx.op_flags = rx_flags;
    REQUIRE(fabric::instrument(&cq.object, format));
    REQUIRE(fabric::instrument(&ep.object, &info.object));
    REQUIRE(fi_ep_bind(&ep.object, &cq.object.fid, bind) == 0);
    REQUIRE(fi_enable(&ep.object) == 0);
  }
  ~linked() {
    if (!closed) CHECK(fi_close(&ep.object.fid) == 0);
    CHECK(fi_close(&cq.object.fid) == 0);
  }
  bool closed = false;

  void* last() const { return ep.calls.back().context; }
  bool redirected(const void* given) const { return last() != given; }
  void complete(void* context, std::size_t length = 0, std::uint64_t flags = 0) {
    fi_cq_tagged_entry entry{};
    entry.op_context = context;
    entry.len = length;
    entry.flags = flags;
    cq.entries.push_back(entry);
  }
  fi_cq_tagged_entry read() {
    fi_cq_tagged_entry entry{};
    REQUIRE(fi_cq_read(&cq.object, &entry, 1) == 1);
    return entry;
  }
};

char mine[8];  // contexts of the application

TEST_CASE("fabric.timing: a context is replaced, and the application gets its own back") {
  recorded session;
  linked to;
  REQUIRE(fi_send(&to.ep.object, mine, 5, nullptr, 0, mine) == 0);
  CHECK(to.redirected(mine));
  CHECK(reinterpret_cast<std::uintptr_t>(to.last()) % 64 == 0);
  std::memset(to.last(), 0xab, 64);  // what FI_CONTEXT2 providers may do
  to.complete(to.last());
  CHECK(to.read().op_context == mine);
  CHECK(session.count(operation::send) == 1);
  CHECK(session.bytes(operation::send) == 5);
  REQUIRE(session.records().size() == 1);
  const fs::operation_record record = session.records()[0];
  CHECK(record.header.ticks <= record.end);
  CHECK(record.bytes == 5);
  CHECK(record.error == 0);
  CHECK(session.label(record.local) == "me");
  CHECK(session.label(record.nic) == "fake0");
}

TEST_CASE("fabric.timing: contexts may be null or shared") {
  recorded session;
  linked to;
  REQUIRE(fi_send(&to.ep.object, mine, 1, nullptr, 0, nullptr) == 0);
  REQUIRE(fi_recv(&to.ep.object, mine, 9, nullptr, 0, mine) == 0);
  REQUIRE(fi_recv(&to.ep.object, mine, 9, nullptr, 0, mine) == 0);
  for (const fake::call& one : to.ep.calls) to.complete(one.context, 3);
  CHECK(to.read().op_context == nullptr);
  CHECK(to.read().op_context == mine);
  CHECK(to.read().op_context == mine);
  CHECK(session.count(operation::recv) == 2);
  CHECK(session.bytes(operation::recv) == 6);  // what came, not what there was room for
}

TEST_CASE("fabric.timing: all five reads give the context back, in every format") {
  for (const fi_cq_format format :
       {FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED}) {
    recorded session;
    linked to(FI_TRANSMIT | FI_RECV, 0, 0, format);
    alignas(8) unsigned char entries[3 * 48];
    fi_addr_t sources[3];
    const std::size_t stride = fabric::detail::entry_bytes(format);
    const auto context = [&](std::size_t i) {
      void* out;
      std::memcpy(&out, entries + i * stride, sizeof out);
      return out;
    };
    for (int how = 0; how < 4; ++how) {
      to.ep.calls.clear();
      for (int i = 0; i < 3; ++i)
        REQUIRE(fi_recv(&to.ep.object, mine, 4, nullptr, 0, mine + i) == 0);
      for (const fake::call& one : to.ep.calls) to.complete(one.context, 2);
      std::memset(entries, 0, sizeof entries);
      ssize_t got = 0;
      if (how == 0) got = fi_cq_read(&to.cq.object, entries, 3);
      if (how == 1) got = fi_cq_readfrom(&to.cq.object, entries, 3, sources);
      if (how == 2) got = fi_cq_sread(&to.cq.object, entries, 3, nullptr, 100);
      if (how == 3) got = fi_cq_sreadfrom(&to.cq.object, entries, 3, sources, nullptr, 100);
      REQUIRE(got == 3);
      for (std::size_t i = 0; i < 3; ++i) CHECK(context(i) == mine + i);
    }
    CHECK(session.count(operation::recv) == 12);
    // Without a length the bytes are those of the buffers, and the row says so.
    const bool knows = format != FI_CQ_FORMAT_CONTEXT;
    CHECK(session.bytes(operation::recv) == (knows ? 24 : 48));
    CHECK(session.count(operation::recv, fs::level_posted_size) == (knows ? 0 : 12));
  }
}

TEST_CASE("fabric.timing: a failed operation is counted by its error and not as latency") {
  recorded session;
  linked to;
  REQUIRE(fi_recv(&to.ep.object, mine, 4, nullptr, 0, mine) == 0);
  fi_cq_err_entry error{};
  error.op_context = to.last();
  error.err = FI_ETRUNC;
  error.len = 4;
  to.cq.errors.push_back(error);
  fi_cq_tagged_entry entry;
  CHECK(fi_cq_read(&to.cq.object, &entry, 1) == -FI_EAVAIL);
  fi_cq_err_entry seen{};
  REQUIRE(fi_cq_readerr(&to.cq.object, &seen, 0) == 1);
  CHECK(seen.op_context == mine);
  CHECK(seen.err == FI_ETRUNC);
  CHECK(session.count(operation::recv) == 0);
  CHECK(session.failures(operation::recv, fs::failure_stage::completion, FI_ETRUNC) == 1);
  REQUIRE(session.records().size() == 1);
  CHECK(session.records()[0].error == FI_ETRUNC);
}

TEST_CASE("fabric.timing: error entries with contexts that are not ours are left as they are") {
  recorded session;
  linked to;
  for (void* context : {static_cast<void*>(nullptr), static_cast<void*>(mine),
                        reinterpret_cast<void*>(std::uintptr_t{1})}) {
    fi_cq_err_entry error{};
    error.op_context = context;
    error.err = FI_EIO;
    to.cq.errors.push_back(error);
    fi_cq_err_entry seen{};
    REQUIRE(fi_cq_readerr(&to.cq.object, &seen, 0) == 1);
    CHECK(seen.op_context == context);
  }
  CHECK(fi_cq_readerr(&to.cq.object, nullptr, 0) == -FI_EAGAIN);
}

TEST_CASE("fabric.timing: where no completion is sure, the context stays the application's") {
  recorded session;
  SUBCASE("selective completion, none asked for") {
    linked to(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION);
    REQUIRE(fi_send(&to.ep.object, mine, 5, nullptr, 0, mine) == 0);
    CHECK_FALSE(to.redirected(mine));
    CHECK(session.tally("selective completion", "fi_send") == 1);
    CHECK(session.count(operation::send, fs::level_untimed) == 1);
    CHECK(session.bytes(operation::send) == 5);
    fi_msg message{};
    message.context = mine;
    REQUIRE(fi_sendmsg(&to.ep.object, &message, FI_DELIVERY_COMPLETE) == 0);
    CHECK_FALSE(to.redirected(mine));
    REQUIRE(fi_sendmsg(&to.ep.object, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE) == 0);
    CHECK(to.redirected(mine));
    to.complete(to.last());
    CHECK(to.read().op_context == mine);
    CHECK(session.count(operation::sendmsg, static_cast<int>(fs::completion_level::delivery)) == 1);
  }
  SUBCASE("selective completion, asked for by the endpoint's flags") {
    linked to(FI_TRANSMIT | FI_SELECTIVE_COMPLETION, FI_COMPLETION);
    REQUIRE(fi_send(&to.ep.object, mine, 5, nullptr, 0, mine) == 0);
    CHECK(to.redirected(mine));
    to.complete(to.last());
    CHECK(to.read().op_context == mine);
  }
  SUBCASE("triggered") {
    linked to(FI_TRANSMIT | FI_RECV, FI_TRIGGER);
    REQUIRE(fi_write(&to.ep.object, mine, 5, nullptr, 0, 0, 0, mine) == 0);
    CHECK_FALSE(to.redirected(mine));
    CHECK(session.tally("triggered operation", "fi_write") == 1);
  }
  SUBCASE("flags of one call") {
    linked to;
    fi_msg message{};
    message.context = mine;
    for (const std::uint64_t flag :
         {FI_TRIGGER, FI_PEEK, FI_PEEK | FI_CLAIM, FI_CLAIM, FI_DISCARD, FI_MULTI_RECV}) {
      REQUIRE(fi_recvmsg(&to.ep.object, &message, flag | FI_COMPLETION) == 0);
      CHECK_FALSE(to.redirected(mine));
    }
    CHECK(session.tally("peek, claim or discard", "fi_recvmsg") == 4);
    CHECK(session.tally("multi-receive", "fi_recvmsg") == 1);
  }
  SUBCASE("a multi-receive by the endpoint's flags") {
    linked to(FI_TRANSMIT | FI_RECV, 0, FI_MULTI_RECV);
    REQUIRE(fi_recv(&to.ep.object, mine, 5, nullptr, 0, mine) == 0);
    CHECK_FALSE(to.redirected(mine));
  }
  SUBCASE("an unknown format") {
    linked to(FI_TRANSMIT | FI_RECV, 0, 0, FI_CQ_FORMAT_UNSPEC);
    REQUIRE(fi_send(&to.ep.object, mine, 5, nullptr, 0, mine) == 0);
    CHECK_FALSE(to.redirected(mine));
    CHECK(session.tally("unknown completion format", "fi_send") == 1);
    to.complete(mine);
    void* context = nullptr;
    REQUIRE(fi_cq_read(&to.cq.object, &context, 1) == 1);
    CHECK(context == mine);
  }
  SUBCASE("a queue that is not hooked") {
    fake::endpoint ep;
    fake::queue cq;
    fake::info info;
    fake::open(ep);
    fake::open(cq);
    REQUIRE(fabric::instrument(&ep.object, &info.object));
    REQUIRE(fi_send(&ep.object, mine, 5, nullptr, 0, mine) == 0);
    CHECK(session.tally("no completion queue known", "fi_send") == 1);
    REQUIRE(fi_ep_bind(&ep.object, &cq.object.fid, FI_TRANSMIT) == 0);
    REQUIRE(fi_send(&ep.object, mine, 5, nullptr, 0, mine) == 0);
    CHECK(ep.calls.back().context == mine);
    CHECK(session.tally("queue not hooked", "fi_send") == 1);
    CHECK(fi_close(&ep.object.fid) == 0);
  }
  SUBCASE("an endpoint whose own flags are not known") {
    fake::endpoint ep;
    fake::queue cq;
    fake::open(ep);
    fake::open(cq);
    REQUIRE(fabric::instrument(&cq.object, FI_CQ_FORMAT_TAGGED));
    REQUIRE(fabric::instrument(&ep.object));
    REQUIRE(fi_ep_bind(&ep.object, &cq.object.fid, FI_TRANSMIT) == 0);
    REQUIRE(fi_send(&ep.object, mine, 5, nullptr, 0, mine) == 0);
    CHECK(ep.calls.back().context == mine);
    fi_msg message{};
    message.context = mine;
    REQUIRE(fi_sendmsg(&ep.object, &message, 0) == 0);
    CHECK(ep.calls.back().context != mine);
    CHECK(fi_close(&ep.object.fid) == 0);
    CHECK(fi_close(&cq.object.fid) == 0);
  }
  SUBCASE("an alias") {
    linked to;
    fid_ep alias{};
    to.ep.alias = &alias;
    fid_ep* out = nullptr;
    REQUIRE(fi_ep_alias(&to.ep.object, &out, FI_TRANSMIT | FI_TRIGGER) == 0);
    // The fake finds its notes by the address of the endpoint: only the decision is looked at.
    auto& hook = *static_cast<fabric::endpoint*>(fabric::detail::prefix_of(alias.msg).hook);
    CHECK(hook.transmit.plain == fabric::reason::alias);
    CHECK(hook.transmit.message == fabric::reason::alias);
  }
}

TEST_CASE("fabric.timing: inject calls are timed as calls") {
  recorded session;
  linked to;
  REQUIRE(fi_inject(&to.ep.object, mine, 8, 0) == 0);
  CHECK(session.count(operation::inject) == 1);
  CHECK(session.bytes(operation::inject) == 8);
  REQUIRE(session.records().size() == 1);
  CHECK(session.records()[0].header.ticks <= session.records()[0].end);
}

TEST_CASE("fabric.timing: refused calls give the slot back, and the stall is kept apart") {
  recorded session;
  linked to;
  to.ep.answer = -FI_EAGAIN;
  for (int i = 0; i < 1000; ++i) {
    REQUIRE(fi_send(&to.ep.object, mine, 5, nullptr, 0, mine) == -FI_EAGAIN);
  }
  CHECK(fabric::detail::pool().in_use() == 0);
  to.ep.answer = -FI_EINVAL;
  REQUIRE(fi_recv(&to.ep.object, mine, 5, nullptr, 0, mine) == -FI_EINVAL);
  to.ep.answer = 0;
  REQUIRE(fi_send(&to.ep.object, mine, 5, nullptr, 0, mine) == 0);
  to.complete(to.last());
  CHECK(to.read().op_context == mine);
  CHECK(session.count(operation::send) == 1);
  CHECK(session.failures(operation::send, fs::failure_stage::issue, FI_EAGAIN) == 1000);
  CHECK(session.failures(operation::recv, fs::failure_stage::issue, FI_EINVAL) == 1);
  REQUIRE(session.records().size() == 1);
  CHECK(session.records()[0].retries == 1000);
  for (const fs::link_error_row& row : session.rows<fs::link_error_row>()) {
    if (row.error == FI_EAGAIN)
      CHECK(row.stall > session.records()[0].end - session.records()[0].header.ticks);
  }
}

TEST_CASE("fabric.timing: fi_cancel reaches the operations of a context, the oldest first") {
  recorded session;
  linked to;
  static char other;
  REQUIRE(fi_recv(&to.ep.object, mine, 4, nullptr, 0, &other) == 0);
  for (int i = 0; i < 3; ++i) REQUIRE(fi_recv(&to.ep.object, mine, 4, nullptr, 0, mine) == 0);
  void* const first = to.ep.calls[1].context;
  void* const second = to.ep.calls[2].context;
  void* const third = to.ep.calls[3].context;
  // The first is complete already, but nobody has read that: the provider does not know it any
  // more.
  to.ep.unknown_to_cancel = {first};
  CHECK(fi_cancel(&to.ep.object.fid, mine) == 0);
  REQUIRE(to.ep.cancelled.size() == 1);
  CHECK(to.ep.cancelled[0] == second);
  CHECK(fi_cancel(&to.ep.object.fid, mine) == 0);  // the next one, not the same again
  REQUIRE(to.ep.cancelled.size() == 2);
  CHECK(to.ep.cancelled[1] == third);
  // Contexts that nothing in flight has go through as they are.
  CHECK(fi_cancel(&to.ep.object.fid, &session) == 0);
  CHECK(to.ep.cancelled[2] == &session);
  fi_cq_err_entry error{};
  error.op_context = second;
  error.err = FI_ECANCELED;
  to.cq.errors.push_back(error);
  fi_cq_err_entry seen{};
  REQUIRE(fi_cq_readerr(&to.cq.object, &seen, 0) == 1);
  CHECK(seen.op_context == mine);
  CHECK(session.failures(operation::recv, fs::failure_stage::completion, FI_ECANCELED) == 1);
}

TEST_CASE("fabric.timing: an endpoint closed with operations in flight leaves nothing behind") {
  recorded session;
  {
    linked to;
    REQUIRE(fi_recv(&to.ep.object, mine, 4, nullptr, 0, mine) == 0);
    REQUIRE(fi_recv(&to.ep.object, mine, 4, nullptr, 0, mine + 1) == 0);
    REQUIRE(fi_send(&to.ep.object, mine, 4, nullptr, 0, mine + 2) == 0);
    void* const late = to.last();
    CHECK(fi_close(&to.ep.object.fid) == 0);
    to.closed = true;
    CHECK(fabric::detail::pool().in_use() == 3);
    CHECK(session.failures(operation::recv, fs::failure_stage::closed, 0) == 2);
    CHECK(session.failures(operation::send, fs::failure_stage::closed, 0) == 1);
    REQUIRE(session.records().size() == 3);
    for (const fs::operation_record& one : session.records()) {
      CHECK(one.flags == fs::operation_record::abandoned);
    }
    to.complete(late);
    CHECK(to.read().op_context == mine + 2);
    CHECK(session.count(operation::send) == 0);  // it was counted when the endpoint went
    CHECK(fabric::detail::pool().in_use() == 2);
  }
  CHECK(fabric::detail::pool().in_use() == 0);
}

TEST_CASE("fabric.timing: with recording off calls pass, and what is in flight comes back") {
  recorded session;
  linked to;
  REQUIRE(fi_send(&to.ep.object, mine, 4, nullptr, 0, mine) == 0);
  void* const slot = to.last();
  session.session().enable(false);
  REQUIRE(fi_send(&to.ep.object, mine, 4, nullptr, 0, mine + 1) == 0);
  CHECK(to.last() == mine + 1);
  to.complete(slot);
  CHECK(to.read().op_context == mine);
  CHECK(fabric::detail::pool().in_use() == 0);
  session.session().enable(true);
  REQUIRE(fi_send(&to.ep.object, mine, 4, nullptr, 0, mine) == 0);
  CHECK(to.redirected(mine));
  to.complete(to.last());
  CHECK(to.read().op_context == mine);
  CHECK(session.count(operation::send) == 1);
}

TEST_CASE("fabric.timing: an operation that outlives its session gives only its context back") {
  auto first = std::make_unique<recorded>();
  linked to;
  REQUIRE(fi_send(&to.ep.object, mine, 4, nullptr, 0, mine) == 0);
  void* const slot = to.last();
  first.reset();
  recorded second;
  REQUIRE(fi_send(&to.ep.object, mine, 4, nullptr, 0, mine + 1) == 0);
  void* const newer = to.last();
  to.complete(slot);
  to.complete(newer);
  CHECK(to.read().op_context == mine);
  CHECK(to.read().op_context == mine + 1);
  CHECK(second.count(operation::send) == 1);
  REQUIRE(second.records().size() == 1);
  CHECK(second.label(second.records()[0].local) == "me");  // labels are this session's
  CHECK(fabric::detail::pool().in_use() == 0);
}

TEST_CASE("fabric.timing: polls, empty polls, entries and gaps of a queue") {
  recorded session;
  linked to;
  fi_cq_tagged_entry entries[4];
  for (int i = 0; i < 10; ++i) CHECK(fi_cq_read(&to.cq.object, entries, 4) == -FI_EAGAIN);
  for (int i = 0; i < 3; ++i) REQUIRE(fi_send(&to.ep.object, mine, 4, nullptr, 0, mine) == 0);
  for (const fake::call& one : to.ep.calls) to.complete(one.context);
  CHECK(fi_cq_read(&to.cq.object, entries, 4) == 3);
  CHECK(fi_cq_sread(&to.cq.object, entries, 4, nullptr, 0) == -FI_EAGAIN);
  const auto rows = session.rows<fs::cq_row>();
  REQUIRE(rows.size() == 1);
  const fs::cq_row& row = rows[0];
  CHECK(row.polls == 12);
  CHECK(row.productive == 1);
  CHECK(row.entries == 3);
  CHECK(row.most == 3);
  CHECK(row.blocking == 1);
  std::uint64_t gaps = 0;
  for (const std::uint64_t count : row.gap) gaps += count;
  CHECK(gaps == 11);  // the first poll has none
}

}  // namespace

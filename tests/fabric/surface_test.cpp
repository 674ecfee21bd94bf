// SPDX-License-Identifier: Apache-2.0
// The operations and objects beyond messages on one endpoint: each call reaches the provider as it
// was made, and is counted or followed.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstring>
#include <fabscope/fabric.hpp>
#include <string>

#include "fabric/fake_objects.hpp"
#include "fabric/fixture.hpp"

namespace {

namespace fs = fabscope;
namespace fabric = fabscope::fabric;
using fabric_test::recorded;
using fs::operation;

char surface_contexts[8];  // contexts of the application

/// A fabric that is followed, with a domain in it.
struct opened {
  fake::world world;
  fake::info info;
  fid_domain* domain = nullptr;

  opened() {
    info.object.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_COLLECTIVE;
    fake::open(world);
    REQUIRE(fabric::instrument(&world.fabric));
    REQUIRE(fi_domain(&world.fabric, &info.object, &domain, nullptr) == 0);
  }
  ~opened() {
    CHECK(fi_close(&domain->fid) == 0);
    CHECK(fi_close(&world.fabric.fid) == 0);
  }
  fid_cq* queue(fi_cq_format format = FI_CQ_FORMAT_TAGGED) {
    fi_cq_attr attributes{};
    attributes.format = format;
    fid_cq* out = nullptr;
    REQUIRE(fi_cq_open(domain, &attributes, &out, nullptr) == 0);
    return out;
  }
  fid_ep* endpoint() {
    fid_ep* out = nullptr;
    REQUIRE(fi_endpoint(domain, &info.object, &out, nullptr) == 0);
    return out;
  }
  fid_cntr* counter() {
    fi_cntr_attr attributes{};
    fid_cntr* out = nullptr;
    REQUIRE(fi_cntr_open(domain, &attributes, &out, nullptr) == 0);
    return out;
  }
  void complete_all(fake::endpoint& ep, fid_cq* cq) {
    for (const fake::call& one : ep.calls) {
      fi_cq_tagged_entry entry{};
      entry.op_context = one.context;
      world.cq.entries.push_back(entry);
    }
    const std::size_t count = ep.calls.size();
    ep.calls.clear();
    for (std::size_t i = 0; i < count; ++i) {
      fi_cq_tagged_entry seen{};
      REQUIRE(fi_cq_read(cq, &seen, 1) == 1);
      CHECK(seen.op_context == surface_contexts);
    }
  }
};

TEST_CASE("fabric.surface: every atomic is followed, with the bytes of what it moves") {
  recorded session;
  opened all;
  fid_cq* cq = all.queue();
  fid_ep* ep = all.endpoint();
  REQUIRE(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV) == 0);
  std::uint64_t values[4] = {};
  fi_ioc parts[2] = {{values, 2}, {values, 1}};
  fi_ioc results[1] = {{values, 3}};
  fi_msg_atomic message{};
  message.msg_iov = parts;
  message.iov_count = 2;
  message.datatype = FI_UINT32;
  message.context = surface_contexts;
  CHECK(fi_atomic(ep, values, 4, nullptr, 0, 0, 0, FI_UINT64, FI_SUM, surface_contexts) == 0);
  CHECK(fi_atomicv(ep, parts, nullptr, 2, 0, 0, 0, FI_UINT16, FI_SUM, surface_contexts) == 0);
  CHECK(fi_atomicmsg(ep, &message, FI_COMPLETION) == 0);
  CHECK(fi_fetch_atomic(ep, values, 1, nullptr, values, nullptr, 0, 0, 0, FI_UINT64, FI_SUM,
                        surface_contexts) == 0);
  CHECK(fi_fetch_atomicv(ep, parts, nullptr, 2, results, nullptr, 1, 0, 0, 0, FI_DOUBLE, FI_SUM,
                         surface_contexts) == 0);
  CHECK(fi_fetch_atomicmsg(ep, &message, results, nullptr, 1, FI_COMPLETION) == 0);
  CHECK(fi_compare_atomic(ep, values, 2, nullptr, values, nullptr, values, nullptr, 0, 0, 0,
                          FI_UINT64, FI_CSWAP, surface_contexts) == 0);
  CHECK(fi_compare_atomicv(ep, parts, nullptr, 2, parts, nullptr, 2, results, nullptr, 1, 0, 0, 0,
                           FI_UINT8, FI_CSWAP, surface_contexts) == 0);
  CHECK(fi_compare_atomicmsg(ep, &message, parts, nullptr, 2, results, nullptr, 1, FI_COMPLETION) ==
        0);
  static constexpr const char* names[] = {"atomic",         "atomicv",         "atomicmsg",
                                          "fetch_atomic",   "fetch_atomicv",   "fetch_atomicmsg",
                                          "compare_atomic", "compare_atomicv", "compare_atomicmsg"};
  REQUIRE(all.world.ep.calls.size() == 9);
  for (std::size_t i = 0; i < 9; ++i) {
    CHECK(std::string(all.world.ep.calls[i].name) == names[i]);
    CHECK(all.world.ep.calls[i].context != surface_contexts);
  }
  CHECK(message.context == surface_contexts);  // the application's struct is its own
  all.complete_all(all.world.ep, cq);
  CHECK(fi_inject_atomic(ep, values, 1, 0, 0, 0, FI_INT8, FI_SUM) == 0);
  CHECK(session.bytes(operation::atomic) == 32);
  CHECK(session.bytes(operation::atomicv) == 6);
  CHECK(session.bytes(operation::atomicmsg) == 12);
  CHECK(session.bytes(operation::fetch_atomic) == 8);
  CHECK(session.bytes(operation::fetch_atomicv) == 24);
  CHECK(session.bytes(operation::fetch_atomicmsg) == 12);
  CHECK(session.bytes(operation::compare_atomic) == 16);
  CHECK(session.bytes(operation::compare_atomicv) == 3);
  CHECK(session.bytes(operation::compare_atomicmsg) == 12);
  CHECK(session.bytes(operation::inject_atomic) == 1);
  const auto nics = session.rows<fs::nic_row>();
  REQUIRE(nics.size() == 1);
  CHECK(nics[0].out_ops == 4);
  CHECK(nics[0].in_ops == 6);
  CHECK(fabric::detail::pool().in_use() == 0);
  CHECK(fi_close(&ep->fid) == 0);
  CHECK(fi_close(&cq->fid) == 0);
}

TEST_CASE("fabric.surface: tables that the capabilities do not need are not looked at") {
  recorded session;
  opened all;
  all.info.object.caps = FI_MSG;
  auto* const poison = reinterpret_cast<fi_ops_tagged*>(std::uintptr_t{1});
  all.world.ep.object.tagged = poison;  // the provider's own memory, perhaps
  all.world.ep.object.atomic = reinterpret_cast<fi_ops_atomic*>(std::uintptr_t{1});
  all.world.ep.object.collective = reinterpret_cast<fi_ops_collective*>(std::uintptr_t{1});
  fid_ep* ep = all.endpoint();
  CHECK(ep->tagged == poison);
  CHECK(ep->msg != &fake::first_msg);
  CHECK(fi_close(&ep->fid) == 0);
}

TEST_CASE("fabric.surface: collectives pass as they are and are counted") {
  recorded session;
  opened all;
  fid_ep* ep = all.endpoint();
  CHECK(fi_barrier(ep, 0, surface_contexts) == 0);
  CHECK(fi_barrier(ep, 0, surface_contexts) == 0);
  CHECK(fi_allreduce(ep, nullptr, 0, nullptr, nullptr, nullptr, 0, FI_INT8, FI_SUM, 5,
                     surface_contexts) == 0);
  REQUIRE(all.world.ep.calls.size() == 3);
  for (const fake::call& one : all.world.ep.calls) CHECK(one.context == surface_contexts);
  CHECK(all.world.ep.calls[2].flags == 5);
  CHECK((ep->collective->alltoall == nullptr));
  CHECK(session.tally("collective operation", "fi_barrier") == 2);
  CHECK(session.tally("collective operation", "fi_allreduce") == 1);
  CHECK(fi_close(&ep->fid) == 0);
}

/// An endpoint whose operations only a counter tells of.
struct counting : opened {
  fid_cq* cq = queue();
  fid_ep* ep = endpoint();
  fid_cntr* done = counter();
  explicit counting(std::uint64_t kinds = FI_SEND | FI_RECV | FI_READ | FI_WRITE) {
    REQUIRE(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION) == 0);
    REQUIRE(fi_ep_bind(ep, &done->fid, kinds) == 0);
  }
  ~counting() {
    if (ep != nullptr) CHECK(fi_close(&ep->fid) == 0);
    CHECK(fi_close(&cq->fid) == 0);
    if (done != nullptr) CHECK(fi_close(&done->fid) == 0);
  }
  void write(std::size_t size) {
    REQUIRE(fi_write(ep, surface_contexts, size, nullptr, 0, 0, 0, surface_contexts) == 0);
    CHECK(world.ep.calls.back().context == surface_contexts);
  }
};

TEST_CASE("fabric.surface: a counter concludes the oldest operations, and they are marked") {
  recorded session;
  counting all;
  const int inferred = fs::level_inferred;
  for (std::size_t i = 0; i < 3; ++i) all.write(100 + i);
  REQUIRE(fi_recv(all.ep, surface_contexts, 50, nullptr, 0, surface_contexts) == 0);
  CHECK(fi_cntr_read(all.done) == 0);
  CHECK(session.count(operation::write) == 0);
  all.world.cntr.value = 2;
  CHECK(fi_cntr_read(all.done) == 2);
  CHECK(session.count(operation::write, inferred) == 2);
  CHECK(session.bytes(operation::write) == 201);
  CHECK(fi_cntr_read(all.done) == 2);
  CHECK(session.count(operation::write, inferred) == 2);
  all.world.cntr.value = 4;
  CHECK(fi_cntr_wait(all.done, 4, 0) == 0);
  CHECK(session.count(operation::write, inferred) == 3);
  CHECK(session.count(operation::recv, inferred | fs::level_posted_size) == 1);
  CHECK(session.tally("selective completion", "fi_write") == 0);
  REQUIRE(session.records().size() == 4);
  for (const fs::operation_record& one : session.records()) {
    CHECK((one.flags & fs::operation_record::inferred) != 0);
    CHECK(one.header.ticks <= one.end);
  }
  // Calls that have no completion to wait for take part in the count.
  REQUIRE(fi_inject(all.ep, surface_contexts, 4, 0) == 0);
  all.write(7);
  all.world.cntr.value = 5;
  CHECK(fi_cntr_read(all.done) == 5);  // that was the inject call
  CHECK(session.bytes(operation::write) == 303);
  all.world.cntr.value = 6;
  CHECK(fi_cntr_read(all.done) == 6);
  CHECK(session.bytes(operation::write) == 310);
  // What the application adds is not complete.
  all.write(1);
  CHECK(fi_cntr_add(all.done, 10) == 0);
  CHECK(fi_cntr_read(all.done) == 16);
  CHECK(session.bytes(operation::write) == 310);
  all.world.cntr.value = 17;
  CHECK(fi_cntr_read(all.done) == 17);
  CHECK(session.bytes(operation::write) == 311);
  CHECK(fi_cntr_set(all.done, 0) == 0);
  all.write(1);
  all.world.cntr.value = 1;
  CHECK(fi_cntr_read(all.done) == 1);
  CHECK(session.bytes(operation::write) == 312);
  // And the polling of a counter is polling.
  bool found = false;
  for (const fs::cq_row& row : session.rows<fs::cq_row>()) {
    if (session.label(row.cq).rfind("counter ", 0) != 0) continue;
    found = true;
    CHECK(row.polls == 9);
    CHECK(row.blocking == 1);
  }
  CHECK(found);
}

TEST_CASE("fabric.surface: what no counter concludes is untimed, and nothing is lost") {
  recorded session;
  SUBCASE("the counter counts what peers do, too") {
    counting all(FI_WRITE | FI_REMOTE_WRITE);
    all.write(5);
    all.world.cntr.value = 1;
    CHECK(fi_cntr_read(all.done) == 1);
    CHECK(session.count(operation::write, fs::level_untimed) == 1);
    CHECK(session.tally("selective completion", "fi_write") == 1);
  }
  SUBCASE("set while operations were in flight") {
    counting all;
    all.write(5);
    CHECK(fi_cntr_set(all.done, 3) == 0);
    CHECK(fi_cntr_read(all.done) == 3);
    CHECK(session.count(operation::write, fs::level_untimed) == 1);
    all.write(6);
    CHECK(session.count(operation::write, fs::level_untimed) == 2);
  }
  SUBCASE("more in flight than are kept") {
    counting all;
    constexpr std::uint64_t count = fabric::detail::counted_operations::places + 10;
    for (std::uint64_t i = 0; i < count; ++i) all.write(1);
    CHECK(session.count(operation::write, fs::level_untimed) == 10);
    all.world.cntr.value = count;
    CHECK(fi_cntr_read(all.done) == count);
    CHECK(session.count(operation::write) == count);
  }
  SUBCASE("closed before") {
    counting all;
    all.write(5);
    CHECK(fi_close(&all.ep->fid) == 0);
    all.ep = nullptr;
    CHECK(fi_close(&all.done->fid) == 0);
    all.done = nullptr;
    CHECK(session.count(operation::write, fs::level_untimed) == 1);
    CHECK(session.tally("selective completion", "fi_write") == 1);
  }
}

TEST_CASE("fabric.surface: a connected endpoint is patched again, and its link has both names") {
  recorded session;
  opened all;
  all.info.ep.type = FI_EP_MSG;
  fi_eq_attr attributes{};
  fid_eq* eq = nullptr;
  REQUIRE(fi_eq_open(&all.world.fabric, &attributes, &eq, nullptr) == 0);
  fid_cq* cq = all.queue();
  fid_ep* ep = all.endpoint();
  REQUIRE(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV) == 0);
  const fi_ops_msg* before = ep->msg;
  REQUIRE(fi_connect(ep, "peer", nullptr, 0) == 0);
  CHECK(ep->msg != before);
  CHECK(ep->msg != &fake::enabled_msg);
  fid_t about = &ep->fid;
  fake::event_queue::event made{FI_CONNECTED, {}};
  made.bytes.resize(sizeof(fi_eq_cm_entry));
  std::memcpy(made.bytes.data(), &about, sizeof about);
  all.world.eq.events.push_back(made);
  alignas(8) unsigned char buffer[64];
  std::uint32_t number = 0;
  CHECK(fi_eq_read(eq, &number, buffer, sizeof buffer, FI_PEEK) == sizeof(fi_eq_cm_entry));
  CHECK(session.rows<fs::connection_row>().empty());
  CHECK(fi_eq_sread(eq, &number, buffer, sizeof buffer, 0, 0) == sizeof(fi_eq_cm_entry));
  CHECK(number == FI_CONNECTED);
  const auto rows = session.rows<fs::connection_row>();
  REQUIRE(rows.size() == 1);
  CHECK(rows[0].count == 1);
  CHECK(rows[0].sum > 0);
  CHECK(session.label(rows[0].local) == "me");
  CHECK(session.label(rows[0].remote) == "peer");
  REQUIRE(fi_send(ep, surface_contexts, 5, nullptr, 0, surface_contexts) == 0);
  all.complete_all(all.world.ep, cq);
  const auto links = session.rows<fs::link_row>();
  REQUIRE(links.size() == 1);
  CHECK(session.label(links[0].local) == "me");
  CHECK(session.label(links[0].remote) == "peer");
  CHECK(fi_close(&ep->fid) == 0);
  CHECK(fi_close(&cq->fid) == 0);
  CHECK(fi_close(&eq->fid) == 0);
}

TEST_CASE("fabric.surface: contexts of a scalable endpoint") {
  recorded session;
  opened all;
  fid_cq* cq = all.queue();
  fid_ep* scalable = nullptr;
  fid_ep* context = nullptr;
  all.info.tx.op_flags = FI_COMPLETION;
  REQUIRE(fi_scalable_ep(all.domain, &all.info.object, &scalable, nullptr) == 0);
  CHECK(scalable->msg == &fake::first_msg);  // no data goes through the whole
  REQUIRE(fi_tx_context(scalable, 0, nullptr, &context, nullptr) == 0);
  REQUIRE(fi_ep_bind(context, &cq->fid, FI_TRANSMIT | FI_SELECTIVE_COMPLETION) == 0);
  fi_av_attr attributes{};
  fid_av* av = nullptr;
  REQUIRE(fi_av_open(all.domain, &attributes, &av, nullptr) == 0);
  REQUIRE(fi_scalable_ep_bind(scalable, &av->fid, 0) == 0);
  fi_addr_t peer = 0;
  REQUIRE(fi_av_insert(av, "x", 1, &peer, 0, nullptr) == 1);
  REQUIRE(fi_enable(scalable) == 0);
  REQUIRE(fi_send(context, surface_contexts, 5, nullptr, peer, surface_contexts) == 0);
  CHECK(all.world.context.calls.back().context != surface_contexts);
  all.complete_all(all.world.context, cq);
  const auto links = session.rows<fs::link_row>();
  REQUIRE(links.size() == 1);
  CHECK(session.label(links[0].local) == "me");
  CHECK(session.label(links[0].remote) == "to10");
  CHECK(fi_close(&context->fid) == 0);
  CHECK(fi_close(&scalable->fid) == 0);
  CHECK(fi_close(&av->fid) == 0);
  CHECK(fi_close(&cq->fid) == 0);
}

TEST_CASE("fabric.surface: a shared receive context is followed where all its queues are") {
  recorded session;
  opened all;
  fid_cq* cq = all.queue();
  fid_ep* shared = nullptr;
  REQUIRE(fi_srx_context(all.domain, nullptr, &shared, nullptr) == 0);
  // Nobody knows yet where this completes.
  REQUIRE(fi_recv(shared, surface_contexts, 5, nullptr, 0, surface_contexts) == 0);
  CHECK(all.world.context.calls.back().context == surface_contexts);
  CHECK(session.tally("no completion queue known", "fi_recv") == 1);
  all.world.context.calls.clear();
  fid_ep* ep = all.endpoint();
  REQUIRE(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV) == 0);
  REQUIRE(fi_ep_bind(ep, &shared->fid, 0) == 0);
  fi_msg message{};
  message.context = surface_contexts;
  REQUIRE(fi_recvmsg(shared, &message, 0) == 0);
  CHECK(all.world.context.calls.back().context != surface_contexts);
  all.complete_all(all.world.context, cq);
  CHECK(session.count(operation::recvmsg) == 1);
  // A second endpoint whose queue nobody follows.
  fake::endpoint other;
  fake::queue unknown;
  fake::open(other);
  fake::open(unknown);
  REQUIRE(fabric::instrument(&other.object, &all.info.object));
  REQUIRE(fi_ep_bind(&other.object, &unknown.object.fid, FI_TRANSMIT | FI_RECV) == 0);
  REQUIRE(fi_ep_bind(&other.object, &shared->fid, 0) == 0);
  REQUIRE(fi_recvmsg(shared, &message, 0) == 0);
  CHECK(all.world.context.calls.back().context == surface_contexts);
  CHECK(fi_close(&other.object.fid) == 0);
  CHECK(fi_close(&ep->fid) == 0);
  CHECK(fi_close(&shared->fid) == 0);
  CHECK(fi_close(&cq->fid) == 0);
}

TEST_CASE("fabric.surface: a sleep that fi_trywait allowed is no gap between polls") {
  recorded session;
  opened all;
  fid_cq* cq = all.queue();
  fi_cq_tagged_entry entry;
  CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
  CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
  fid* objects[] = {&cq->fid};
  CHECK(fi_trywait(&all.world.fabric, objects, 1) == 0);
  CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
  CHECK(fi_cq_read(cq, &entry, 1) == -FI_EAGAIN);
  const auto rows = session.rows<fs::cq_row>();
  REQUIRE(rows.size() == 1);
  std::uint64_t gaps = 0;
  for (const std::uint64_t count : rows[0].gap) gaps += count;
  CHECK(rows[0].polls == 4);
  CHECK(gaps == 2);
  CHECK(rows[0].blocking == 1);
  CHECK(rows[0].blocked > 0);
  CHECK(fi_close(&cq->fid) == 0);
}

TEST_CASE("fabric.surface: registrations of memory are counted once, with their bytes") {
  recorded session;
  opened all;
  fid_mr* mr = nullptr;
  iovec part{surface_contexts, 7};
  CHECK(fi_mr_reg(all.domain, surface_contexts, 100, 0, 0, 0, 0, &mr, nullptr) == 0);
  CHECK(fi_mr_regv(all.domain, &part, 1, 0, 0, 0, 0, &mr, nullptr) == 0);  // calls reg inside
  CHECK(fi_mr_reg(all.domain, nullptr, 1, 0, 0, 0, 0, &mr, nullptr) == -FI_EINVAL);
  CHECK(all.world.registered == 2);
  const auto rows = session.rows<fs::registration_row>();
  REQUIRE(rows.size() == 1);
  CHECK(session.label(rows[0].nic) == "fake0");
  CHECK(rows[0].count == 2);
  CHECK(rows[0].bytes == 107);
  CHECK(rows[0].failed == 1);
  CHECK(rows[0].sum >= rows[0].max);
}

TEST_CASE("fabric.surface: addresses of an asynchronous insertion are known after its event") {
  recorded session;
  opened all;
  fi_eq_attr events{};
  fid_eq* eq = nullptr;
  REQUIRE(fi_eq_open(&all.world.fabric, &events, &eq, nullptr) == 0);
  fi_av_attr attributes{};
  attributes.flags = FI_EVENT;
  fid_av* av = nullptr;
  REQUIRE(fi_av_open(all.domain, &attributes, &av, nullptr) == 0);
  auto* const names =
      static_cast<fabric::address_vector*>(fabric::detail::prefix_of(av->ops).hook)->addresses;
  fi_addr_t peers[2] = {};
  REQUIRE(fi_av_insert(av, "xy", 2, peers, 0, surface_contexts) == 2);
  CHECK(names->label_of(peers[1]) == 0);
  fake::event_queue::event complete{FI_AV_COMPLETE, {}};
  fi_eq_entry entry{};
  entry.fid = &av->fid;
  entry.context = surface_contexts;
  complete.bytes.resize(sizeof entry);
  std::memcpy(complete.bytes.data(), &entry, sizeof entry);
  all.world.eq.events.push_back(complete);
  std::uint32_t number = 0;
  CHECK(fi_eq_read(eq, &number, &entry, sizeof entry, 0) == sizeof entry);
  CHECK(session.label(names->label_of(peers[1])) == "to11");
  CHECK(fi_av_remove(av, peers, 2, 0) == 0);
  CHECK(names->label_of(peers[1]) == 0);
  CHECK(fi_close(&av->fid) == 0);
  CHECK(fi_close(&eq->fid) == 0);
}

}  // namespace

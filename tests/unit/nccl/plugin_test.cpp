// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <unistd.h>

#include <fabscope/core/relaxed.hpp>
#include <fabscope/nccl/plugin.hpp>
#include <fabscope/scope.hpp>
#include <fabscope/session.hpp>
#include <fabscope/session/report_merge.hpp>
#include <fabscope/sink/memory_sink.hpp>
#include <memory>
#include <string>
#include <vector>

namespace {

namespace fs = fabscope;
namespace nccl = fabscope::nccl;
using namespace fabscope::literals;

/// A session with one communicator, driven as a host of version 7 does.
struct host {
  fs::memory_sink<fs::collective_record> records;
  std::unique_ptr<fs::session> session;
  int mask = 0;
  void* context = nullptr;

  host() {
    fs::options chosen;
    chosen.run_level = fs::level::record;
    chosen.outputs = fs::output_none;
    session = std::make_unique<fs::session>(chosen);
    REQUIRE(session->status() == fs::errc::ok);
    REQUIRE(session->add_sink(records) == fs::errc::ok);
    CHECK(nccl::profiler_v7.init(&context, 0x77, &mask, "ring", 1, 2, 0, nullptr) == 0);
    REQUIRE(context != nullptr);
    CHECK(mask == 0x46);
  }
  ~host() { end(); }
  void end() {
    if (context != nullptr) nccl::profiler_v7.finalize(context);
    context = nullptr;
  }

  void* start(nccl::descriptor_v7& d) {
    void* handle = &d;
    CHECK(nccl::profiler_v7.start_event(context, &handle, &d) == 0);
    return handle;
  }
  void* collective(unsigned channels, void* parent = nullptr) {
    nccl::descriptor_v7 d{};
    d.type = nccl::event_coll;
    d.parent = parent;
    d.coll.func = "AllReduce";
    d.coll.count = 10;
    d.coll.datatype = "ncclFloat32";
    d.coll.channels = static_cast<std::uint8_t>(channels);
    return start(d);
  }
  void* channel(void* parent) {
    nccl::descriptor_v7 d{};
    d.type = nccl::event_kernel_ch;
    d.parent = parent;
    return start(d);
  }
  void stop(void* handle) { CHECK(nccl::profiler_v7.stop_event(handle) == 0); }

  std::uint64_t ignored(nccl::detail::ignored why) {
    session->flush();
    std::uint64_t sum = 0;
    const auto view = session->view();
    REQUIRE(view.has_value());
    for (const fs::event_tally_row& row : fs::detail::merged_rows<fs::event_tally_row>(*view)) {
      if (view->label(row.reason) == to_string(why)) sum += row.count;
    }
    return sum;
  }
};

TEST_CASE("nccl.plugin: an operation ends with its last channel, whichever stops come first") {
  host one;
  void* const op = one.collective(2);
  void* const first = one.channel(op);
  one.stop(op);
  one.stop(first);
  one.session->flush();
  CHECK(one.records.all<fs::collective_record>().empty());
  one.stop(one.channel(op));
  one.session->flush();
  REQUIRE(one.records.all<fs::collective_record>().size() == 1);
  const fs::collective_record& record = one.records.all<fs::collective_record>().front();
  CHECK(record.function() == fs::collective::all_reduce);
  CHECK(record.bytes == 40);
  CHECK(record.channels == 2);
  CHECK(record.source() == fs::timing_source::kernel_cpu);  // nobody knows this host's GPU clock
  one.stop(op);
  CHECK(one.ignored(nccl::detail::ignored::stale) == 1);
}

TEST_CASE("nccl.plugin: the scope around the call is the operation's parent") {
  host one;
  void* call = nullptr;
  std::uint64_t cause = 0;
  {
    fs::scope around{"step of the model"_name};
    cause = fs::detail::tls_port->thread->cause;
    nccl::descriptor_v7 d{};
    d.type = nccl::event_coll_api;
    d.coll_api.captured = true;
    call = one.start(d);
    one.stop(call);
  }
  void* const op = one.collective(0, call);
  one.stop(op);
  one.stop(one.channel(op));
  one.end();
  one.session->finish();
  REQUIRE(one.records.all<fs::collective_record>().size() == 1);
  const fs::collective_record& record = one.records.all<fs::collective_record>().front();
  CHECK(record.parent == cause);
  CHECK((record.flags & fs::collective_record::captured) != 0);
}

TEST_CASE("nccl.plugin: a step of the proxy thread is its cause until it stops") {
  host one;
  void* const op = one.collective(1);
  nccl::descriptor_v7 d{};
  d.type = nccl::event_proxy_op;
  d.parent = op;
  d.proxy_op.pid = ::getpid();
  void* const proxy = one.start(d);
  nccl::descriptor_v7 s{};
  s.type = nccl::event_proxy_step;
  s.parent = proxy;
  s.proxy_step.step = 5;
  void* const fifth = one.start(s);
  s.proxy_step.step = 6;
  void* const sixth = one.start(s);
  const auto doing = [] { return fs::cause(fs::detail::tls_port->thread->cause); };
  CHECK(doing().kind() == fs::cause_kind::proxy_step);
  CHECK(doing().number() == 6);
  nccl::profiler_v7.record_event_state(fifth, nccl::state_send_gpu_wait, nullptr);
  CHECK(doing().number() == 5);
  const auto view = one.session->view();
  REQUIRE(view.has_value());
  CHECK(view->label(doing().label()) == "AllReduce");
  one.stop(fifth);
  CHECK(doing().kind() == fs::cause_kind::none);
  one.stop(sixth);
  one.stop(proxy);

  d.proxy_op.pid = ::getpid() + 1;  // of another process: its parent is no handle of ours
  d.parent = reinterpret_cast<void*>(0x7f0012345678);
  s.parent = one.start(d);
  one.stop(one.start(s));
  CHECK(one.ignored(nccl::detail::ignored::foreign) == 1);
}

TEST_CASE("nccl.plugin: a full pool refuses, counts, and is whole again afterwards") {
  host one;
  std::vector<void*> taken;
  void* const tombstone = fs::handle::tombstone().to_pointer();
  for (void* op = one.collective(1); op != tombstone; op = one.collective(1)) taken.push_back(op);
  CHECK(taken.size() > nccl::detail::operation_capacity / 2);
  CHECK(one.ignored(nccl::detail::ignored::pool_full) == 1);
  CHECK(one.channel(tombstone) == nullptr);
  CHECK(one.ignored(nccl::detail::ignored::parent_dropped) == 1);
  one.stop(tombstone);
  for (void* op : taken) {
    one.stop(op);
    one.stop(one.channel(op));
  }
  CHECK(nccl::detail::operations.in_use() == 0);
  CHECK(nccl::detail::channels.in_use() == 0);
  CHECK(nccl::detail::operations.misused_total() == 0);
}

TEST_CASE("nccl.plugin: what is never stopped is closed and counted at the end") {
  host one;
  (void)one.channel(one.collective(1));
  one.stop(one.collective(1));  // without its channel: written with what is known
  one.end();
  // The collector must have looked once, so that it has a ring of its own.
  const auto& head = fs::detail::current_engine()->memory_file().base().head;
  while (fs::relaxed_load(head.ticks_done) < 2) one.session->flush();
  one.session->finish();
  CHECK(nccl::detail::operations.in_use() == 0);
  CHECK(nccl::detail::channels.in_use() == 0);
  REQUIRE(one.records.all<fs::collective_record>().size() == 1);
  const auto flags = one.records.all<fs::collective_record>().front().flags;
  CHECK((flags & fs::collective_record::incomplete) != 0);
}

TEST_CASE(
    "nccl.plugin: the same id and rank again is a new generation; a context that is gone is none") {
  host one;
  void* const gone = one.context;
  void* again = nullptr;
  CHECK(nccl::profiler_v5.init(&again, 0x77, &one.mask, "ring", 1, 2, 0, nullptr) == 0);
  const auto* comm = nccl::detail::communicators.find(fs::handle::from_pointer(again));
  REQUIRE(comm != nullptr);
  CHECK(comm->generation > 1);
  nccl::profiler_v5.finalize(again);
  one.end();
  one.context = gone;
  CHECK(one.collective(1) == nullptr);
  CHECK(one.ignored(nccl::detail::ignored::communicator_gone) == 1);
  one.context = nullptr;
}

}  // namespace

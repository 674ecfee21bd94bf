// SPDX-License-Identifier: Apache-2.0
// fabric_*: what is added to a libfabric operation, on a fake provider whose calls do next to
// nothing.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fabscope/fabric/instrument.hpp>

#include <support/fake_provider.hpp>
#include <support/live_session.hpp>
#include <support/replaced_timer.hpp>
#include <support/row.hpp>

namespace bench {
namespace {

constexpr std::size_t in_flight = 8;
constexpr std::size_t peers = 4096;
constexpr std::size_t usual_peers = 64;

/// An endpoint with its queue, on cache lines of their own.
struct alignas(128) pair {
  fake_queue queue;
  fake_endpoint endpoint;
};

/// Endpoints that are instrumented, and the same again as the provider made them; one of each per
/// thread.
struct network {
  pair hooked[2];
  pair bare[2];
  pair old_way[2];
  fake_addresses addresses;
  replaced_timer timer;
  fi_addr_t peer[peers] = {};
  fi_addr_t random_peer[peers] = {};

  /// A session must be running.
  network() {
    fi_info* about = fi_allocinfo();
    about->addr_format = FI_ADDR_STR;
    about->ep_attr->type = FI_EP_RDM;
    about->domain_attr->name = ::strdup("fake");
    bool good = fabscope::fabric::instrument(&addresses.object, FI_ADDR_STR);
    const std::vector<char> raw(peers * 8);
    (void)fi_av_insert(&addresses.object, raw.data(), peers, peer, 0, nullptr);
    std::uint64_t x = 88172645463325252U;
    for (fi_addr_t& one : random_peer) {
      x ^= x << 13;
      x ^= x >> 7;
      x ^= x << 17;
      one = peer[x % peers];
    }
    for (pair& one : hooked) {
      good = good && fabscope::fabric::instrument(&one.queue.object, FI_CQ_FORMAT_TAGGED) &&
             fabscope::fabric::instrument(&one.endpoint.object, about);
    }
    fi_freeinfo(about);
    for (auto* all : {&hooked, &bare, &old_way}) {
      for (pair& one : *all) {
        (void)fi_ep_bind(&one.endpoint.object, &addresses.object.fid, 0);
        (void)fi_ep_bind(&one.endpoint.object, &one.queue.object.fid, FI_TRANSMIT | FI_RECV);
        (void)fi_enable(&one.endpoint.object);
      }
    }
    for (pair& one : old_way) {
      timer.add_endpoint(&one.endpoint.object);
      timer.add_queue(&one.queue.object);
    }
    if (!good) std::fprintf(stderr, "fabric: the fake provider could not be instrumented\n");
  }
};

network& net() {
  static auto* const all = new network;
  return *all;
}

/// Issue and completion, with a few operations in flight. One queue entry is read for each.
template <bool Random>
void operations(pair& on, std::size_t n) {
  network& all = net();
  const fi_addr_t* to = Random ? all.random_peer : all.peer;
  constexpr std::size_t count = Random ? peers : usual_peers;
  char buffer[64] = {};
  fi_cq_tagged_entry entry;
  fid_ep* ep = &on.endpoint.object;
  fid_cq* cq = &on.queue.object;
  for (std::size_t i = 0; i < in_flight; ++i) {
    (void)fi_tsend(ep, buffer, 1024, nullptr, to[i], 7, buffer);
  }
  for (std::size_t i = 0; i < n; ++i) {
    (void)fi_cq_read(cq, &entry, 1);
    benchmark::DoNotOptimize(entry.op_context);
    (void)fi_tsend(ep, buffer, 1024, nullptr, to[i % count], 7, buffer);
  }
  for (std::size_t i = 0; i < in_flight; ++i) (void)fi_cq_read(cq, &entry, 1);
}

template <bool Random = false>
lane hooked(unsigned threads = 1, unsigned phase = 0) {
  return {"hooked",
          [](std::size_t n, unsigned thread) { operations<Random>(net().hooked[thread], n); },
          threads, phase};
}
template <bool Random = false>
lane bare(unsigned threads = 1, unsigned phase = 0) {
  return {"bare", [](std::size_t n, unsigned thread) { operations<Random>(net().bare[thread], n); },
          threads, phase};
}
lane old_way(unsigned threads = 1) {
  return {"replaced timer",
          [](std::size_t n, unsigned thread) {
            network& all = net();
            char buffer[64] = {};
            fi_cq_tagged_entry entry;
            fid_ep* ep = &all.old_way[thread].endpoint.object;
            fid_cq* cq = &all.old_way[thread].queue.object;
            for (std::size_t i = 0; i < in_flight; ++i) {
              (void)all.timer.tsend(ep, buffer, 1024, all.peer[i], 7, buffer);
            }
            for (std::size_t i = 0; i < n; ++i) {
              (void)all.timer.read(cq, &entry, 1);
              benchmark::DoNotOptimize(entry.op_context);
              (void)all.timer.tsend(ep, buffer, 1024, all.peer[i % usual_peers], 7, buffer);
            }
            for (std::size_t i = 0; i < in_flight; ++i) (void)all.timer.read(cq, &entry, 1);
          },
          threads};
}

lane empty_polls(const char* name, bool with_hook) {
  return {name, [with_hook](std::size_t n, unsigned) {
            fi_cq_tagged_entry entry;
            pair& on = with_hook ? net().hooked[0] : net().bare[0];
            for (std::size_t i = 0; i < n; ++i) {
              benchmark::DoNotOptimize(fi_cq_read(&on.queue.object, &entry, 1));
            }
          }};
}

/// A row in a session of its own; the first one that runs also makes the network.
row in_session(std::string name, std::string reference, double budget, std::vector<lane> lanes,
               std::vector<fabscope::level> levels = {fabscope::level::count}) {
  auto session = std::make_shared<std::unique_ptr<live_session>>();
  row out{std::move(name), std::move(reference), budget, std::move(lanes)};
  out.enter = [session, levels](unsigned phase) {
    *session = std::make_unique<live_session>(levels[phase]);
    (void)net();
  };
  out.leave = [session](unsigned) { session->reset(); };
  return out;
}

/// Lanes 0 and 1: with and without; then the reference.
figures added(const std::vector<double>& ns) { return {ns[0] - ns[1], ns[2]}; }
/// Lanes 0 and 1: with and without; then the same for the reference.
figures added_to_both(const std::vector<double>& ns) { return {ns[0] - ns[1], ns[2] - ns[3]}; }

void add(row one, figures (*combine)(const std::vector<double>&)) {
  if (combine != nullptr) one.combine = combine;
  rows().push_back(std::move(one));
}

}  // namespace

void add_fabric_rows() {
  using fabscope::level;
  const char* reads = "two bare clock reads";
  add(in_session("fabric_operation", reads, 1.5, {hooked(), bare(), two_reads()}), added);
  add(in_session("fabric_operation/replaced_timer", "the replaced timer's", 0.2,
                 {hooked(), bare(), old_way(), bare()}),
      added_to_both);
  add(in_session("two_threads/fabric_operation", "the same with one thread", 1.05,
                 {hooked(2), bare(2), hooked(), bare()}),
      added_to_both);
  add(in_session("fabric_operation_4096_peers", reads, 2.0,
                 {hooked<true>(), bare<true>(), two_reads()}),
      added);
  lane logged_reads = two_reads();
  logged_reads.phase = 1;
  add(in_session("fabric_operation_logged", reads, 0.15,
                 {hooked(), bare(), hooked(1, 1), bare(1, 1), logged_reads},
                 {level::count, level::record}),
      [](const std::vector<double>& ns) -> figures {
        return {(ns[2] - ns[3]) - (ns[0] - ns[1]), ns[4]};
      });
  add(in_session("fabric_poll_empty", "one bare clock read", 1.25,
                 {empty_polls("hooked", true), empty_polls("bare", false), one_read()}),
      added);
  add(in_session("fabric_operation/bare", reads, 0, {bare(), two_reads()}), nullptr);
  add(in_session("replaced_timer", reads, 0, {old_way(), bare(), two_reads()}), added);
  add(in_session("two_threads/replaced_timer", "the same with one thread", 0,
                 {old_way(2), bare(2), old_way(), bare()}),
      added_to_both);
}

}  // namespace bench

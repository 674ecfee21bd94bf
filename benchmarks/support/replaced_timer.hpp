// SPDX-License-Identifier: Apache-2.0
// A timer that works as the replaced one does, to be measured beside ours: a ring of slots for what
// is in flight, statistics in hash maps behind mutexes, three clock reads, seven locks, five hash
// look-ups and five atomic read-modify-writes per operation. It calls the real functions as a hook
// library does.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_tagged.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace bench {

class replaced_timer {
 public:
  /// What is known of an object, by its address.
  void add_endpoint(const fid_ep* ep) { endpoints_[ep] = &nic_; }
  void add_queue(const fid_cq* cq) { queues_[cq] = std::make_unique<polling>(); }

  ssize_t tsend(fid_ep* ep, const void* buffer, std::size_t length, fi_addr_t peer,
                std::uint64_t tag, void* context) {
    nic* device = nullptr;
    {
      const std::lock_guard<std::mutex> guard(objects_);  // look-up 1
      device = endpoints_.find(ep)->second;
    }
    const std::uint64_t place = next_.fetch_add(1, std::memory_order_relaxed) % slots;  // atomic 1
    flight& slot = ring_[place];
    bool free = false;
    if (!slot.used.compare_exchange_strong(free, true)) {  // atomic 2
      return fi_tsend(ep, buffer, length, nullptr, peer, tag, context);
    }
    slot.context = context;
    slot.device = device;
    slot.peer = peer;
    slot.bytes = length;
    slot.begin = now();  // clock 1
    {
      const std::lock_guard<std::mutex> guard(device->lock);
      if (device->in_flight++ == 0) device->busy_since = slot.begin;
      std::uint64_t& depth = device->depth_of[peer];  // look-up 2
      if (++depth > device->deepest) device->deepest = depth;
    }
    const ssize_t result = fi_tsend(ep, buffer, length, nullptr, peer, tag, &slot);
    if (result != 0) slot.used.store(false);
    return result;
  }

  ssize_t read(fid_cq* cq, fi_cq_tagged_entry* entries, std::size_t count) {
    const ssize_t got = fi_cq_read(cq, entries, count);
    polling* gaps = nullptr;
    {
      const std::lock_guard<std::mutex> guard(objects_);  // look-up 3
      gaps = queues_.find(cq)->second.get();
    }
    const std::uint64_t at = now();                                 // clock 2
    const std::uint64_t before = gaps->last.exchange(at);           // atomic 3
    gaps->total.fetch_add(at - before, std::memory_order_relaxed);  // atomic 4
    gaps->polls.fetch_add(1, std::memory_order_relaxed);            // atomic 5
    for (ssize_t i = 0; i < got; ++i) finish(entries[i]);
    return got;
  }

 private:
  static constexpr std::size_t slots = 16384;

  struct nic {
    std::mutex lock;
    std::uint64_t in_flight = 0;
    std::uint64_t busy_since = 0;
    std::uint64_t busy = 0;
    std::uint64_t deepest = 0;
    std::unordered_map<std::uint64_t, std::uint64_t> depth_of;
  };
  struct flight {
    std::atomic<bool> used{false};
    void* context = nullptr;
    nic* device = nullptr;
    std::uint64_t peer = 0;
    std::uint64_t bytes = 0;
    std::uint64_t begin = 0;
  };
  struct polling {
    std::atomic<std::uint64_t> last{0};
    std::atomic<std::uint64_t> total{0};
    std::atomic<std::uint64_t> polls{0};
  };
  struct sums {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t total = 0;
    std::uint64_t least = ~std::uint64_t{0};
    std::uint64_t most = 0;

    void add(std::uint64_t span, std::uint64_t amount) {
      ++count;
      bytes += amount;
      total += span;
      if (span < least) least = span;
      if (span > most) most = span;
    }
  };

  static std::uint64_t now() {
    return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
  }

  void finish(fi_cq_tagged_entry& entry) {
    auto& slot = *static_cast<flight*>(entry.op_context);
    const std::uint64_t end = now();  // clock 3
    const std::uint64_t span = end - slot.begin;
    {
      const std::lock_guard<std::mutex> guard(slot.device->lock);
      if (--slot.device->in_flight == 0) slot.device->busy += end - slot.device->busy_since;
    }
    {
      const std::lock_guard<std::mutex> guard(links_);  // look-up 4
      links_sums_[slot.peer].add(span, slot.bytes);
    }
    {
      const std::lock_guard<std::mutex> guard(sizes_);  // look-up 5
      sizes_sums_[slot.bytes].add(span, slot.bytes);
    }
    {
      const std::lock_guard<std::mutex> guard(all_);
      all_sums_.add(span, slot.bytes);
    }
    entry.op_context = slot.context;
    slot.used.store(false, std::memory_order_release);
  }

  std::mutex objects_;
  std::unordered_map<const fid_ep*, nic*> endpoints_;
  std::unordered_map<const fid_cq*, std::unique_ptr<polling>> queues_;
  nic nic_;
  std::atomic<std::uint64_t> next_{0};
  std::vector<flight> ring_ = std::vector<flight>(slots);
  std::mutex links_;
  std::unordered_map<std::uint64_t, sums> links_sums_;
  std::mutex sizes_;
  std::unordered_map<std::uint64_t, sums> sizes_sums_;
  std::mutex all_;
  sums all_sums_;
};

}  // namespace bench

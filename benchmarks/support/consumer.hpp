// SPDX-License-Identifier: Apache-2.0
// A live collector: empties what another thread fills, every 50 us.
#pragma once

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>

#include <fabscope/core/config.hpp>

#include <support/thread_clock.hpp>

namespace bench {

/// Calls `empty` every 50 us on the second processor. It spins in between: a sleep would take twice
/// as long as asked.
class consumer {
 public:
  explicit consumer(std::function<void()> empty)
      : thread_([this, empty = std::move(empty)] {
          pin_to(1);
          std::uint64_t next = wall_ns();
          while (!stop_.load(std::memory_order_relaxed)) {
            empty();
            rounds_.fetch_add(1, std::memory_order_release);
            next = std::max(next + 50000, wall_ns());
            while (wall_ns() < next) fabscope::cpu_relax();
          }
          empty();
        }) {}
  /// Waits until everything that was there at the call has been taken.
  void wait() const {
    const std::uint64_t now = rounds_.load(std::memory_order_acquire);
    while (rounds_.load(std::memory_order_acquire) < now + 2) fabscope::cpu_relax();
  }
  ~consumer() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> rounds_{0};
  std::thread thread_;
};

}  // namespace bench

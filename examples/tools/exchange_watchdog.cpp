// SPDX-License-Identifier: Apache-2.0
#include "exchange_watchdog.hpp"

#include <chrono>
#include <cstdio>
#include <cstdlib>

namespace exchange {

using std::chrono::steady_clock;

watchdog::watchdog(board& shared, double seconds)
    : shared_(shared), thread_([this, seconds] { watch(seconds); }) {}

watchdog::~watchdog() {
  done_ = true;
  thread_.join();
}

void watchdog::watch(double seconds) {
  std::uint64_t seen = 0;
  auto since = steady_clock::now();
  while (!done_ && !shared_.failed) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    const std::uint64_t now = shared_.progress();
    if (now != seen) since = steady_clock::now();
    seen = now;
    const std::chrono::duration<double> quiet = steady_clock::now() - since;
    if (quiet.count() < seconds || shared_.failed.exchange(true)) continue;
    barked_ = true;
    std::fprintf(stderr, "fabscope-exchange: nothing completed for %g s; outstanding:\n", seconds);
    print_outstanding(shared_);
  }
  // Somebody gave up: the endpoints here get a while to notice.
  const auto until = steady_clock::now() + std::chrono::seconds(3);
  while (!done_) {
    if (steady_clock::now() > until) std::_Exit(barked_ ? 3 : 1);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

}  // namespace exchange

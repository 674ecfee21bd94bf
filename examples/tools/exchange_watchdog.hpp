// SPDX-License-Identifier: Apache-2.0
// Ends a run that no longer gets on, instead of letting it hang.
#pragma once

#include <atomic>
#include <thread>

#include "exchange_board.hpp"

namespace exchange {

/// Looks every 100 ms whether anything completed. After `seconds` without, it says what is
/// outstanding and makes every endpoint stop. Ends a process whose endpoints cannot stop: they may
/// be stuck inside the provider.
class watchdog {
 public:
  watchdog(board& shared, double seconds);
  ~watchdog();
  watchdog(const watchdog&) = delete;
  watchdog& operator=(const watchdog&) = delete;

  bool barked() const { return barked_; }

 private:
  void watch(double seconds);

  board& shared_;
  std::atomic<bool> done_{false};
  std::atomic<bool> barked_{false};
  std::thread thread_;
};

}  // namespace exchange

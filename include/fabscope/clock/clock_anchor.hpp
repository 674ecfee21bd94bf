// SPDX-License-Identifier: Apache-2.0
// Reads a counter and CLOCK_MONOTONIC at one moment. Layer: clock.
#pragma once

#include <cstdint>

#include <fabscope/clock/counter_clock.hpp>
#include <fabscope/clock/steady_clock.hpp>

FABSCOPE_NAMESPACE_BEGIN

/// One moment on both clocks.
struct FABSCOPE_VISIBLE clock_anchor {
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;           ///< CLOCK_MONOTONIC
  std::uint64_t width_ticks = 0;  ///< between the two tick reads around the nanosecond read
};

/// Reads both clocks 32 times and returns the mean of the tightest brackets, so that an interrupt
/// in between does no harm. Threads: any. Cost: about 2 us.
inline clock_anchor sample_anchor(clock_kind kind) noexcept {
  constexpr unsigned reads = 32;
  clock_anchor all[reads];
  std::uint64_t tightest = ~std::uint64_t{0};
  for (clock_anchor& one : all) {
    const std::uint64_t before = now_ticks(kind);
    one.ns = monotonic_ns();
    one.width_ticks = now_ticks(kind) - before;
    one.ticks = before + one.width_ticks / 2;
    if (one.width_ticks < tightest) {
      tightest = one.width_ticks;
    }
  }
  const std::uint64_t limit = tightest + tightest / 16;
  std::uint64_t ticks = 0;
  std::uint64_t ns = 0;
  std::uint64_t used = 0;
  for (const clock_anchor& one : all) {
    if (one.width_ticks > limit) {
      continue;
    }
    ticks += one.ticks - all[0].ticks;
    ns += one.ns - all[0].ns;
    ++used;
  }
  return {all[0].ticks + (ticks + used / 2) / used, all[0].ns + (ns + used / 2) / used, tightest};
}

FABSCOPE_NAMESPACE_END
